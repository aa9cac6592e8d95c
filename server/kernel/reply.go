package kernel

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/static"
	"punchcard/store"
)

// RequestID returns the request id of an answer, and sets its header on the first
// call. It never uses an id that the caller sent.
func (k *Kernel) RequestID(w http.ResponseWriter) string {
	h := w.Header()
	if v := h["X-Request-Id"]; v != nil {
		return v[0]
	}
	id := k.st.ID(store.KindRequest, int64(k.requests.Add(1)&^(1<<63)))
	h["X-Request-Id"] = []string{id}
	return id
}

// buffers holds buffers for answers. They can be reused, since net/http does not
// keep what was passed to Write, not even over HTTP/2. BenchmarkList and
// BenchmarkLookup of server/app show the effect.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxBuffer is the capacity of the largest buffer that is reused, in bytes.
const maxBuffer = 256 << 10

func takeBuffer() *[]byte { return buffers.Get().(*[]byte) }

func returnBuffer(b *[]byte) {
	if cap(*b) <= maxBuffer {
		buffers.Put(b)
	}
}

// send writes a JSON answer. Every JSON answer is written by it.
func send(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Cache-Control"], h["X-Content-Type-Options"] = noStore, noSniff
	if len(body) > 0 {
		h["Content-Type"] = jsonType
		setLength(h, body)
	}
	w.WriteHeader(status)
	w.Write(body)
}

// setLength sets the length of a body, which net/http would not know for HEAD.
func setLength(h http.Header, body []byte) { h["Content-Length"] = []string{strconv.Itoa(len(body))} }

// sendError writes an error whose Status is set.
func (k *Kernel) sendError(w http.ResponseWriter, e *Error) {
	if e.Code == store.Unauthenticated {
		w.Header()["Www-Authenticate"] = []string{"Bearer"}
	}
	e.SetRetryAfter(w.Header())
	setSecurityHeaders(w.Header())
	send(w, e.Status, e.render(k.RequestID(w)))
}

// SetRetryAfter sets the header that says when a request may be repeated, if the error does.
func (e *Error) SetRetryAfter(h http.Header) {
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
}

// RedirectMoved leads the request for a page of a shop that has moved away to the same page there. It
// returns the error to answer otherwise. Where the host of the shop has moved with it, requests still come
// here until the name leads to the new server; they may be tried again.
func RedirectMoved(w http.ResponseWriter, r *http.Request, err error) error {
	e := AsError(err, StatusOf)
	if e.MovedTo == "" {
		return err
	}
	if to, _ := url.Parse(e.MovedTo); to == nil || strings.EqualFold(to.Host, r.Host) {
		return store.Closing{State: store.ShopMoving}.Refuse(true)
	}
	w.Header()["Cache-Control"] = noStore
	http.Redirect(w, r, e.MovedTo+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	return nil
}

// AnswerError answers a request with an error, as JSON.
func (k *Kernel) AnswerError(w http.ResponseWriter, err error) { k.sendError(w, k.Report(w, err)) }

// Report returns what the caller is told of an error, and logs a server error
// under the request's id. An [Error] is what the face chose to answer and is not
// logged.
func (k *Kernel) Report(w http.ResponseWriter, err error) *Error {
	id := k.RequestID(w)
	e := AsError(err, StatusOf)
	if _, chosen := err.(*Error); e.isFault() && !chosen && !clientLeft(err) {
		k.conf.Log.Error("request failed", "request_id", id, "error", err)
	}
	return e
}

// clientLeft reports whether a request failed since its client left, which is no fault. A face calls an operation
// again after store.ErrEpoch as long as the client is there.
func clientLeft(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, store.ErrEpoch)
}

// Send answers a request that no [Route] handles with JSON.
func (k *Kernel) Send(w http.ResponseWriter, status int, body []byte) {
	k.RequestID(w)
	setSecurityHeaders(w.Header())
	send(w, status, body)
}

// Picture answers with a picture whose path changes with its bytes, so that browsers keep
// it for a year.
func (k *Kernel) Picture(w http.ResponseWriter, contentType string, body []byte) {
	k.RequestID(w)
	h := w.Header()
	setSecurityHeaders(h)
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	setLength(h, body)
	w.WriteHeader(http.StatusOK)
	w.Write(body)
}

// Redirect answers with a redirect to a path or a URL. Browsers load nothing for the answer.
func (k *Kernel) Redirect(w http.ResponseWriter, status int, to string) {
	k.RequestID(w)
	h := w.Header()
	setSecurityHeaders(h)
	h.Set("Location", to)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h["Cache-Control"] = noStore
	setLength(h, nil)
	w.WriteHeader(status)
}

// Static returns a handler that serves the bytes which make returns, compressed if the
// client accepts that. It calls make once, with the first request. An HTML page may have
// one style element and no script.
func (k *Kernel) Static(contentType string, make func() []byte) httprouter.Handle {
	content := static.New(make)
	policy := sync.OnceValue(func() string {
		if strings.HasPrefix(contentType, "text/html") {
			return pagePolicy + "; style-src " + styleSource(string(content.Body()))
		}
		return closedPolicy
	})
	return func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		k.RequestID(w)
		setSecurityHeaders(w.Header())
		w.Header().Set("Content-Security-Policy", policy())
		w.Header().Set("Content-Type", contentType)
		content.ServeHTTP(w, r)
	}
}
