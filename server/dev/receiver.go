package dev

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/store"
)

// Bounds of the receivers.
const (
	maxReceivers     = 1000
	receiverRequests = 1000      // of one receiver; older ones are dropped
	receiverBody     = 256 << 10 // bytes of one body; the rest is dropped
	receiversBytes   = 64 << 20  // of all requests together; the oldest are dropped
)

// Receivers are webhook targets in the server itself. They keep the requests that
// they get and answer as a test tells them to. Times are those of the fixture's
// clock; delays are real time.
type Receivers struct {
	Rand io.Reader // source of ids; by default crypto/rand
	// CheckTarget returns what is wrong with a URL that requests are to be sent to, or nil,
	// and Transport returns what sends them. Timeout is how long one may take.
	CheckTarget func(context.Context, string) *store.Detail
	Transport   func() *http.Transport
	Timeout     time.Duration

	ctx    context.Context // ends when the fixture stops or is reset
	k      *kernel.Kernel
	now    func() time.Time
	origin string

	mu   sync.Mutex
	seq  int64 // requests so far, of all receivers
	size int   // bytes of all requests that are kept
	byID map[string]*receiver
}

// NewReceivers returns an empty set of receivers. Requests that wait end with ctx,
// which ends when the fixture stops or is reset. The URLs of receivers begin with
// origin.
func NewReceivers(ctx context.Context, k *kernel.Kernel, now func() time.Time, origin string) *Receivers {
	return &Receivers{Rand: rand.Reader, ctx: ctx, k: k, now: now, origin: origin, byID: map[string]*receiver{}}
}

// receiver is one target. All of it is guarded by the mutex of Receivers.
type receiver struct {
	receiverState
	requests []*received   // in the order of their arrival
	arrived  chan struct{} // closed and replaced when a request arrives
}

// receiverState is how the control API shows a receiver, and how the receiver
// answers.
type receiverState struct {
	ID      string            `json:"id"`
	URL     string            `json:"url"`
	Status  int               `json:"status" doc:"0: it cuts the connection."`
	DelayMS int64             `json:"delay_ms"`
	Headers map[string]string `json:"headers"`
}

type receiverDetail struct {
	receiverState
	Requests []*received `json:"requests"`
}

// received is a request that a receiver got. The values of a repeated header are
// joined by commas.
type received struct {
	At store.Time `json:"at"`
	envelope
	Headers   map[string]string `json:"headers"`
	Body      string            `json:"body" doc:"The bytes that were signed."`
	Truncated bool              `json:"truncated" doc:"The body was longer."`

	sequence int64 `json:"-"` // of X-Service-Sequence; 0: none
	seq      int64 `json:"-"` // counts the requests of all receivers
	size     int   `json:"-"` // bytes, approximately
}

// envelope is the part of a body by which clients choose and sort requests.
type envelope struct {
	Event   store.Null[string] `json:"event" doc:"From the body; null if it has none."`
	EventID store.Null[string] `json:"event_id" doc:"From the body; null if it has none."`
}

// receiverBodyFields is the body of POST /dev/receiver and PUT
// /dev/receiver/{id}.
type receiverBodyFields struct {
	Status  store.Opt[int64]             `json:"status" min:"0" max:"599" doc:"0 cuts the connection; else from 200. Default 200."`
	DelayMS store.Opt[int64]             `json:"delay_ms" min:"0" max:"60000" doc:"Real time before the answer; default 0."`
	Headers store.Opt[map[string]string] `json:"headers" max:"1024" doc:"Of the answer."`
}

// Check returns what is wrong with the answer that the fields describe.
func (b receiverBodyFields) Check(store.Time) []store.Detail {
	var wrong problems
	if b.Status.V != 0 && b.Status.V < 200 {
		wrong.add("status", "invalid_value", "must be 0, which cuts the connection, or from 200 to 599")
	}
	return append(wrong, checkHeaders(b.Headers.V)...)
}

// state returns the state of a receiver with the answer that the fields describe.
func (rs *Receivers) state(id string, b receiverBodyFields) receiverState {
	return receiverState{
		id,
		rs.origin + "/dev/receiver/" + id,
		int(b.Status.Or(http.StatusOK)),
		b.DelayMS.V,
		b.Headers.V,
	}
}

// find returns the receiver with an id. The caller holds the mutex.
func (rs *Receivers) find(id string) (*receiver, error) {
	rc := rs.byID[id]
	if rc == nil {
		return nil, kernel.Refuse(store.NotFound, "No such receiver.")
	}
	return rc, nil
}

// create answers POST /dev/receiver.
func (rs *Receivers) create(_ *http.Request, _ httprouter.Params, b receiverBodyFields) (receiverState, error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if len(rs.byID) >= maxReceivers {
		return receiverState{}, tooMany(maxReceivers, "receivers")
	}
	// Ids are random and not counted: a webhook that an earlier run left in the
	// file must not reach a receiver of this run.
	var id [16]byte
	if _, err := io.ReadFull(rs.Rand, id[:]); err != nil {
		return receiverState{}, err
	}
	rc := &receiver{receiverState: rs.state("rcv_"+hex.EncodeToString(id[:]), b), arrived: make(chan struct{})}
	rs.byID[rc.ID] = rc
	return rc.receiverState, nil
}

// update answers PUT /dev/receiver/{id}. Absent fields get their default. Requests
// that are being answered get the answer from before.
func (rs *Receivers) update(_ *http.Request, p httprouter.Params, b receiverBodyFields) (receiverState, error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rc, err := rs.find(p.ByName("id"))
	if err != nil {
		return receiverState{}, err
	}
	rc.receiverState = rs.state(rc.ID, b)
	return rc.receiverState, nil
}

// clear answers DELETE /dev/receiver/{id}/requests.
func (rs *Receivers) clear(_ *http.Request, p httprouter.Params, _ struct{}) (none kernel.None, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rc, err := rs.find(p.ByName("id"))
	if err != nil {
		return none, err
	}
	for len(rc.requests) > 0 {
		rs.dropOldest(rc)
	}
	return none, nil
}

type receiverQuery struct {
	Wait      store.Opt[int64]  `json:"wait" min:"0" max:"1000" doc:"Answer as soon as so many requests are there."`
	Event     store.Opt[string] `json:"event" max:"100" doc:"Only requests with this event."`
	TimeoutMS store.Opt[int64]  `json:"timeout_ms" min:"0" max:"60000" doc:"How long to wait; default 10000."`
}

// defaultReceiverWait is how long GET /dev/receiver/{id} waits, in milliseconds. It may wait for maxLasting.
const defaultReceiverWait = 10_000

// show answers GET /dev/receiver/{id}?wait=&event=&timeout_ms= . With event it
// shows only the requests of that event. With wait it answers as soon as that many
// requests are there, or with those that are there when the time-out has passed
// or the fixture ends.
func (rs *Receivers) show(r *http.Request, p httprouter.Params, q receiverQuery) (receiverDetail, error) {
	timeout := time.After(time.Duration(q.TimeoutMS.Or(defaultReceiverWait)) * time.Millisecond)
	for {
		d, more, err := rs.detail(p.ByName("id"), q.Event)
		if err != nil || int64(len(d.Requests)) >= q.Wait.V {
			return d, err
		}
		select {
		case <-more:
		case <-timeout:
			return d, nil
		case <-r.Context().Done():
			return d, nil
		}
	}
}

// detail returns a receiver with the requests that it has now, and a channel that
// is closed when it gets another. The requests are in the order of bySequence.
func (rs *Receivers) detail(id string, event store.Opt[string]) (d receiverDetail, more <-chan struct{}, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rc, err := rs.find(id)
	if err != nil {
		return d, nil, err
	}
	d.receiverState = rc.receiverState
	for _, one := range rc.requests {
		if !event.Set || one.Event.Valid && one.Event.V == event.V {
			d.Requests = append(d.Requests, one)
		}
	}
	slices.SortStableFunc(d.Requests, bySequence)
	return d, rc.arrived, nil
}

// bySequence compares requests by their X-Service-Sequence and then by their event_id.
// Deliveries about different cards arrive in any order; sorted by it they are listed in the
// same order in each run of a script. Requests without the header come first. Attempts of one
// delivery are equal.
func bySequence(a, b *received) int {
	if a.sequence != b.sequence || a.sequence == 0 {
		return cmp.Compare(a.sequence, b.sequence)
	}
	return cmp.Compare(a.EventID.V, b.EventID.V)
}

// receive answers POST /dev/receiver/{id}, the target itself: it accepts any body.
// The request is recorded before it is answered.
func (rs *Receivers) receive(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
	var body strings.Builder
	_, err := io.CopyN(&body, r.Body, receiverBody+1)
	if err != nil && !errors.Is(err, io.EOF) {
		panic(http.ErrAbortHandler) // an incomplete request does not count
	}
	answer, err := rs.record(p.ByName("id"), joinHeaders(r.Header), body.String())
	if err != nil {
		rs.k.AnswerError(w, err)
		return
	}
	if sleep(w, r, rs.ctx.Done(), answer.DelayMS) != nil || answer.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	for name, value := range answer.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(answer.Status)
}

// record adds a request to a receiver and returns how to answer it.
func (rs *Receivers) record(id string, headers map[string]string, body string) (receiverState, error) {
	one := &received{At: store.TimeOf(rs.now()), Headers: headers, Body: body, size: 512 + len(body)}
	if len(body) > receiverBody {
		one.Body, one.Truncated = strings.Clone(body[:receiverBody]), true
	}
	json.Unmarshal([]byte(one.Body), &one.envelope) // a body that is no envelope has no event
	one.sequence, _ = strconv.ParseInt(headers["X-Service-Sequence"], 10, 64)
	for name, value := range headers {
		one.size += len(name) + len(value)
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rc, err := rs.find(id)
	if err != nil {
		return receiverState{}, err
	}
	rs.seq++
	one.seq = rs.seq
	rc.requests = append(rc.requests, one)
	rs.size += one.size
	if len(rc.requests) > receiverRequests {
		rs.dropOldest(rc)
	}
	for rs.size > receiversBytes {
		rs.dropOldest(rs.withOldestRequest())
	}
	close(rc.arrived)
	rc.arrived = make(chan struct{})
	return rc.receiverState, nil
}

// dropOldest drops a receiver's oldest request.
func (rs *Receivers) dropOldest(rc *receiver) {
	rs.size -= rc.requests[0].size
	rc.requests[0] = nil // frees the request while the array is in use
	rc.requests = rc.requests[1:]
}

// withOldestRequest returns the receiver that has the oldest request of all.
func (rs *Receivers) withOldestRequest() (first *receiver) {
	for _, rc := range rs.byID {
		if len(rc.requests) > 0 && (first == nil || rc.requests[0].seq < first.requests[0].seq) {
			first = rc
		}
	}
	return first
}
