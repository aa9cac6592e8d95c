package kernel

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/julienschmidt/httprouter"

	"punchcard/store"
)

// requestID gives the answer its id, which is always the server's own and never
// the caller's, and returns it.
func (k *Kernel) requestID(w http.ResponseWriter) string {
	h := w.Header()
	if have := h["X-Request-Id"]; have != nil {
		return have[0]
	}
	id := k.st.ID(store.KindRequest, int64(k.serial.Add(1)&^(1<<63)))
	h["X-Request-Id"] = []string{id}
	return id
}

// buffers are for answers, which nobody holds on to: net/http has written or
// copied what it was given before Write returns, HTTP/2 included. BenchmarkPlainList
// and BenchmarkLookup of server/app show what they save.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxBuffer is the size of the largest buffer that is kept.
const maxBuffer = 256 << 10

func takeBuffer() *[]byte { return buffers.Get().(*[]byte) }

func returnBuffer(b *[]byte) {
	if cap(*b) <= maxBuffer {
		buffers.Put(b)
	}
}

// send writes a JSON answer. Every JSON answer goes through here.
func send(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Cache-Control"], h["X-Content-Type-Options"] = noStore, noSniff
	if len(body) > 0 {
		h["Content-Type"] = jsonType
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(status)
	w.Write(body)
}

// sendError writes a refusal, whose status is set.
func (k *Kernel) sendError(w http.ResponseWriter, e *Error) {
	if e.Code == store.Unauthenticated {
		w.Header()["Www-Authenticate"] = []string{"Bearer"}
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	setSecurityHeaders(w.Header())
	send(w, e.Status, e.render(k.requestID(w)))
}

// AnswerError answers a request with an error, as JSON.
func (k *Kernel) AnswerError(w http.ResponseWriter, err error) { k.sendError(w, k.Report(w, err)) }

// Report returns what the caller is told of an error, and logs a server error
// under the request's id. An [Error] is what the face chose to answer and is not
// logged.
func (k *Kernel) Report(w http.ResponseWriter, err error) *Error {
	id := k.requestID(w)
	e := AsError(err, StatusOf)
	if _, chosen := err.(*Error); e.Status >= 500 && !chosen {
		k.conf.Log.Error("request failed", "request_id", id, "error", err)
	}
	return e
}

// Send answers a request of no route with JSON.
func (k *Kernel) Send(w http.ResponseWriter, status int, body []byte) {
	k.requestID(w)
	setSecurityHeaders(w.Header())
	send(w, status, body)
}

// HTML answers with a page that has no script, and of style only the elements
// whose sources are given (see StyleSource).
func (k *Kernel) HTML(w http.ResponseWriter, status int, body []byte, styles ...string) {
	k.requestID(w)
	setPageHeaders(w.Header(), "text/html; charset=utf-8", styles...)
	w.Header()["Cache-Control"] = noStore
	w.WriteHeader(status)
	w.Write(body)
}

// SeeOther sends the browser that posted a form to a page of the server.
func (k *Kernel) SeeOther(w http.ResponseWriter, r *http.Request, path string) {
	k.requestID(w)
	setPageHeaders(w.Header(), "text/html; charset=utf-8")
	w.Header()["Cache-Control"] = noStore
	http.Redirect(w, r, path, http.StatusSeeOther)
}

// Static serves bytes that never change while the process lives. They are made
// when they are first asked for. A page may have a style element, and no script.
func (k *Kernel) Static(contentType string, make func() []byte) httprouter.Handle {
	type made struct {
		body   []byte
		styles []string
	}
	once := sync.OnceValue(func() (m made) {
		m.body = make()
		if strings.HasPrefix(contentType, "text/html") {
			m.styles = []string{StyleSource(string(m.body))}
		}
		return m
	})
	return func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
		k.requestID(w)
		m := once()
		setPageHeaders(w.Header(), contentType, m.styles...)
		w.Write(m.body)
	}
}
