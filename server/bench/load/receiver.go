package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash/maphash"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// webhooks compares the events that are to be sent with those that arrived.
type webhooks struct {
	failures *failures
	seed     maphash.Seed

	mu      sync.Mutex
	open    map[string]int      // by event and id: 1 if it has not arrived, -1 if it arrived before the answer
	seen    map[uint64]struct{} // hashes of the event_ids that arrived
	wanted  int
	came    int // without repeats
	repeats int
	latest  time.Time
}

func newWebhooks(f *failures) *webhooks {
	return &webhooks{failures: f, seed: maphash.MakeSeed(), open: map[string]int{}, seen: map[uint64]struct{}{}}
}

// expect adds an event that the server has to send. The id is that of the ledger's
// row, or that of the card if there is no row.
func (h *webhooks) expect(event, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wanted++
	h.balance(event+" "+id, 1)
}

func (h *webhooks) balance(what string, by int) {
	if h.open[what] += by; h.open[what] == 0 {
		delete(h.open, what)
	}
}

// arrived adds a delivery with a valid signature.
func (h *webhooks) arrived(event, id, eventID string) {
	hash := maphash.String(h.seed, eventID)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latest = time.Now()
	if _, ok := h.seen[hash]; ok {
		h.repeats++
		return
	}
	h.seen[hash] = struct{}{}
	h.came++
	h.balance(event+" "+id, -1)
}

// left returns how many events have not arrived, and when one last arrived.
func (h *webhooks) left() (n int, latest time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open), h.latest
}

// close adds a failure for each event that never arrived or was not expected.
func (h *webhooks) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for what, n := range h.open {
		if n > 0 {
			h.failures.add("a webhook never came: %s", what)
		} else {
			h.failures.add("a webhook came without reason, or as two events: %s", what)
		}
	}
}

// receiver is an endpoint that verifies each delivery.
type receiver struct {
	webhooks *webhooks
	secret   []byte // set before anything is sent
	url      string
	server   *http.Server
	ended    chan struct{}
}

func newReceiver(h *webhooks) (*receiver, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{webhooks: h, url: "http://" + ln.Addr().String() + "/hook", ended: make(chan struct{})}
	r.server = &http.Server{Handler: r}
	go func() {
		defer close(r.ended)
		r.server.Serve(ln)
	}()
	return r, nil
}

func (r *receiver) close() {
	r.server.Close()
	<-r.ended
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender ended the connection and will send again
	}
	var event struct {
		Event   string
		EventID string `json:"event_id"`
		Data    struct {
			Card        string `json:"card_instance_id"`
			Transaction string `json:"transaction_id"`
			Reversal    string `json:"reversal_transaction_id"`
		}
	}
	if !r.genuine(req.Header.Get("X-Service-Signature"), body) || json.Unmarshal(body, &event) != nil || event.EventID != req.Header.Get("Webhook-Id") {
		r.webhooks.failures.add("a delivery of %d bytes is not genuine", len(body))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id := event.Data.Card
	if row := event.Data.Transaction + event.Data.Reversal; row != "" { // never both
		id = row
	}
	r.webhooks.arrived(event.Event, id, event.EventID)
	w.WriteHeader(http.StatusNoContent)
}

// genuine reports whether the signature is valid, as the receiver in
// webhook/README.md does.
func (r *receiver) genuine(header string, body []byte) bool {
	t, signature, _ := strings.Cut(strings.TrimPrefix(header, "t="), ",v1=")
	seconds, err := strconv.ParseInt(t, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, r.secret)
	mac.Write([]byte(t + "."))
	mac.Write(body)
	return hmac.Equal([]byte(signature), []byte(hex.EncodeToString(mac.Sum(nil))))
}
