package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"punchcard/webhook"
)

// webhooks compares the events that the server has to send with those that arrived.
type webhooks struct {
	lock    sync.Mutex
	secret  string
	open    map[string]int  // by event and id: 1 if it has not arrived, -1 if it arrived before the answer
	seen    map[string]bool // event_ids that arrived
	wanted  int
	repeats int
	latest  time.Time
}

// subscribe creates the webhook, which gets every event, and its receiver.
func (l *load) subscribe() error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(ln, http.HandlerFunc(l.receive))
	var made struct{ Secret string }
	body := `{"url":"http://` + ln.Addr().String() + `/hook","events":["*"]}`
	err = l.conn.call(request{face: office, path: "/programs/" + l.program + "/webhooks", key: "subscribe", body: body}, &made)
	l.secret = made.Secret
	return err
}

// expect adds an event that the server has to send. The id is that of the ledger's
// row, or that of the card if there is no row.
func (l *load) expect(event, id string) {
	if l.filling {
		return
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	l.wanted++
	l.balance(event+" "+id, 1)
}

// balance adds by to the count of an event and removes the event when the count is 0:
// it was expected and has arrived.
func (h *webhooks) balance(what string, by int) {
	if h.open[what] += by; h.open[what] == 0 {
		delete(h.open, what)
	}
}

// receive verifies a delivery.
func (l *load) receive(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender ended the connection and will send again
	}
	var event struct {
		Event      string
		EventID    string    `json:"event_id"`
		OccurredAt time.Time `json:"occurred_at"`
		Data       struct {
			Card        string `json:"card_instance_id"`
			Transaction string `json:"transaction_id"`
			Reversal    string `json:"reversal_transaction_id"`
		}
	}
	signature := req.Header.Get(webhook.HeaderSignature)
	seconds, _, _ := strings.Cut(strings.TrimPrefix(signature, "t="), ",")
	at, _ := strconv.ParseInt(seconds, 10, 64)
	if signed := time.Unix(at, 0); signature != webhook.Sign(l.secret, signed, body) || time.Since(signed).Abs() > 5*time.Minute ||
		json.Unmarshal(body, &event) != nil || event.EventID != req.Header.Get(webhook.HeaderID) {
		l.fail("a delivery of %d bytes has a wrong signature, body or id", len(body))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	l.note("webhook", time.Since(event.OccurredAt))
	id := event.Data.Transaction + event.Data.Reversal // never both
	if id == "" {
		id = event.Data.Card
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	l.latest = time.Now()
	if l.seen[event.EventID] {
		l.repeats++
		return
	}
	l.seen[event.EventID] = true
	l.balance(event.Event+" "+id, -1)
}
