package kernel

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/wire"
	"punchcard/store"
)

// Route binds an operation to HTTP.
type Route struct {
	Method string
	Path   string // with parameters such as :id
	Status int    // of a success
	*Operation
}

// RouteOf returns a function that makes routes of a method and a status.
func RouteOf(method string, status int) func(path string, op *Operation) Route {
	return func(path string, op *Operation) Route { return Route{method, path, status, op} }
}

// Router returns a router whose answers all have a request id and whose errors have
// the API's form.
func (k *Kernel) Router() *httprouter.Router {
	r := httprouter.New()
	r.RedirectTrailingSlash, r.RedirectFixedPath, r.HandleOPTIONS = false, false, false
	r.NotFound = http.HandlerFunc(k.refusePath)
	r.MethodNotAllowed = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		methods := strings.Split(h.Get("Allow"), ", ") // of the routes, and OPTIONS, which the router adds
		h.Del("Allow")
		h.Set("Allow", strings.Join(slices.DeleteFunc(methods, func(m string) bool { return m == http.MethodOptions }), ", "))
		k.RefuseRequest(w, r, refuseAs(http.StatusMethodNotAllowed, store.BadRequest, "The path does not take this method; see Allow."))
	})
	r.PanicHandler = func(w http.ResponseWriter, r *http.Request, p any) {
		if p == http.ErrAbortHandler {
			panic(p)
		}
		k.conf.Log.Error("panic in a handler", "method", r.Method, "panic", p, "stack", string(debug.Stack()))
		k.answerRefused(w, r, AsError(errors.New("panic"), StatusOf))
	}
	return r
}

// Mount adds routes to a router, under a prefix and behind a guard. GET routes
// answer HEAD too.
func (k *Kernel) Mount(r *httprouter.Router, prefix string, routes []Route, g Guard) {
	for i := range routes {
		rt := &routes[i]
		pattern := prefix + rt.Path
		k.addRoute(rt.Method, pattern)
		Register(r, rt.Method, pattern, func(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
			status, caller := http.StatusInternalServerError, "" // of a panic
			end := k.observe(w, r, pattern)
			defer func() { end(status, caller) }()
			status, caller = k.serve(w, r, p, rt, g)
		})
	}
}

// MountLater returns a handler that gives requests whose path begins with one of the
// segments to a router of its own, and others to next. mount adds the routes to that
// router on the first such request, so that a server without one, as most in a test
// process are, needs no memory for them.
func (k *Kernel) MountLater(next http.Handler, segments []string, mount func(*httprouter.Router)) http.Handler {
	router := sync.OnceValue(func() *httprouter.Router {
		r := k.Router()
		mount(r)
		return r
	})
	k.later = append(k.later, func() { router() })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if slices.Contains(segments, first) {
			router().ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refusePath answers a request whose path matches no route.
func (k *Kernel) refusePath(w http.ResponseWriter, r *http.Request) {
	k.RefuseRequest(w, r, refuseAs(http.StatusNotFound, store.NotFound, "No such path."))
}

// RefuseRequest answers a request that reaches no route with an error. It is observed like the
// requests that match none.
func (k *Kernel) RefuseRequest(w http.ResponseWriter, r *http.Request, err error) {
	e := k.Report(w, err)
	k.observe(w, r, "")(e.Status, "")
	k.answerRefused(w, r, e)
}

// ObserveRefused observes a request that reached no route and was refused with a status.
func (k *Kernel) ObserveRefused(w http.ResponseWriter, r *http.Request, status int) {
	k.observe(w, r, "")(status, "")
}

// answerRefused answers a request that no route has answered with an error: with a page
// if Config.ErrorPage makes one.
func (k *Kernel) answerRefused(w http.ResponseWriter, r *http.Request, e *Error) {
	if k.conf.ErrorPage != nil && k.conf.ErrorPage(w, r, e) {
		return
	}
	k.sendError(w, e)
}

// RefuseEmptySegments returns a handler that takes a path with an empty segment as one
// that matches no route, on every face.
func (k *Kernel) RefuseEmptySegments(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hasEmptySegment(r.URL) {
			k.refusePath(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// serve answers a request. It checks authentication, then the rate limit, then
// what Invoke checks.
func (k *Kernel) serve(w http.ResponseWriter, r *http.Request, p httprouter.Params, rt *Route, g Guard) (status int, caller string) {
	id := k.RequestID(w)
	in := &request{w: w, r: r, params: p, rt: rt, g: g, maxKey: k.conf.IdempotencyKeyMaxLength}
	c, result, err := k.attempt(in, g)
	for errors.Is(err, store.ErrEpoch) && r.Context().Err() == nil {
		g.Forget()
		c, result, err = k.attempt(in, g)
	}
	if result.Replayed {
		w.Header()["Idempotent-Replayed"] = []string{"true"}
	}
	if err != nil {
		e := AsError(err, g.Status)
		if e.isFault() && !clientLeft(err) {
			k.conf.Log.Error("request failed", "request_id", id, "method", r.Method, "route", rt.Path, "error", err)
		}
		k.sendError(w, e)
		return e.Status, c.ID
	}
	var body []byte
	if rt.Out != nil {
		buffer := takeBuffer()
		defer returnBuffer(buffer)
		*buffer = result.AppendJSON((*buffer)[:0])
		body = *buffer
	}
	send(w, rt.Status, body)
	return rt.Status, c.ID
}

// attempt identifies the caller and invokes the operation.
func (k *Kernel) attempt(in *request, g Guard) (c Caller, result Result, err error) {
	if c, err = g.Identify(in.r); err != nil {
		removeLimitHeaders(in.w.Header()) // an earlier attempt may have set them
		return c, result, err
	}
	if !in.counted {
		in.counted = true
		now := k.st.Now()
		k.uses.note(&c, now)
		in.limited = g.Limit(in.w.Header(), &c, now)
	}
	if in.limited != nil {
		return c, result, k.confirm(&c, in.limited)
	}
	result, err = k.Invoke(in.r.Context(), c, in.rt.Operation, in)
	return c, result, err
}

// request is the Input of a route.
type request struct {
	w       http.ResponseWriter
	r       *http.Request
	params  httprouter.Params
	rt      *Route
	g       Guard
	maxKey  int   // maximum length of an idempotency key, in characters
	counted bool  // the guard's Limit was called
	limited error // what it returned
	body    []byte
	read    bool // body was read
}

func (in *request) Param(name string) string { return undoneEscapes.Replace(in.params.ByName(name)) }

// IdempotencyKey returns the key in the header. With a key it reads the body, which
// is part of what the key stands for.
func (in *request) IdempotencyKey() (*IdempotencyKey, error) {
	v := in.r.Header["Idempotency-Key"]
	if len(v) == 0 {
		return nil, nil
	}
	d := store.Detail{Field: "Idempotency-Key"}
	switch n := len([]rune(v[0])); {
	case len(v) > 1:
		d.Code, d.Message = wire.CodeInvalidValue, "must be sent once"
	case n == 0:
		d.Code, d.Message = wire.CodeTooShort, "must not be empty"
	case n > in.maxKey:
		d.Code, d.Message = wire.CodeTooLong, fmt.Sprintf("must be at most %d characters", in.maxKey)
	default:
		if err := in.readBody(); err != nil {
			return nil, err
		}
		return &IdempotencyKey{
			Value:   v[0],
			Method:  in.r.Method,
			Path:    in.r.URL.EscapedPath(),
			Body:    in.body,
			Success: in.rt.Status,
			Status:  in.g.Status,
		}, nil
	}
	return nil, store.Invalid(d)
}

// readBody reads the body unless it was read. It ignores the body of a DELETE.
func (in *request) readBody() (err error) {
	if !in.read && in.rt.Method != http.MethodDelete {
		if in.body, err = readBody(in.w, in.r, MaxBody); err != nil {
			return err
		}
		in.read = true
	}
	return nil
}

// Decode decodes the body of a write and the query string of a read.
func (in *request) Decode(dst any, mode wire.Mode, lim wire.Limits) ([]store.Detail, error) {
	if in.rt.Writes() {
		if err := in.readBody(); err != nil {
			return nil, err
		}
		if err := checkContentType(in.r, in.body); err != nil {
			return nil, err
		}
		return wire.DecodeBody(in.body, dst, mode, lim), nil
	}
	var values url.Values
	if in.r.URL.RawQuery != "" {
		var err error
		if values, err = url.ParseQuery(in.r.URL.RawQuery); err != nil {
			return nil, store.Invalid(store.Detail{Code: wire.CodeInvalidFormat, Message: "the query string is malformed"})
		}
	}
	return wire.DecodeQuery(values, dst, lim), nil
}
