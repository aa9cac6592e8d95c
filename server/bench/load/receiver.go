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

// hooks are the books of a webhook: what is to be sent, and what came.
type hooks struct {
	faults *faults
	seed   maphash.Seed

	mu      sync.Mutex
	open    map[string]int      // by event and id: 1, to come; -1, came before the answer that tells of it
	seen    map[uint64]struct{} // hashes of the event_ids that came
	wanted  int
	came    int // without repeats
	repeats int
	latest  time.Time
}

func newHooks(f *faults) *hooks {
	return &hooks{faults: f, seed: maphash.MakeSeed(), open: map[string]int{}, seen: map[uint64]struct{}{}}
}

// expect notes an event that the server has to tell of. The id is that of the
// ledger's row, or of the card where there is none.
func (h *hooks) expect(event, id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wanted++
	h.balance(event+" "+id, 1)
}

func (h *hooks) balance(what string, by int) {
	if h.open[what] += by; h.open[what] == 0 {
		delete(h.open, what)
	}
}

// arrived notes a genuine delivery.
func (h *hooks) arrived(event, id, eventID string) {
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

// left tells how much is still to come, and when something last came.
func (h *hooks) left() (n int, latest time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open), h.latest
}

// close notes as faults what never came, and what came for no reason.
func (h *hooks) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for what, n := range h.open {
		if n > 0 {
			h.faults.add("a webhook never came: %s", what)
		} else {
			h.faults.add("a webhook came without reason, or as two events: %s", what)
		}
	}
}

// receiver is an endpoint that verifies each delivery.
type receiver struct {
	hooks  *hooks
	secret []byte // set before anything is sent
	url    string
	server *http.Server
	ended  chan struct{}
}

func newReceiver(h *hooks) (*receiver, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{hooks: h, url: "http://" + ln.Addr().String() + "/hook", ended: make(chan struct{})}
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
		return // the sender went away: it will send again
	}
	var told struct {
		Event   string
		EventID string `json:"event_id"`
		Data    struct {
			Card        string `json:"card_instance_id"`
			Transaction string `json:"transaction_id"`
			Reversal    string `json:"reversal_transaction_id"`
		}
	}
	if !r.genuine(req.Header.Get("X-Service-Signature"), body) || json.Unmarshal(body, &told) != nil || told.EventID != req.Header.Get("Webhook-Id") {
		r.hooks.faults.add("a delivery of %d bytes is not genuine", len(body))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id := told.Data.Card
	if row := told.Data.Transaction + told.Data.Reversal; row != "" { // never both
		id = row
	}
	r.hooks.arrived(told.Event, id, told.EventID)
	w.WriteHeader(http.StatusNoContent)
}

// genuine verifies as the receiver in webhook/README.md does.
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
