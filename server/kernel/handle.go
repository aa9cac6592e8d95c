package kernel

import (
	"cmp"
	"net/http"
	"reflect"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/wire"
	"punchcard/store"
)

// Handle adds a route without an operation. Its requests are observed like those
// of other routes. A GET route answers HEAD too.
func (k *Kernel) Handle(r *httprouter.Router, method, pattern string, h httprouter.Handle) {
	k.addRoute(method, pattern)
	Register(r, method, pattern, k.Observed(pattern, h))
}

// Observed returns a handler of a route whose requests are observed like those of other
// routes.
func (k *Kernel) Observed(pattern string, h httprouter.Handle) httprouter.Handle {
	if k.conf.Observe == nil && !k.conf.AccessLog {
		return h
	}
	return func(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
		s, otherwise := &StatusWriter{ResponseWriter: w}, http.StatusInternalServerError // of a panic
		end := k.observe(w, r, pattern)
		defer func() { end(cmp.Or(s.Status, otherwise), "") }()
		h(s, r, p)
		otherwise = http.StatusOK
	}
}

// Register adds a handler to a router: that of GET for HEAD too, to which net/http
// sends the headers of the answer alone. Every route is added by it.
func Register(r *httprouter.Router, method, pattern string, h httprouter.Handle) {
	r.Handle(method, pattern, h)
	if method == http.MethodGet {
		r.Handle(http.MethodHead, pattern, h)
	}
}

// StatusWriter is an http.ResponseWriter that keeps the status of an answer.
type StatusWriter struct {
	http.ResponseWriter
	Status int // 0 until WriteHeader is called
}

// WriteHeader keeps the status, unless it is informational.
func (s *StatusWriter) WriteHeader(status int) {
	if s.Status == 0 && status >= 200 {
		s.Status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap supports http.ResponseController.
func (s *StatusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Handler handles requests by the API's rules for bodies and errors, but without a
// caller and an idempotency key. It has no type parameters, since the binary would have a copy
// of its methods for each type.
type Handler struct {
	Status int          // of a success; the answer to a 204 is not sent
	Mode   wire.Mode    // meaning of null and absent fields
	Limit  int64        // maximum size of the body in bytes; 0: MaxBody
	In     reflect.Type // the struct of the body, or of a GET's query
	Do     func(*http.Request, httprouter.Params, any) ([]byte, error)
}

// HandlerOf returns the handler that answers with what do returns for a body of the type B.
func HandlerOf[B, R any](status int, limit int64, do func(*http.Request, httprouter.Params, B) (R, error)) Handler {
	return Handler{Status: status, Limit: limit, In: reflect.TypeFor[B](), Do: Encoded(do)}
}

// Encoded returns a function that calls do with a value of the type B and returns its answer as JSON.
func Encoded[B, R any](
	do func(*http.Request, httprouter.Params, B) (R, error),
) func(*http.Request, httprouter.Params, any) ([]byte, error) {
	return func(r *http.Request, p httprouter.Params, in any) ([]byte, error) {
		out, err := do(r, p, in.(B))
		if err != nil {
			return nil, err
		}
		return wire.Append(nil, &out), nil
	}
}

// Handle returns the handler function.
func (h Handler) Handle(k *Kernel) httprouter.Handle {
	h.Limit = cmp.Or(h.Limit, MaxBody)
	return func(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
		k.RequestID(w)
		setSecurityHeaders(w.Header())
		body, err := h.answer(k, w, r, p)
		switch {
		case err != nil:
			k.AnswerError(w, err)
		case h.Status == http.StatusNoContent:
			send(w, h.Status, nil)
		default:
			send(w, h.Status, body)
		}
	}
}

// answer decodes and validates the body or the query and calls Do.
func (h Handler) answer(k *Kernel, w http.ResponseWriter, r *http.Request, p httprouter.Params) (out []byte, err error) {
	var raw []byte
	if r.Method == http.MethodPost || r.Method == http.MethodPatch || r.Method == http.MethodPut ||
		r.Method == http.MethodDelete && h.In.NumField() > 0 {
		if raw, err = readBody(w, r, h.Limit); err != nil {
			return nil, err
		}
	}
	if err := checkContentType(r, raw); err != nil {
		return nil, err
	}
	fields := reflect.New(h.In)
	var details []store.Detail
	if r.Method == http.MethodGet {
		details = wire.DecodeQuery(r.URL.Query(), fields.Interface(), k.conf.Fields)
	} else {
		details = wire.DecodeBody(raw, fields.Interface(), h.Mode, k.conf.Fields)
	}
	in := fields.Elem().Interface()
	if c, ok := in.(Checker); ok {
		details = wire.Join(details, c.Check(k.st.Now())...)
	}
	if details != nil {
		return nil, store.Invalid(details...)
	}
	return h.Do(r, p, in)
}
