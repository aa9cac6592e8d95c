package dev

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// maxFaults are the faults that may wait at once.
const maxFaults = 1000

// Faults has requests to the REST and till APIs fail or lag on purpose, so that
// a client's retries can be tested (contract section 8).
type Faults struct {
	done <-chan struct{} // the fixture ends, or is made anew
	k    *kernel.Kernel
	apis APIs

	mu   sync.Mutex
	made int
	list []*fault // in the order in which they were added; each has strikes left
}

// fault is one that waits for its requests. Null means: any method, any path;
// and for status that the request goes through after its delay.
type fault struct {
	ID        string             `json:"id"`
	Method    store.Null[string] `json:"method"`
	Path      store.Null[string] `json:"path"`
	Status    store.Null[int64]  `json:"status"` // 0: the connection is cut
	Code      store.Null[string] `json:"code"`   // null where there is no answer to bear it
	DelayMS   int64              `json:"delay_ms"`
	Count     int64              `json:"count"`
	When      string             `json:"when"`
	Headers   map[string]string  `json:"headers"`
	Remaining int64              `json:"remaining"`

	segments []string `json:"-"` // of Path, unescaped
}

const (
	faultBefore = "before" // instead of the operation
	faultAfter  = "after"  // the operation is done and remembered, its answer is lost
)

type faultBody struct {
	Method  store.Opt[string]            `json:"method" min:"1" max:"16"`
	Path    store.Opt[string]            `json:"path" min:"1" max:"2048"`
	Status  store.Opt[int64]             `json:"status" min:"0" max:"599"`
	Code    store.Opt[string]            `json:"code" min:"1" max:"64" pattern:"^[a-z_]+$"`
	DelayMS store.Opt[int64]             `json:"delay_ms" min:"0" max:"60000"`
	Count   store.Opt[int64]             `json:"count" min:"1" max:"1000000"`
	When    store.Opt[string]            `json:"when" enum:"before,after"`
	Headers store.Opt[map[string]string] `json:"headers" max:"1024"`
}

var methods = []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}

// Check finds what would never strike, and what no answer would bear.
func (b faultBody) Check(store.Time) (details []store.Detail) {
	add := func(field, code, message string) {
		details = append(details, store.Detail{Field: field, Code: code, Message: message})
	}
	if b.Method.Set && !slices.Contains(methods, strings.ToUpper(b.Method.V)) {
		add("method", "invalid_value", "must be one of "+strings.Join(methods, ", "))
	}
	if b.Path.Set && !isPattern(b.Path.V) {
		add("path", "invalid_format", "must begin with / and name segments; * stands for one whole segment, ** at the end for any rest; a query does not belong")
	}
	switch {
	case b.Status.Set && b.Status.V != 0 && b.Status.V < 400:
		add("status", "invalid_value", "must be 0, which cuts the connection, or from 400 to 599")
	case !b.Status.Set && b.DelayMS.Or(0) == 0:
		add("status", "required", "is required where there is no delay_ms")
	}
	if !b.Status.Set || b.Status.V == 0 {
		if b.Code.Set {
			add("code", "not_allowed", "needs a status from 400 to 599: no other fault answers")
		}
		if b.Headers.Set {
			add("headers", "not_allowed", "needs a status from 400 to 599: no other fault answers")
		}
	}
	return append(details, checkHeaders(b.Headers.Or(nil))...)
}

// maxHeaders are the headers that an answer may be given.
const maxHeaders = 20

// framing are the headers that the server writes by itself, or that would break
// the connection.
var framing = []string{"cache-control", "connection", "content-encoding", "content-length", "content-type", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "x-request-id"}

// checkHeaders finds what is wrong with the field headers of a fault or a
// receiver.
func checkHeaders(headers map[string]string) []store.Detail {
	if len(headers) > maxHeaders {
		return []store.Detail{{Field: "headers", Code: "too_many", Message: fmt.Sprintf("must have at most %d entries", maxHeaders)}}
	}
	return wire.ValidateHeaders("headers", headers, func(name string) bool { return slices.Contains(framing, name) || len(name) > 100 },
		"is set by the server, belongs to the connection, or is longer than 100 characters")
}

// isPattern tells whether a path can be matched with.
func isPattern(path string) bool {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#") {
		return false
	}
	segments := split(path)
	for i, s := range segments {
		if _, err := url.PathUnescape(s); err != nil || strings.Contains(s, "*") && s != "*" && (s != "**" || i < len(segments)-1) {
			return false
		}
	}
	return true
}

// split takes a path apart, which begins with a slash.
func split(path string) []string { return strings.Split(path[1:], "/") }

// unescaped are the segments of a path that was checked, or parsed.
func unescaped(path string) []string {
	segments := split(path)
	for i, s := range segments {
		segments[i], _ = url.PathUnescape(s)
	}
	return segments
}

// add answers POST /dev/faults.
func (f *Faults) add(_ *http.Request, _ httprouter.Params, b faultBody) (fault, error) {
	n := &fault{Path: b.Path.Value(), Status: b.Status.Value(), DelayMS: b.DelayMS.Or(0), Count: b.Count.Or(1), When: b.When.Or(faultBefore), Headers: map[string]string{}}
	n.Remaining = n.Count
	if b.Method.Set {
		n.Method = store.Some(strings.ToUpper(b.Method.V))
	}
	if b.Path.Set {
		n.segments = unescaped(b.Path.V)
	}
	if status := int(n.Status.V); status != 0 {
		n.Code = store.Some(b.Code.Or(codeOf(status)))
		for name, value := range b.Headers.V {
			n.Headers[http.CanonicalHeaderKey(name)] = value
		}
		if _, ok := n.Headers["Retry-After"]; !ok && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
			n.Headers["Retry-After"] = "1"
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.list) >= maxFaults {
		return fault{}, &store.Error{Code: store.Unprocessable, Message: fmt.Sprintf("%d faults wait already, which is all there may be; DELETE /dev/faults clears them.", maxFaults)}
	}
	f.made++
	n.ID = fmt.Sprintf("flt_%d", f.made)
	f.list = append(f.list, n)
	return *n, nil
}

// codeOf is the error code that the API's own answers of a status have, where
// several do the most general one.
func codeOf(status int) string {
	known := map[int]store.Code{http.StatusUnauthorized: store.Unauthenticated, http.StatusPaymentRequired: store.SubscriptionSuspended, http.StatusForbidden: store.Unauthorized,
		http.StatusNotFound: store.NotFound, http.StatusConflict: store.Conflict, http.StatusGone: store.Gone, http.StatusUnprocessableEntity: store.Unprocessable, http.StatusTooManyRequests: store.RateLimited}
	switch code, ok := known[status]; {
	case ok:
		return string(code)
	case status < 500:
		return string(store.BadRequest)
	}
	return string(store.InternalError)
}

type faultsAnswer struct {
	Data []fault `json:"data"`
}

// remaining answers GET /dev/faults: those that have strikes left, the next one
// first.
func (f *Faults) remaining(*http.Request, httprouter.Params, struct{}) (a faultsAnswer, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.list {
		a.Data = append(a.Data, *x)
	}
	return a, nil
}

// clear answers DELETE /dev/faults. A request that lags already goes on lagging.
func (f *Faults) clear(*http.Request, httprouter.Params, struct{}) (kernel.None, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = nil
	return kernel.None{}, nil
}

// take has the first fault that matches a request strike it; nil: none does. The
// path is in segments, of which depth are the prefix of its API.
func (f *Faults) take(method string, path []string, depth int) *fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.list, func(x *fault) bool {
		return (!x.Method.Valid || x.Method.V == method) && (!x.Path.Valid || matches(x.segments, path) || matches(x.segments, path[min(depth, len(path)):]))
	})
	if i < 0 {
		return nil
	}
	struck := f.list[i]
	if struck.Remaining--; struck.Remaining == 0 {
		f.list = slices.Delete(f.list, i, i+1)
	}
	return struck
}

func matches(pattern, path []string) bool {
	for i, p := range pattern {
		switch {
		case p == "**" && i == len(pattern)-1:
			return true
		case i >= len(path), p != path[i] && (p != "*" || path[i] == ""):
			return false
		}
	}
	return len(pattern) == len(path)
}
