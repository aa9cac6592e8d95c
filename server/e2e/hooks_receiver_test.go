package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	stripe "github.com/stripe/stripe-go/v85/webhook"

	"punchcard/server/servertest/require"
)

// progress counts steps and lets goroutines wait for them.
type progress struct {
	mu   sync.Mutex
	n    int64
	more chan struct{}
}

func newProgress() *progress { return &progress{more: make(chan struct{})} }

func (p *progress) add() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	close(p.more)
	p.more = make(chan struct{})
}

func (p *progress) count() int64 { n, _ := p.read(); return n }

func (p *progress) read() (n int64, more <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n, p.more
}

// waitUntil waits until done returns true, which it calls after each step. It returns false after
// waitLimit.
func (p *progress) waitUntil(done func() bool) bool {
	timeout := time.After(waitLimit)
	for {
		_, more := p.read()
		if done() {
			return true
		}
		select {
		case <-more:
		case <-timeout:
			return false
		}
	}
}

// happening is an event's name with the id of its card or transaction.
type happening struct{ event, id string }

// arrival is what a receiver recorded about one event_id.
type arrival struct {
	happening
	body []byte
	seen int   // complete requests
	good []int // for each 200, how often the server had been killed before
}

// endpoint is a webhook's receiver, which verifies and records deliveries. answer returns the
// status; gone is closed when the sender disconnects.
type endpoint struct {
	t          *testing.T
	name       string
	url        string
	matches    func(event string) bool
	answer     func(a arrival, gone <-chan struct{}) int
	onDelivery func(http.Header) // called with the headers of each delivery, if not nil
	progress   *progress         // of all endpoints and writers
	own        *progress         // of the requests and connections of this endpoint

	mu         sync.Mutex
	hook       webhook
	generation int // how often the server was killed before
	arrivals   map[string]*arrival
	roots      map[string]string    // of cards that overflowed from others
	newest     map[string]int64     // by root: the sequence of the last event that came for the first time
	ids        map[happening]string // event_id
	open       map[net.Conn]bool
	lost       []map[string]bool // for each kill, the event_ids accepted before it whose outcome the file does not have
}

// webhook has the fields of a webhook that tests read.
type webhook struct {
	ID       string `json:"id"`
	Secret   string `json:"secret"`
	Active   bool   `json:"active"`
	Failures int    `json:"consecutive_failures"`
}

func newEndpoint(t *testing.T, name string, progress *progress) *endpoint {
	t.Helper()
	e := &endpoint{
		t:        t,
		name:     name,
		progress: progress,
		own:      newProgress(),
		arrivals: map[string]*arrival{},
		roots:    map[string]string{},
		newest:   map[string]int64{},
		ids:      map[happening]string{},
		open:     map[net.Conn]bool{},
	}
	ln := require.Must(net.Listen("tcp", "127.0.0.1:0"))
	e.url = "http://" + ln.Addr().String()
	srv := &http.Server{Handler: e, ConnState: e.connection}
	ended := make(chan struct{})
	go func() {
		srv.Serve(ln)
		close(ended)
	}()
	t.Cleanup(func() {
		srv.Close()
		<-ended
	})
	return e
}

func (e *endpoint) connection(c net.Conn, s http.ConnState) {
	e.mu.Lock()
	switch s {
	case http.StateNew:
		e.open[c] = true
	case http.StateClosed:
		delete(e.open, c)
	}
	e.mu.Unlock()
	e.own.add()
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == "GET" {
		return // see waitForConnections
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed while it sent
	}
	a, err := e.record(r.Header, body)
	if err != nil {
		e.t.Errorf("%s: %v: %s", e.name, err, body)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e.progress.add()
	status := e.answer(a, r.Context().Done())
	if status == http.StatusOK {
		e.mu.Lock()
		known := e.arrivals[r.Header.Get("Webhook-Id")]
		known.good = append(known.good, e.generation)
		e.mu.Unlock()
	}
	w.WriteHeader(status)
	e.own.add()
	e.progress.add()
}

// record verifies a delivery and records it.
func (e *endpoint) record(h http.Header, body []byte) (a arrival, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := verifyDelivery(e.hook.Secret, h, body); err != nil {
		return a, err
	}
	var payload struct {
		Event   string
		EventID string `json:"event_id"`
		Data    struct {
			Card        string `json:"card_instance_id"`
			Parent      string `json:"parent_card_instance_id"`
			Transaction string `json:"transaction_id"`
		}
	}
	if err := json.Unmarshal(body, &payload); err != nil {
		return a, err
	}
	if id := h.Get("Webhook-Id"); id == "" || id != payload.EventID {
		return a, fmt.Errorf("webhook-id is %q", id)
	}
	what := happening{payload.Event, payload.Data.Card}
	if payload.Data.Transaction != "" {
		what.id = payload.Data.Transaction
	}
	if !e.matches(payload.Event) || what.id == "" {
		return a, errors.New("nobody asked for it")
	}
	if id, ok := e.ids[what]; ok && id != payload.EventID {
		return a, fmt.Errorf("had the webhook-id %s before", id)
	}
	e.ids[what] = payload.EventID
	known := e.arrivals[payload.EventID]
	if known == nil {
		if err := e.follows(h, payload.Data.Card, payload.Data.Parent); err != nil {
			return a, err
		}
		known = &arrival{happening: what, body: body}
		e.arrivals[payload.EventID] = known
	}
	if !bytes.Equal(known.body, body) {
		return a, fmt.Errorf("had another body before: %s", known.body)
	}
	known.seen++
	if e.onDelivery != nil {
		e.onDelivery(h)
	}
	return *known, nil
}

// follows checks that an event that comes for the first time is later than all that
// came about its card and those that the card overflowed from or into.
func (e *endpoint) follows(h http.Header, card, parent string) error {
	root := card
	if known, ok := e.roots[card]; ok {
		root = known
	}
	if parent != "" {
		root = parent
		if known, ok := e.roots[parent]; ok {
			root = known
		}
		e.roots[card] = root
	}
	sequence, err := strconv.ParseInt(h.Get("X-Service-Sequence"), 10, 64)
	if err != nil {
		return err
	}
	if sequence <= e.newest[root] {
		return fmt.Errorf("its sequence is %d, and %d of its card came before", sequence, e.newest[root])
	}
	e.newest[root] = sequence
	return nil
}

// verifyDelivery verifies a delivery with Stripe's library and that of Standard Webhooks.
func verifyDelivery(secret string, h http.Header, body []byte) error {
	if err := stripe.ValidatePayload(body, h.Get("X-Service-Signature"), secret); err != nil {
		return err
	}
	return verifyStandard(secret, h, body)
}

func verifyStandard(secret string, h http.Header, body []byte) error {
	w, err := standard.NewWebhook(secret)
	if err != nil {
		return err
	}
	return w.Verify(body, h)
}

// waitForConnections returns when all connections of a killed server have been accepted and closed.
// Waiting connections are accepted before the one made here.
func (e *endpoint) waitForConnections() {
	e.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: waitLimit}
	resp := require.Must(client.Get(e.url))
	resp.Body.Close()
	if !e.own.waitUntil(func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.open) == 0
	}) {
		e.t.Fatalf("%s: connections of a killed server are open", e.name)
	}
}

// recordKill records a kill, after which these event_ids were pending. Deliveries that were
// accepted, but whose outcome is not in the file, were in progress; there are at most maxUnrecorded
// for an endpoint.
func (e *endpoint) recordKill(round int, pending map[string]bool) {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	lost := map[string]bool{}
	for id := range pending {
		if a := e.arrivals[id]; a != nil && len(a.good) > 0 && a.good[len(a.good)-1] == e.generation {
			lost[id] = true
		}
	}
	if len(lost) > maxUnrecorded {
		e.t.Errorf("kill %d: %s accepted %d deliveries whose outcome is not in the file", round, e.name, len(lost))
	}
	e.lost = append(e.lost, lost)
	e.generation++
}

// has reports whether the event was accepted when the server had been killed at least kills times.
func (e *endpoint) has(id string, kills int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.arrivals[id]
	return a != nil && slices.ContainsFunc(a.good, func(generation int) bool { return generation >= kills })
}

// missing returns one of the events that were never accepted, if there is one.
func (e *endpoint) missing(all map[happening]bool) (happening, bool) {
	for what := range all {
		e.mu.Lock()
		id := e.ids[what]
		e.mu.Unlock()
		if e.matches(what.event) && !e.has(id, 0) {
			return what, true
		}
	}
	return happening{}, false
}
