package dev

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// Bounds of the receivers (contract section 8).
const (
	maxReceivers     = 1000
	receiverRequests = 1000      // of one receiver; older ones go
	receiverBody     = 256 << 10 // bytes of one body; what follows is dropped
	receiversBytes   = 64 << 20  // of all requests together; the oldest go
)

// Receivers are webhook targets in the server itself, which keep what they are
// sent and answer as they are told (contract section 8).
//
// Times are the fixture's; delays are real.
type Receivers struct {
	Rand io.Reader // of ids; crypto/rand at first

	done   <-chan struct{} // the fixture ends, or is made anew
	k      *kernel.Kernel
	now    func() time.Time
	origin string

	mu   sync.Mutex
	seq  int64
	size int
	all  map[string]*receiver
}

// NewReceivers makes a set of receivers that is empty. What waits lets go when
// ctx ends, which is when the fixture stops or is reset. origin is where the
// server listens; a wildcard address there is reached as 127.0.0.1.
func NewReceivers(ctx context.Context, k *kernel.Kernel, now func() time.Time, origin string) *Receivers {
	return &Receivers{Rand: rand.Reader, done: ctx.Done(), k: k, now: now, origin: reachable(origin), all: map[string]*receiver{}}
}

func reachable(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return origin
	}
	if at, err := netip.ParseAddrPort(u.Host); err == nil && at.Addr().Unmap().IsUnspecified() {
		u.Host = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
	}
	return u.String()
}

// receiver is one target. All of it is guarded by the mutex of Receivers.
type receiver struct {
	id       string
	answer   receiverAnswer
	requests []*received   // oldest first
	came     chan struct{} // closed, and made anew, with each request
}

// receiverAnswer is how a receiver answers.
type receiverAnswer struct {
	status  int // 0: it cuts the connection
	delay   time.Duration
	headers map[string]string
}

// received is a request as it came. Headers that came more than once stand
// joined by a comma, as HTTP has it.
type received struct {
	At        store.Time         `json:"at"`
	Event     store.Null[string] `json:"event"`    // of the body; null where it names none
	EventID   store.Null[string] `json:"event_id"` // likewise
	Headers   map[string]string  `json:"headers"`
	Body      string             `json:"body"`      // byte for byte, as it was signed
	Truncated bool               `json:"truncated"` // it was longer

	seq  int64 `json:"-"` // among all receivers
	size int   `json:"-"`
}

type receiverBodyFields struct {
	Status  store.Opt[int64]             `json:"status" min:"0" max:"599"`
	DelayMS store.Opt[int64]             `json:"delay_ms" min:"0" max:"60000"`
	Headers store.Opt[map[string]string] `json:"headers" max:"1024"`
}

// Check finds what cannot be answered.
func (b receiverBodyFields) Check(store.Time) (details []store.Detail) {
	if b.Status.Set && b.Status.V != 0 && b.Status.V < 200 {
		details = append(details, store.Detail{Field: "status", Code: "invalid_value", Message: "must be 0, which cuts the connection, or from 200 to 599"})
	}
	return append(details, checkHeaders(b.Headers.Or(nil))...)
}

func (b receiverBodyFields) answer() receiverAnswer {
	return receiverAnswer{int(b.Status.Or(http.StatusOK)), time.Duration(b.DelayMS.Or(0)) * time.Millisecond, b.Headers.Or(map[string]string{})}
}

type receiverShown struct {
	ID      string            `json:"id"`
	URL     string            `json:"url"`
	Status  int               `json:"status"`
	DelayMS int64             `json:"delay_ms"`
	Headers map[string]string `json:"headers"`
}

type receiverDetail struct {
	receiverShown
	Requests []*received `json:"requests"`
}

func (rs *Receivers) shown(rc *receiver) receiverShown {
	return receiverShown{rc.id, rs.origin + "/dev/receiver/" + rc.id, rc.answer.status, rc.answer.delay.Milliseconds(), rc.answer.headers}
}

var errNoReceiver = &store.Error{Code: store.NotFound, Message: "No such receiver."}

// create answers POST /dev/receiver.
func (rs *Receivers) create(_ *http.Request, _ httprouter.Params, b receiverBodyFields) (receiverShown, error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if len(rs.all) >= maxReceivers {
		return receiverShown{}, &store.Error{Code: store.Unprocessable, Message: fmt.Sprintf("There are %d receivers already, which is all there may be.", maxReceivers)}
	}
	// Not counted: a webhook of an earlier run, kept in its file, must not reach
	// a receiver of this one.
	var id [16]byte
	if _, err := io.ReadFull(rs.Rand, id[:]); err != nil {
		return receiverShown{}, err
	}
	rc := &receiver{id: "rcv_" + hex.EncodeToString(id[:]), answer: b.answer(), came: make(chan struct{})}
	rs.all[rc.id] = rc
	return rs.shown(rc), nil
}

// update answers PUT /dev/receiver/{id}: what the body leaves out goes back to
// its default. Requests that are being answered are answered as before.
func (rs *Receivers) update(_ *http.Request, p httprouter.Params, b receiverBodyFields) (receiverShown, error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rc := rs.all[p.ByName("id")]
	if rc == nil {
		return receiverShown{}, errNoReceiver
	}
	rc.answer = b.answer()
	return rs.shown(rc), nil
}

// empty answers DELETE /dev/receiver/{id}/requests.
func (rs *Receivers) empty(_ *http.Request, p httprouter.Params, _ struct{}) (kernel.None, error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rc := rs.all[p.ByName("id")]
	if rc == nil {
		return kernel.None{}, errNoReceiver
	}
	for len(rc.requests) > 0 {
		rs.drop(rc)
	}
	return kernel.None{}, nil
}

type receiverQuery struct {
	Wait      store.Opt[int64]  `json:"wait" min:"0" max:"1000"`
	Event     store.Opt[string] `json:"event" max:"100"`
	TimeoutMS store.Opt[int64]  `json:"timeout_ms" min:"0" max:"60000"`
}

const (
	receiverPatience    = 10_000 // ms that a wait takes where none is given
	receiverMostPatient = time.Minute
)

// show answers GET /dev/receiver/{id}?wait=&event=&timeout_ms= . With event it
// shows the requests of that event alone. With wait it answers as soon as so
// many are there, or with what there is when the time-out has passed or the
// fixture ends.
func (rs *Receivers) show(r *http.Request, p httprouter.Params, _ struct{}) (d receiverDetail, err error) {
	var q receiverQuery
	if details := wire.DecodeQuery(r.URL.Query(), &q, nil); details != nil {
		return d, store.Invalid(details...)
	}
	late := time.NewTimer(time.Duration(q.TimeoutMS.Or(receiverPatience)) * time.Millisecond)
	defer late.Stop()
	for {
		d, more, err := rs.look(p.ByName("id"), q.Event)
		if err != nil || int64(len(d.Requests)) >= q.Wait.V {
			return d, err
		}
		select {
		case <-more:
		case <-late.C:
			return d, nil
		case <-r.Context().Done():
			return d, nil
		case <-rs.done:
			return d, nil
		}
	}
}

// look is what a receiver has now, and what tells that it has more.
func (rs *Receivers) look(id string, event store.Opt[string]) (d receiverDetail, more <-chan struct{}, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rc := rs.all[id]
	if rc == nil {
		return d, nil, errNoReceiver
	}
	d.receiverShown = rs.shown(rc)
	for _, one := range rc.requests {
		if !event.Set || one.Event.Valid && one.Event.V == event.V {
			d.Requests = append(d.Requests, one)
		}
	}
	return d, rc.came, nil
}

// patiently gives a handler the time that show may wait.
func patiently(h httprouter.Handle) httprouter.Handle {
	return func(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
		extend(w, receiverMostPatient)
		h(w, r, p)
	}
}

// receive answers POST /dev/receiver/{id}, the target itself: it takes whatever
// is sent. The request is there to be shown before its answer is.
func (rs *Receivers) receive(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
	var body strings.Builder
	_, err := io.CopyN(&body, r.Body, receiverBody+1)
	if err != nil && !errors.Is(err, io.EOF) {
		panic(http.ErrAbortHandler) // a sender that broke off has sent nothing
	}
	answer, ok := rs.record(p.ByName("id"), flat(r.Header), body.String())
	if !ok {
		rs.k.AnswerError(w, errNoReceiver)
		return
	}
	if linger(w, r, rs.done, answer.delay) != timePassed || answer.status == 0 {
		panic(http.ErrAbortHandler)
	}
	for name, value := range answer.headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(answer.status)
}

// record keeps a request, and says how it is to be answered.
func (rs *Receivers) record(id string, headers map[string]string, body string) (receiverAnswer, bool) {
	var envelope struct {
		Event   *string `json:"event"`
		EventID *string `json:"event_id"`
	}
	one := &received{At: store.TimeOf(rs.now()), Headers: headers, Body: body, size: 512 + len(body)}
	if len(body) > receiverBody {
		one.Body, one.Truncated = strings.Clone(body[:receiverBody]), true
	}
	json.Unmarshal([]byte(one.Body), &envelope) // what is no envelope names no event
	one.Event, one.EventID = named(envelope.Event), named(envelope.EventID)
	for name, value := range headers {
		one.size += len(name) + len(value)
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rc := rs.all[id]
	if rc == nil {
		return receiverAnswer{}, false
	}
	rs.seq++
	one.seq = rs.seq
	rc.requests = append(rc.requests, one)
	rs.size += one.size
	if len(rc.requests) > receiverRequests {
		rs.drop(rc)
	}
	for rs.size > receiversBytes {
		rs.drop(rs.oldest())
	}
	close(rc.came)
	rc.came = make(chan struct{})
	return rc.answer, true
}

func named(s *string) store.Null[string] {
	if s == nil {
		return store.Null[string]{}
	}
	return store.Some(*s)
}

// drop lets go of a receiver's oldest request.
func (rs *Receivers) drop(rc *receiver) {
	rs.size -= rc.requests[0].size
	rc.requests[0] = nil // the array lives on
	rc.requests = rc.requests[1:]
}

// oldest is the receiver that has the oldest request of all.
func (rs *Receivers) oldest() (first *receiver) {
	for _, rc := range rs.all {
		if len(rc.requests) > 0 && (first == nil || rc.requests[0].seq < first.requests[0].seq) {
			first = rc
		}
	}
	return first
}
