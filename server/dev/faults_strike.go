package dev

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/store"
)

// NewFaults makes an empty list of faults. What waits lets go when ctx ends,
// which is when the fixture stops or is reset.
func NewFaults(ctx context.Context, k *kernel.Kernel, apis APIs) *Faults {
	return &Faults{done: ctx.Done(), k: k, apis: apis}
}

// Wrap has the faults strike the requests that next would answer. It belongs
// outside the router and inside the journal.
func (f *Faults) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, depth := f.apis.of(r.URL.Path)
		if kind == "" {
			next.ServeHTTP(w, r)
			return
		}
		x := f.take(r.Method, unescaped(r.URL.EscapedPath()), depth)
		if x == nil {
			next.ServeHTTP(w, r)
			return
		}
		if rec := recordingOf(w); rec != nil {
			rec.entry.Fault = store.Some(x.ID)
		}
		if x.When == faultAfter {
			f.after(w, r, next, x)
		} else {
			f.before(w, r, next, x)
		}
	})
}

// before strikes instead of the operation, or delays it.
func (f *Faults) before(w http.ResponseWriter, r *http.Request, next http.Handler, x *fault) {
	r = read(r)
	switch {
	case !f.lag(w, r, x):
	case x.Status.Valid:
		f.strike(w, x)
	default:
		next.ServeHTTP(w, r)
	}
}

// after strikes when the operation is done: its answer is lost, or comes late.
func (f *Faults) after(w http.ResponseWriter, r *http.Request, next http.Handler, x *fault) {
	h := &held{ResponseWriter: w, header: http.Header{}}
	next.ServeHTTP(h, r)
	if !f.lag(w, r, x) {
		return
	}
	if !x.Status.Valid {
		h.release()
		return
	}
	for name, values := range h.header { // what tells of the request and not of its outcome
		if name == "X-Request-Id" || name == "Connection" || strings.HasPrefix(strings.ToLower(name), "ratelimit-") {
			w.Header()[name] = values
		}
	}
	f.strike(w, x)
}

// strike answers with the fault, or cuts the connection.
func (f *Faults) strike(w http.ResponseWriter, x *fault) {
	if x.Status.V == 0 {
		panic(http.ErrAbortHandler)
	}
	for name, value := range x.Headers {
		w.Header().Set(name, value)
	}
	f.k.AnswerError(w, &kernel.Error{Status: int(x.Status.V), Code: store.Code(x.Code.V), Message: fmt.Sprintf("This is the fault %s, which was asked for with POST /dev/faults.", x.ID)})
}

// lag waits as long as a fault says. It tells whether to go on: not when the
// fixture is reset, nor when the client left, for whom nothing is done.
func (f *Faults) lag(w http.ResponseWriter, r *http.Request, x *fault) bool {
	switch linger(w, r, f.done, time.Duration(x.DelayMS)*time.Millisecond) {
	case clientLeft:
		panic(http.ErrAbortHandler)
	case fixtureEnded:
		f.k.AnswerError(w, errReset)
		return false
	}
	return true
}

// How a wait ended.
type ending int

const (
	timePassed ending = iota
	clientLeft
	fixtureEnded
)

// linger waits for d of real time.
func linger(w http.ResponseWriter, r *http.Request, done <-chan struct{}, d time.Duration) ending {
	if d == 0 {
		return timePassed
	}
	extend(w, d)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return timePassed
	case <-r.Context().Done():
		return clientLeft
	case <-done:
		return fixtureEnded
	}
}

// extend lets an answer take d longer than the server's time-out for writing
// allows, which counts from the request's arrival.
func extend(w http.ResponseWriter, d time.Duration) {
	const rest = time.Minute // to write the answer in
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d + rest))
}

// read takes a request's body off the connection, which is only then watched for
// the client's leaving. What is longer than the API takes stays where it is.
func read(r *http.Request) *http.Request {
	var b bytes.Buffer
	_, err := io.CopyN(&b, r.Body, kernel.MaxBody+1)
	rest := io.Reader(r.Body)
	if err != nil {
		rest = failing{err}
	}
	r = r.WithContext(r.Context())
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&b, rest), r.Body}
	return r
}

// failing gives an error, or io.EOF, to whoever reads it.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// held is an answer that is not sent yet. Its size is the API's to bound.
type held struct {
	http.ResponseWriter
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *held) Unwrap() http.ResponseWriter { return h.ResponseWriter }
func (h *held) Header() http.Header         { return h.header }
func (h *held) Flush()                      {}
func (h *held) FlushError() error           { return nil }

func (h *held) WriteHeader(status int) {
	if h.status == 0 && status >= 200 {
		h.status = status
	}
}

func (h *held) Write(b []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.body.Write(b)
}

// release sends it.
func (h *held) release() {
	out := h.ResponseWriter.Header()
	for name, values := range h.header {
		out[name] = values
	}
	if h.status != 0 {
		h.ResponseWriter.WriteHeader(h.status)
	}
	h.ResponseWriter.Write(h.body.Bytes())
}
