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
)

// pulse counts what happens, for those who wait for some of it to happen.
type pulse struct {
	mu   sync.Mutex
	n    int64
	more chan struct{}
}

func newPulse() *pulse { return &pulse{more: make(chan struct{})} }

func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	close(p.more)
	p.more = make(chan struct{})
}

func (p *pulse) count() int64 { n, _ := p.read(); return n }

func (p *pulse) read() (n int64, more <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n, p.more
}

// until waits for done to hold, which it asks again after each beat. It is
// false when that took longer than anybody waits.
func (p *pulse) until(done func() bool) bool {
	late := time.After(waitLimit)
	for {
		_, more := p.read()
		if done() {
			return true
		}
		select {
		case <-more:
		case <-late:
			return false
		}
	}
}

// happening is what an event tells of: its name, and the card or transaction.
type happening struct{ event, id string }

// arrival is what a receiver knows of one event_id.
type arrival struct {
	happening
	body []byte
	seen int   // requests that came whole
	good []int // the lives of the server in which one was answered with 200
}

// endpoint is a webhook's receiver: it verifies and records what it gets.
// answer decides on the status, told how often the event came and what ends
// when the sender goes away.
type endpoint struct {
	t      *testing.T
	name   string
	url    string
	takes  func(event string) bool
	answer func(a arrival, gone <-chan struct{}) int
	hear   func(http.Header) // may be nil; what every delivery came with
	beats  *pulse            // of all endpoints and writers
	own    *pulse            // of this endpoint's requests and connections

	mu       sync.Mutex
	hook     webhook
	life     int // of the server: how often it was killed before
	arrivals map[string]*arrival
	roots    map[string]string    // of cards that overflowed from others
	newest   map[string]int64     // by root: the sequence of the last event that came for the first time
	ids      map[happening]string // event_id
	open     map[net.Conn]bool
	lost     []map[string]bool // at each kill: event_ids accepted since the one before without the file knowing
}

// webhook is what tests read of a webhook.
type webhook struct {
	ID       string `json:"id"`
	Secret   string `json:"secret"`
	Active   bool   `json:"active"`
	Failures int    `json:"consecutive_failures"`
}

func newEndpoint(t *testing.T, name string, beats *pulse) *endpoint {
	t.Helper()
	e := &endpoint{t: t, name: name, beats: beats, own: newPulse(), arrivals: map[string]*arrival{}, roots: map[string]string{}, newest: map[string]int64{}, ids: map[happening]string{}, open: map[net.Conn]bool{}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	e.own.beat()
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == "GET" {
		return // see settled
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed in the middle of it
	}
	a, err := e.take(r.Header, body)
	if err != nil {
		e.t.Errorf("%s: %v: %s", e.name, err, body)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e.beats.beat()
	status := e.answer(a, r.Context().Done())
	if status == http.StatusOK {
		e.mu.Lock()
		known := e.arrivals[r.Header.Get("Webhook-Id")]
		known.good = append(known.good, e.life)
		e.mu.Unlock()
	}
	w.WriteHeader(status)
	e.own.beat()
	e.beats.beat()
}

// take verifies a delivery and records it.
func (e *endpoint) take(h http.Header, body []byte) (a arrival, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := verified(e.hook.Secret, h, body); err != nil {
		return a, err
	}
	var told struct {
		Event   string
		EventID string `json:"event_id"`
		Data    struct {
			Card        string `json:"card_instance_id"`
			Parent      string `json:"parent_card_instance_id"`
			Transaction string `json:"transaction_id"`
		}
	}
	if err := json.Unmarshal(body, &told); err != nil {
		return a, err
	}
	if id := h.Get("Webhook-Id"); id == "" || id != told.EventID {
		return a, fmt.Errorf("webhook-id is %q", id)
	}
	what := happening{told.Event, told.Data.Card}
	if told.Data.Transaction != "" {
		what.id = told.Data.Transaction
	}
	if !e.takes(told.Event) || what.id == "" {
		return a, errors.New("nobody asked for it")
	}
	if id, ok := e.ids[what]; ok && id != told.EventID {
		return a, fmt.Errorf("came as %s before", id)
	}
	e.ids[what] = told.EventID
	known := e.arrivals[told.EventID]
	if known == nil {
		if err := e.follows(h, told.Data.Card, told.Data.Parent); err != nil {
			return a, err
		}
		known = &arrival{happening: what, body: body}
		e.arrivals[told.EventID] = known
	}
	if !bytes.Equal(known.body, body) {
		return a, fmt.Errorf("came before as %s", known.body)
	}
	known.seen++
	if e.hear != nil {
		e.hear(h)
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

// verified checks a delivery with Stripe's library and that of the Standard
// Webhooks.
func verified(secret string, h http.Header, body []byte) error {
	if err := stripe.ValidatePayload(body, h.Get("X-Service-Signature"), secret); err != nil {
		return err
	}
	return verifiedStandard(secret, h, body)
}

func verifiedStandard(secret string, h http.Header, body []byte) error {
	w, err := standard.NewWebhook(secret)
	if err != nil {
		return err
	}
	return w.Verify(body, h)
}

// settled returns when nothing of a server that was killed is left to come:
// all of its connections are taken up and closed. Those that wait to be taken
// up come before the one that is made here.
func (e *endpoint) settled() {
	e.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: waitLimit}
	resp, err := client.Get(e.url)
	if err != nil {
		e.t.Fatal(err)
	}
	resp.Body.Close()
	if !e.own.until(func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.open) == 0
	}) {
		e.t.Fatalf("%s: connections of a dead server are open", e.name)
	}
}

// killed notes a kill, after which these were pending. What was accepted
// without the file knowing was under way, and of one endpoint no more than
// laneTaken can be.
func (e *endpoint) killed(round int, pending map[string]bool) {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	lost := map[string]bool{}
	for id := range pending {
		if a := e.arrivals[id]; a != nil && len(a.good) > 0 && a.good[len(a.good)-1] == e.life {
			lost[id] = true
		}
	}
	if len(lost) > laneTaken {
		e.t.Errorf("kill %d: %s has accepted %d deliveries that the file does not know of", round, e.name, len(lost))
	}
	e.lost = append(e.lost, lost)
	e.life++
}

// has tells whether the event was accepted, in a life from then on.
func (e *endpoint) has(id string, from int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.arrivals[id]
	return a != nil && slices.ContainsFunc(a.good, func(life int) bool { return life >= from })
}

// missing is one of the happenings that was never accepted, if there is one.
func (e *endpoint) missing(all map[happening]bool) (happening, bool) {
	for what := range all {
		e.mu.Lock()
		id := e.ids[what]
		e.mu.Unlock()
		if e.takes(what.event) && !e.has(id, 0) {
			return what, true
		}
	}
	return happening{}, false
}
