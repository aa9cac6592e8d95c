package dev

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// Bounds of a journal (contract section 8). Requests and deliveries have each
// their own, so that neither drives the other out.
const (
	journalEntries = 1000
	journalBytes   = 16 << 20 // of all entries together
	journalBody    = 64 << 10 // bytes of one body; what follows is dropped
	journalPage    = 100      // entries, where a listing names no limit
)

// The kinds of entries.
const (
	kindREST     = "rest"
	kindTill     = "till"
	kindDelivery = "delivery"
)

// Journal keeps what went over the wire, so that a test can assert it: the
// requests to the REST and till APIs with their answers, and the attempts at
// webhooks (contract section 8). It lives in memory and keeps the newest only.
//
// Times are the fixture's; durations are real.
type Journal struct {
	now  func() time.Time
	ids  store.IDs
	apis APIs

	mu         sync.Mutex
	seq        int64
	requests   ring
	deliveries ring
	past       *past // what hints are given from
}

// NewJournal makes an empty journal. now is the fixture's clock, ids are the
// store's.
func NewJournal(now func() time.Time, ids store.IDs, apis APIs) *Journal {
	return &Journal{now: now, ids: ids, apis: apis, past: newPast()}
}

// kept is an entry, which never changes once it is kept.
type kept struct {
	kind  string
	hints []listedHint
	size  int // bytes, about
	out   any // *requestEntry or *deliveryEntry
}

// ring holds the newest entries, oldest first.
type ring struct {
	list []kept
	size int
}

func (r *ring) add(k kept) {
	r.list = append(r.list, k)
	r.size += k.size
	for len(r.list) > journalEntries || r.size > journalBytes {
		r.size -= r.list[0].size
		r.list[0] = kept{} // lets go of it while the array lives on
		r.list = r.list[1:]
	}
}

// message is what either side sent. Headers that came more than once stand
// joined by a comma, as HTTP has it. A body of valid JSON is embedded as it
// came; any other, and one that is cut short, is a string; none is null.
type message struct {
	Headers   map[string]string `json:"headers"`
	Body      json.RawMessage   `json:"body"`
	Truncated bool              `json:"truncated"` // the body was longer, or was not read to its end
}

func (m *message) size() int {
	n := len(m.Body)
	for name, value := range m.Headers {
		n += len(name) + len(value)
	}
	return n
}

type answered struct {
	Status int `json:"status"` // 0: the connection was cut
	message
}

type requestEntry struct {
	Seq        int64              `json:"seq"` // counts entries of every kind, in the order of the answers
	Kind       string             `json:"kind"`
	At         store.Time         `json:"at"` // of the request's arrival
	DurationMS int64              `json:"duration_ms"`
	RequestID  store.Null[string] `json:"request_id"` // of the answer; null where there was none
	Method     string             `json:"method"`
	Path       string             `json:"path"` // as it was sent, escapes and all
	Query      string             `json:"query"`
	Request    message            `json:"request"`
	Response   answered           `json:"response"`
	Fault      store.Null[string] `json:"fault"`    // id of the one that struck
	Replayed   bool               `json:"replayed"` // the answer was remembered under the Idempotency-Key
	Hints      []Hint             `json:"hints"`
}

// deliveryEntry is one attempt at a webhook.
type deliveryEntry struct {
	Seq           int64                  `json:"seq"`
	Kind          string                 `json:"kind"`
	At            store.Time             `json:"at"` // when its outcome stood in the file
	DurationMS    int64                  `json:"duration_ms"`
	WebhookID     string                 `json:"webhook_id"`
	DeliveryID    string                 `json:"delivery_id"`
	URL           string                 `json:"url"` // without what may be secret: user info, query
	Event         string                 `json:"event"`
	EventID       string                 `json:"event_id"`
	Attempt       int                    `json:"attempt"` // from 1
	Status        store.Null[int64]      `json:"status"`  // of the answer; null where there was none
	Success       bool                   `json:"success"`
	Error         store.Null[string]     `json:"error"`
	NextAttemptAt store.Null[store.Time] `json:"next_attempt_at"`
	Hints         []Hint                 `json:"hints"`
}

// Delivered notes an attempt at a webhook and what came of it. It is made for
// webhook.Config.Observe.
func (j *Journal) Delivered(a *store.Attempt, o store.Outcome) {
	var envelope struct {
		Event string `json:"event"`
	}
	json.Unmarshal(a.Body, &envelope) // it is ours
	e := &deliveryEntry{Kind: kindDelivery, At: store.TimeOf(j.now()), DurationMS: o.Duration.Milliseconds(), WebhookID: j.ids.ID(store.KindWebhook, a.Webhook),
		DeliveryID: j.ids.DeliveryID(a.Webhook, a.Event), URL: withoutSecrets(a.URL), Event: envelope.Event, EventID: a.EventID, Attempt: a.Attempts + 1,
		Status: o.Status, Success: o.Success, Error: store.Null[string]{V: o.Error, Valid: o.Error != ""}, NextAttemptAt: o.NextAttempt}
	if o.TimedOut {
		e.Hints = append(e.Hints, timedOut(e))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.Seq = j.seq
	id := store.Some(e.DeliveryID)
	j.deliveries.add(kept{kindDelivery, listed(e.Hints, e.Kind, e.Seq, id), 512 + len(e.URL) + len(o.Error), e})
}

// withoutSecrets is as much of a receiver's URL as tells it from others.
func withoutSecrets(raw string) string {
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
	Limit store.Opt[int64]  `json:"limit" min:"1"`
	Kind  store.Opt[string] `json:"kind" enum:"rest,till,delivery"`
}

type journalAnswer struct {
	Data  []any        `json:"data"`  // *requestEntry or *deliveryEntry
	Hints []listedHint `json:"hints"` // of all that the journal holds, whatever is listed
}

// list answers GET /dev/requests?limit=&kind= : the newest entries, oldest
// first. limit is 100 by default and at most 1000; more is cut to that. Without
// kind it lists requests of either API and no deliveries.
func (j *Journal) list(r *http.Request, _ httprouter.Params, _ struct{}) (a journalAnswer, err error) {
	var q journalQuery
	if details := wire.DecodeQuery(r.URL.Query(), &q, nil); details != nil {
		return a, store.Invalid(details...)
	}
	limit := int(min(q.Limit.Or(journalPage), journalEntries))
	j.mu.Lock()
	defer j.mu.Unlock()
	from := &j.requests
	if q.Kind.V == kindDelivery {
		from = &j.deliveries
	}
	for _, k := range slices.Backward(from.list) {
		if len(a.Data) == limit {
			break
		}
		if !q.Kind.Set || q.Kind.V == k.kind {
			a.Data = append(a.Data, k.out)
		}
	}
	slices.Reverse(a.Data)
	for _, r := range []*ring{&j.requests, &j.deliveries} {
		for _, k := range r.list {
			a.Hints = append(a.Hints, k.hints...)
		}
	}
	slices.SortStableFunc(a.Hints, func(x, y listedHint) int { return int(x.Seq - y.Seq) })
	return a, nil
}

// clear answers DELETE /dev/requests. What came before gives no hints any more;
// the count goes on.
func (j *Journal) clear(*http.Request, httprouter.Params, struct{}) (kernel.None, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.requests, j.deliveries, j.past = ring{}, ring{}, newPast()
	return kernel.None{}, nil
}

// APIs are the path prefixes of the APIs that are recorded and that faults can be
// set for.
type APIs struct{ REST, Till string }

// of returns the kind of the API that an unescaped path belongs to, and the
// number of segments of that API's prefix; kind is empty for all other paths.
func (a APIs) of(path string) (kind string, depth int) {
	for prefix, kind := range map[string]string{a.REST: kindREST, a.Till: kindTill} {
		if below, ok := strings.CutPrefix(path, prefix); ok && (below == "" || below[0] == '/') {
			return kind, strings.Count(prefix, "/")
		}
	}
	return "", 0
}
