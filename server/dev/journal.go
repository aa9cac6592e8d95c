package dev

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/store"
)

// Bounds of a journal. They hold for requests to the APIs, other requests and deliveries
// separately, so that many of one kind do not displace the others.
const (
	journalEntries = 1000
	journalBytes   = 16 << 20 // bytes of all entries together, approximately
	journalBody    = 64 << 10 // bytes of one body; the rest is dropped
	journalPage    = 100      // entries of a list without a limit
)

// The kinds of entries.
const (
	kindREST     = "rest"
	kindTill     = "till"
	kindMCP      = "mcp"
	kindDelivery = "delivery"
	kindPage     = "page"    // a request outside of the APIs
	kindRequest  = "request" // all but deliveries
)

// Journal records, in memory, the newest requests to the APIs with their answers, the
// newest requests outside of the APIs, and the newest attempts to deliver webhooks, so that
// a test can check them. Times are those of the fixture's clock; durations are real time.
type Journal struct {
	// Watch is called with each attempt to deliver a webhook. It may be nil.
	Watch func(Answered)

	now   func() time.Time
	store *store.Store
	apis  APIs

	mu         sync.Mutex
	seq        int64
	requests   ring // to the APIs
	pages      ring // other requests
	deliveries ring
	history    *history
}

// NewJournal returns an empty journal of the requests to st. now reads the fixture's
// clock.
func NewJournal(now func() time.Time, st *store.Store, apis APIs) *Journal {
	return &Journal{now: now, store: st, apis: apis, history: &history{}}
}

// record is an entry of the journal. It never changes.
type record struct {
	kind     string
	seq      int64
	method   string             // of a request
	path     []string           // of a request, unescaped
	delivery store.Null[string] // null for requests
	hints    []Hint
	size     int // bytes, approximately
	about    subject
	entry    journalEntry
}

// ring holds the newest entries, oldest first.
type ring struct {
	list []record
	size int
}

// add adds an entry and drops the oldest ones that exceed the bounds.
func (r *ring) add(e record) {
	r.list = append(r.list, e)
	r.size += e.size
	for len(r.list) > journalEntries || r.size > journalBytes {
		r.size -= r.list[0].size
		r.list[0] = record{} // frees the entry while the array is in use
		r.list = r.list[1:]
	}
}

// message is what one side sent. The values of a repeated header are joined by
// commas. A body of valid JSON is embedded unchanged; any other body, and one that
// is cut short, is a string; no body is null.
type message struct {
	Headers   map[string]string `json:"headers" doc:"By canonical name, without credentials; the values of a repeated header are joined by commas."`
	Body      jsontext.Value    `json:"body" doc:"JSON as it is; anything else, and what is cut short, as a string; null if there is none, and for pages."`
	Truncated bool              `json:"truncated" doc:"The body was longer, or was not read to its end."`
}

func (m *message) size() int {
	n := len(m.Body)
	for name, value := range m.Headers {
		n += len(name) + len(value)
	}
	return n
}

type response struct {
	Status int `json:"status" doc:"0 if the connection was cut."`
	message
}

// requestEntry is one request.
type requestEntry struct {
	Seq        int64              `json:"seq" doc:"Counts entries of all kinds, in the order of the answers."`
	Kind       string             `json:"kind" enum:"rest,till,mcp,page"`
	At         store.Time         `json:"at" doc:"When it arrived, by the fixture's clock."`
	DurationMS int64              `json:"duration_ms" doc:"Real time."`
	RequestID  store.Null[string] `json:"request_id" doc:"Of the answer; null if there was none."`
	Method     string             `json:"method"`
	Path       string             `json:"path" doc:"As it was sent, with its escapes; of pages with … where a token may be."`
	Query      string             `json:"query" doc:"As it was sent; empty for pages."`
	Request    message            `json:"request"`
	Response   response           `json:"response"`
	Fault      store.Null[string] `json:"fault" doc:"Id of the fault that was applied."`
	Replayed   bool               `json:"replayed" doc:"The answer was remembered under the Idempotency-Key."`
	Hints      []Hint             `json:"hints"`
}

// deliveryEntry is one attempt to deliver a webhook.
type deliveryEntry struct {
	Seq           int64                  `json:"seq" doc:"Counts entries of all kinds."`
	Kind          string                 `json:"kind" enum:"delivery"`
	At            store.Time             `json:"at" doc:"When its outcome was committed, by the fixture's clock."`
	DurationMS    int64                  `json:"duration_ms" doc:"Real time."`
	WebhookID     string                 `json:"webhook_id"`
	DeliveryID    string                 `json:"delivery_id"`
	URL           string                 `json:"url" doc:"Without user info and query, which may be secret."`
	Event         string                 `json:"event"`
	EventID       string                 `json:"event_id"`
	Attempt       int                    `json:"attempt" doc:"From 1."`
	Status        store.Null[int64]      `json:"status" doc:"Of the answer; null if there was none."`
	Success       bool                   `json:"success"`
	Error         store.Null[string]     `json:"error"`
	NextAttemptAt store.Null[store.Time] `json:"next_attempt_at"`
	Hints         []Hint                 `json:"hints"`
}

// Delivered records an attempt to deliver a webhook and its outcome. It is meant
// for webhook.Config.Observe.
func (j *Journal) Delivered(a *store.Attempt, o store.Outcome) {
	var envelope struct {
		Event string `json:"event"`
	}
	json.Unmarshal(a.Body, &envelope) // never fails: the store wrote it
	e := &deliveryEntry{
		Kind:          kindDelivery,
		At:            store.TimeOf(j.now()),
		DurationMS:    o.Duration.Milliseconds(),
		WebhookID:     j.store.ID(store.KindWebhook, a.Webhook),
		DeliveryID:    j.store.DeliveryID(a.Webhook, a.Event),
		URL:           maskURL(a.URL),
		Event:         envelope.Event,
		EventID:       a.EventID,
		Attempt:       a.Attempts + 1,
		Status:        o.Status,
		Success:       o.Success,
		Error:         store.Null[string]{V: o.Error, Valid: o.Error != ""},
		NextAttemptAt: o.NextAttempt,
	}
	if o.TimedOut {
		e.Hints = newHint(hintTimedOut, "The receiver had not answered attempt %d at %s after %d ms, which counts as a failure; "+
			"please answer 2xx first and do the work afterwards.", e.Attempt, e.Event, e.DurationMS)
	}
	if j.Watch != nil {
		j.Watch(deliveryAnswered(e))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.Seq = j.seq
	j.deliveries.add(record{
		kind:     kindDelivery,
		seq:      e.Seq,
		delivery: store.Some(e.DeliveryID),
		hints:    e.Hints,
		size:     512 + len(e.URL) + len(o.Error),
		entry:    e,
	})
}

// maskURL returns a receiver's URL without its user info and query.
func maskURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "***"
	}
	u.User = nil
	if u.RawQuery != "" {
		u.RawQuery = "***"
	}
	return u.String()
}

type journalQuery struct {
	Limit  store.Opt[int64]  `json:"limit" min:"1" doc:"Default 100; more than 1000 counts as 1000."`
	Kind   store.Opt[string] `json:"kind" enum:"rest,till,mcp,page,request,delivery" doc:"page: requests outside of the APIs. request: all requests. Without it requests to the APIs."`
	Method store.Opt[string] `json:"method" min:"1" max:"16" doc:"Only requests with this method."`
	Path   store.Opt[string] `json:"path" min:"1" max:"2048" doc:"Only requests whose path, whole or below its API, matches: * stands for one segment, ** at the end for any rest."`
}

// Check validates the filters of requests, by the rules for those of a fault.
func (q journalQuery) Check(store.Time) []store.Detail {
	wrong := checkMatch(q.Method, q.Path)
	const rule = "chooses requests, so it must not be given beside the kind delivery"
	if q.Method.Set && q.Kind.V == kindDelivery {
		wrong.add("method", "not_allowed", rule)
	}
	if q.Path.Set && q.Kind.V == kindDelivery {
		wrong.add("path", "not_allowed", rule)
	}
	return wrong
}

// rings returns the rings that a query is about.
func (j *Journal) rings(q journalQuery) []*ring {
	switch q.Kind.V {
	case kindDelivery:
		return []*ring{&j.deliveries}
	case kindPage:
		return []*ring{&j.pages}
	case kindRequest:
		return []*ring{&j.requests, &j.pages}
	}
	return []*ring{&j.requests}
}

// chooses reports whether a query is about an entry of its rings.
func (j *Journal) chooses(q journalQuery, pattern []string, e *record) bool {
	if q.Kind.Set && q.Kind.V != kindRequest && q.Kind.V != e.kind || q.Method.Set && !strings.EqualFold(q.Method.V, e.method) {
		return false
	}
	return !q.Path.Set || matches(pattern, e.path) || matches(pattern, e.path[min(j.apis.depth(e.kind), len(e.path)):])
}

type journalAnswer struct {
	Data  []journalEntry `json:"data" doc:"Oldest first."`
	Hints []listedHint   `json:"hints" doc:"Of all entries, also of those that are not listed."`
}

// journalEntry is a *requestEntry or a *deliveryEntry.
type journalEntry any

// list answers GET /dev/requests?limit=&kind=&method=&path= with the newest entries, oldest
// first. limit is 100 by default and at most 1000. Without kind it lists the
// requests to the APIs. Requests about cards that were erased are dropped first.
func (j *Journal) list(_ *http.Request, _ httprouter.Params, q journalQuery) (a journalAnswer, _ error) {
	limit := int(min(q.Limit.Or(journalPage), journalEntries))
	pattern := splitPath(q.Path.V)
	erased, err := erasedCards(j.store)
	if err != nil {
		return a, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.requests.dropErased(erased)
	j.pages.dropErased(erased)
	var found []record
	for _, from := range j.rings(q) {
		n := 0
		for _, e := range slices.Backward(from.list) {
			if n < limit && j.chooses(q, pattern, &e) {
				found = append(found, e)
				n++
			}
		}
	}
	slices.SortFunc(found, func(x, y record) int { return int(x.seq - y.seq) })
	for _, e := range found[max(0, len(found)-limit):] {
		a.Data = append(a.Data, e.entry)
	}
	for _, e := range slices.Concat(j.requests.list, j.deliveries.list) {
		for _, h := range e.hints {
			a.Hints = append(a.Hints, listedHint{h, e.kind, e.seq, e.delivery})
		}
	}
	slices.SortStableFunc(a.Hints, func(x, y listedHint) int { return int(x.Seq - y.Seq) })
	return a, nil
}

// clear answers DELETE /dev/requests. It also clears the history that hints are
// made from. Sequence numbers go on.
func (j *Journal) clear(*http.Request, httprouter.Params, struct{}) (kernel.None, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.requests, j.pages, j.deliveries, j.history = ring{}, ring{}, ring{}, &history{}
	return kernel.None{}, nil
}

// APIs are the path prefixes of the APIs whose requests are recorded and can be
// given faults.
type APIs struct{ REST, Till, MCP string }

// find returns the API that an unescaped path belongs to, and the number of
// segments of its prefix. kind is empty if the path belongs to none.
func (a APIs) find(path string) (kind string, depth int) {
	for kind, prefix := range a.prefixes() {
		if below, ok := strings.CutPrefix(path, prefix); ok && prefix != "" && (below == "" || below[0] == '/') {
			return kind, a.depth(kind)
		}
	}
	return "", 0
}

// prefixes returns the prefixes of the APIs by the kind of their entries.
func (a APIs) prefixes() map[string]string {
	return map[string]string{kindREST: a.REST, kindTill: a.Till, kindMCP: a.MCP}
}

// depth returns the number of segments of the prefix of an API, 0 for other kinds.
func (a APIs) depth(kind string) int {
	return strings.Count(a.prefixes()[kind], "/")
}
