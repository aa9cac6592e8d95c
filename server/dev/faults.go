package dev

import (
	"cmp"
	"encoding/base64"
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

// maxFaults is the number of faults that may be set at once.
const maxFaults = 1000

// Faults makes requests to the REST and till APIs fail or take long, so that a
// client's retries can be tested.
type Faults struct {
	done <-chan struct{} // closed when the fixture stops or is reset
	k    *kernel.Kernel
	apis APIs

	mu    sync.Mutex
	count int      // of faults set since the start, for ids
	list  []*fault // in the order in which they were added
}

// fault is applied to the next requests that match it. A null method or path
// matches any; with a null status the request is served after the delay.
type fault struct {
	ID        string             `json:"id"`
	Method    store.Null[string] `json:"method"`
	Path      store.Null[string] `json:"path"`
	Status    store.Null[int64]  `json:"status" doc:"0 cuts the connection; null: none is answered."`
	Code      store.Null[string] `json:"code" doc:"Of the error; null if the fault answers none."`
	DelayMS   int64              `json:"delay_ms"`
	Count     int64              `json:"count"`
	When      string             `json:"when"`
	Headers   map[string]string  `json:"headers"`
	Remaining int64              `json:"remaining" doc:"Requests that it is still applied to."`
	// UntilCleared is true for a fault that is applied to all requests; its Count and
	// Remaining are 0.
	UntilCleared bool               `json:"until_cleared"`
	ContentType  store.Null[string] `json:"content_type"` // of a body of its own; else null

	body     []byte   `json:"-"` // of the answer, if ContentType is not null
	segments []string `json:"-"` // of Path, unescaped
}

// When a fault is applied.
const (
	faultBefore = "before" // in place of the operation
	faultAfter  = "after"  // after the operation, whose answer is lost
)

// faultBody is the body of POST /dev/faults.
type faultBody struct {
	Method  store.Opt[string]            `json:"method" min:"1" max:"16" doc:"Any if absent."`
	Path    store.Opt[string]            `json:"path" min:"1" max:"2048" doc:"The path, whole or below its API; * stands for one segment, ** at the end for any rest. Any if absent."`
	Status  store.Opt[int64]             `json:"status" min:"0" max:"599" doc:"0 cuts the connection; absent: the request is served after delay_ms. Else from 400, with a body from 200."`
	Code    store.Opt[string]            `json:"code" min:"1" max:"64" pattern:"^[a-z_]+$" words:"must be 1 to 64 lower-case letters from a to z and underscores" doc:"Of the error; by default the usual one for the status."`
	DelayMS store.Opt[int64]             `json:"delay_ms" min:"0" max:"60000" doc:"Real time."`
	Count   store.Opt[int64]             `json:"count" min:"1" max:"1000000" doc:"Requests that it is applied to; default 1."`
	When    store.Opt[string]            `json:"when" enum:"before,after" doc:"after: the operation commits, and its answer is lost. Default before."`
	Headers store.Opt[map[string]string] `json:"headers" max:"1024" doc:"Of the answer. 429 and 503 have Retry-After: 1 unless told otherwise."`

	UntilCleared store.Opt[bool]   `json:"until_cleared" doc:"Applied to all requests until the faults are removed, in place of count."`
	Body         store.Opt[string] `json:"body" max:"65536" doc:"Text that is answered in place of an error."`
	BodyBase64   store.Opt[string] `json:"body_base64" max:"87384" doc:"The same, for any bytes."` // of as many bytes
	ContentType  store.Opt[string] `json:"content_type" min:"1" max:"200" pattern:"^[ -~]*$" words:"must be 1 to 200 visible ASCII characters" doc:"Of body; default text/html; charset=utf-8."`
}

// answers reports whether the fault has a body of its own, in place of an error's.
func (b *faultBody) answers() bool { return b.Body.Set || b.BodyBase64.Set }

var methods = []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}

// Check returns what is wrong with a fault: what no request would match, and what
// no answer could have.
func (b faultBody) Check(store.Time) []store.Detail {
	wrong := checkMatch(b.Method, b.Path)
	lowest := int64(400)
	if b.answers() {
		lowest = 200
	}
	switch {
	case b.Status.V != 0 && b.Status.V < lowest:
		wrong.add("status", "invalid_value", "must be 0, which cuts the connection, or from 400 to 599; with a body from 200")
	case b.answers() && (b.Status.V == http.StatusNoContent || b.Status.V == http.StatusNotModified):
		wrong.add("status", "invalid_value", "must not be 204 or 304 beside a body: such answers have none")
	case !b.Status.Set && b.DelayMS.V == 0:
		wrong.add("status", "required", "is required where there is no delay_ms")
	}
	if b.Status.V == 0 {
		if b.Code.Set {
			wrong.add("code", "not_allowed", "needs a status from 400 to 599: no other fault answers")
		}
		if b.Headers.Set {
			wrong.add("headers", "not_allowed", "needs a status from 400 to 599: no other fault answers")
		}
		if b.answers() {
			wrong.add(b.bodyField(), "not_allowed", "needs a status: no other fault answers")
		}
	}
	b.checkBody(&wrong)
	if b.Count.Set && b.UntilCleared.V {
		wrong.add("count", wire.CodeMutuallyExclusive, "must not be given beside until_cleared")
	}
	return append(wrong, checkHeaders(b.Headers.V)...)
}

// checkMatch returns what is wrong with a method and the pattern of a path.
func checkMatch(method, path store.Opt[string]) (wrong problems) {
	if method.Set && !slices.Contains(methods, strings.ToUpper(method.V)) {
		wrong.add("method", "invalid_value", "must be one of "+strings.Join(methods, ", "))
	}
	if path.Set && !isPattern(path.V) {
		wrong.add("path", "invalid_format", "must begin with / and name segments; "+
			"* stands for one whole segment, ** at the end for any rest; a query does not belong")
	}
	return wrong
}

// bodyField returns the name of the field with the body.
func (b *faultBody) bodyField() string {
	if b.Body.Set {
		return "body"
	}
	return "body_base64"
}

// checkBody adds what is wrong with the body of an answer.
func (b *faultBody) checkBody(wrong *problems) {
	if _, err := base64.StdEncoding.DecodeString(b.BodyBase64.V); err != nil {
		wrong.add("body_base64", "invalid_format", "must be base64 of the standard alphabet, with padding")
	}
	if b.Body.Set && b.BodyBase64.Set {
		wrong.add("body", wire.CodeMutuallyExclusive, "must not be given beside body_base64")
	}
	if b.answers() && b.Code.Set {
		wrong.add("code", wire.CodeMutuallyExclusive, "must not be given beside a body, which takes the place of the error")
	}
	if b.ContentType.Set && !b.answers() {
		wrong.add("content_type", "not_allowed", "needs body or body_base64: errors are JSON")
	}
}

// maxHeaders is the number of headers that a fault or a receiver may set.
const maxHeaders = 20

// reservedHeaders are those that the server sets itself, or that would break the
// connection.
var reservedHeaders = strings.Fields(`
	cache-control connection content-encoding content-length content-type keep-alive te trailer transfer-encoding upgrade x-request-id
`)

// checkHeaders returns what is wrong with the headers of a fault or a receiver.
func checkHeaders(headers map[string]string) []store.Detail {
	if len(headers) > maxHeaders {
		return []store.Detail{{Field: "headers", Code: "too_many", Message: fmt.Sprintf("must have at most %d entries", maxHeaders)}}
	}
	return wire.ValidateHeaders(
		"headers",
		headers,
		func(name string) bool { return slices.Contains(reservedHeaders, name) || len(name) > 100 },
		"is set by the server, belongs to the connection, or is longer than 100 characters",
	)
}

// isPattern reports whether path is a valid pattern.
func isPattern(path string) bool {
	if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#") {
		return false
	}
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		if _, err := url.PathUnescape(s); err != nil || strings.Contains(s, "*") && s != "*" && (s != "**" || i < len(segments)-1) {
			return false
		}
	}
	return true
}

// splitPath returns the unescaped segments of a path, which has only valid escapes.
func splitPath(path string) []string {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, s := range segments {
		segments[i], _ = url.PathUnescape(s)
	}
	return segments
}

// add answers POST /dev/faults.
func (f *Faults) add(_ *http.Request, _ httprouter.Params, b faultBody) (fault, error) {
	n := &fault{
		Path:     b.Path.Value(),
		Status:   b.Status.Value(),
		DelayMS:  b.DelayMS.V,
		Count:    b.Count.Or(1),
		When:     b.When.Or(faultBefore),
		Headers:  map[string]string{},
		segments: splitPath(b.Path.V),
	}
	if b.UntilCleared.V {
		n.UntilCleared, n.Count = true, 0
	}
	n.Remaining = n.Count
	if b.Method.Set {
		n.Method = store.Some(strings.ToUpper(b.Method.V))
	}
	if status := int(n.Status.V); status != 0 {
		if b.answers() {
			n.ContentType, n.body = store.Some(b.ContentType.Or("text/html; charset=utf-8")), []byte(b.Body.V)
			if b.BodyBase64.Set {
				n.body, _ = base64.StdEncoding.DecodeString(b.BodyBase64.V) // checked
			}
		} else {
			n.Code = store.Some(b.Code.Or(defaultCode(status)))
		}
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
		return fault{}, kernel.Refuse(store.Unprocessable,
			fmt.Sprintf("%d faults wait already, which is all there may be; DELETE /dev/faults clears them.", maxFaults))
	}
	f.count++
	n.ID = fmt.Sprintf("flt_%d", f.count)
	f.list = append(f.list, n)
	return *n, nil
}

// defaultCodes are the error codes of the APIs by status, the most general one
// where a status has several.
var defaultCodes = map[int]store.Code{
	http.StatusUnauthorized:        store.Unauthenticated,
	http.StatusPaymentRequired:     store.SubscriptionSuspended,
	http.StatusForbidden:           store.Unauthorized,
	http.StatusNotFound:            store.NotFound,
	http.StatusConflict:            store.Conflict,
	http.StatusGone:                store.Gone,
	http.StatusUnprocessableEntity: store.Unprocessable,
	http.StatusTooManyRequests:     store.RateLimited,
}

// defaultCode returns the error code of a fault that names none.
func defaultCode(status int) string {
	general := store.BadRequest
	if status >= 500 {
		general = store.InternalError
	}
	return string(cmp.Or(defaultCodes[status], general))
}

type faultsAnswer struct {
	Data []fault `json:"data"`
}

// show answers GET /dev/faults with the faults that are still to be applied, in the
// order in which they are tried.
func (f *Faults) show(*http.Request, httprouter.Params, struct{}) (a faultsAnswer, _ error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.list {
		a.Data = append(a.Data, *x)
	}
	return a, nil
}

// clear answers DELETE /dev/faults. It does not affect requests that a fault delays
// already.
func (f *Faults) clear(*http.Request, httprouter.Params, struct{}) (kernel.None, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = nil
	return kernel.None{}, nil
}

// next returns the first fault that matches a request, and counts it as applied
// once more; nil if none matches. The path is given in segments, the first depth
// of which are the prefix of its API.
func (f *Faults) next(method string, path []string, depth int) *fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.list, func(x *fault) bool {
		return (!x.Method.Valid || x.Method.V == method) &&
			(!x.Path.Valid || matches(x.segments, path) || matches(x.segments, path[min(depth, len(path)):]))
	})
	if i < 0 {
		return nil
	}
	x := f.list[i]
	if x.UntilCleared {
		return x
	}
	if x.Remaining--; x.Remaining == 0 {
		f.list = slices.Delete(f.list, i, i+1)
	}
	return x
}

// matches reports whether a path matches a pattern: * stands for one segment that
// is not empty, ** at the end for any number of segments.
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
