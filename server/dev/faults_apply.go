package dev

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/web"
	"punchcard/store"
)

// NewFaults returns an empty list of faults. Delays end with ctx, which ends when
// the fixture stops or is reset.
func NewFaults(ctx context.Context, k *kernel.Kernel, apis APIs) *Faults {
	return &Faults{done: ctx.Done(), k: k, apis: apis}
}

// Wrap returns a handler that applies the faults to the requests that next
// answers. It belongs outside the router and inside the journal.
func (f *Faults) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var x *fault
		if kind, depth := f.apis.find(r.URL.Path); kind != "" {
			x = f.next(r.Method, splitPath(r.URL.EscapedPath()), depth)
		}
		if x == nil {
			next.ServeHTTP(w, r)
			return
		}
		if rec := unwrapped[*recording](w); rec != nil {
			rec.entry.Fault = store.Some(x.ID)
		}
		if x.When == faultAfter {
			f.after(w, r, next, x)
		} else {
			f.before(w, r, next, x)
		}
	})
}

// before applies a fault in place of the operation, or delays it.
func (f *Faults) before(w http.ResponseWriter, r *http.Request, next http.Handler, x *fault) {
	r = bufferBody(r)
	switch {
	case !f.delay(w, r, x):
	case x.Status.Valid:
		f.k.ObserveRefused(w, r, int(x.Status.V)) // the routes, which observe the others, do not see it
		f.fail(w, x)
	default:
		next.ServeHTTP(w, r)
	}
}

// after applies a fault when the operation is done: its answer is lost, or comes
// late.
func (f *Faults) after(w http.ResponseWriter, r *http.Request, next http.Handler, x *fault) {
	h := &bufferedWriter{ResponseWriter: w, header: http.Header{}}
	next.ServeHTTP(h, r)
	if rec := unwrapped[*recording](w); rec != nil {
		rec.lost = h.body.Bytes()
	}
	if !f.delay(w, r, x) {
		return
	}
	if !x.Status.Valid {
		h.send()
		return
	}
	for name, values := range h.header { // keep the headers that describe the request and not its outcome
		if name == "X-Request-Id" || name == "Connection" || strings.HasPrefix(strings.ToLower(name), "ratelimit-") {
			w.Header()[name] = values
		}
	}
	f.fail(w, x)
}

// fail answers with the fault, or cuts the connection.
func (f *Faults) fail(w http.ResponseWriter, x *fault) {
	if x.Status.V == 0 {
		panic(http.ErrAbortHandler)
	}
	for name, value := range x.Headers {
		w.Header().Set(name, value)
	}
	if x.ContentType.Valid {
		f.k.RequestID(w)
		w.Header().Set("Content-Type", x.ContentType.V)
		web.Write(w, int(x.Status.V), x.body)
		return
	}
	f.k.AnswerError(
		w,
		&kernel.Error{
			Status:  int(x.Status.V),
			Code:    store.Code(x.Code.V),
			Message: fmt.Sprintf("This is the fault %s, which was asked for with POST /dev/faults.", x.ID),
		},
	)
}

// delay waits for the delay of a fault. It returns false, after it has refused the
// request, if the fixture was reset meanwhile, and ends the handler if the client
// left.
func (f *Faults) delay(w http.ResponseWriter, r *http.Request, x *fault) bool {
	err := sleep(w, r, f.done, x.DelayMS)
	if err == errReset {
		f.k.AnswerError(w, err)
	} else if err != nil {
		panic(http.ErrAbortHandler)
	}
	return err == nil
}

// sleep waits for so many milliseconds of real time. It returns an error if the
// client leaves first, and errReset if done is closed first.
func sleep(w http.ResponseWriter, r *http.Request, done <-chan struct{}, ms int64) error {
	if ms == 0 {
		return nil
	}
	d := time.Duration(ms) * time.Millisecond
	extend(w, d)
	select {
	case <-time.After(d):
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	case <-done:
		return errReset
	}
}

// extend moves the deadline for writing an answer to d and a minute from now. The
// server's own time-out for writing counts from the arrival of the request.
func extend(w http.ResponseWriter, d time.Duration) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d + time.Minute))
}

// bufferBody returns the request with its body in memory, at most one byte more
// than the API accepts; a longer rest stays unread. net/http notices that a client
// leaves only after the body was read.
func bufferBody(r *http.Request) *http.Request {
	var b bytes.Buffer
	io.CopyN(&b, r.Body, kernel.MaxBody+1) // an error comes again after what was read
	r = r.WithContext(r.Context())
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&b, r.Body), r.Body}
	return r
}

// bufferedWriter keeps an answer in memory until send. The API bounds its size.
type bufferedWriter struct {
	http.ResponseWriter
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *bufferedWriter) Unwrap() http.ResponseWriter { return h.ResponseWriter }
func (h *bufferedWriter) Header() http.Header         { return h.header }
func (h *bufferedWriter) Flush()                      {}

func (h *bufferedWriter) WriteHeader(status int) {
	if h.status == 0 && status >= 200 {
		h.status = status
	}
}

func (h *bufferedWriter) Write(b []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.body.Write(b)
}

// send sends the answer.
func (h *bufferedWriter) send() {
	maps.Copy(h.ResponseWriter.Header(), h.header)
	if h.status != 0 {
		h.ResponseWriter.WriteHeader(h.status)
	}
	h.ResponseWriter.Write(h.body.Bytes())
}
