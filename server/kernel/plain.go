package kernel

import (
	"net/http"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/wire"
	"punchcard/store"
)

// Handle adds a route of no face to a router; it is observed as theirs are.
func (k *Kernel) Handle(r *httprouter.Router, method, pattern string, h httprouter.Handle) {
	k.routes = append(k.routes, method+" "+pattern)
	if k.conf.Observe == nil && !k.conf.AccessLog {
		r.Handle(method, pattern, h)
		return
	}
	r.Handle(method, pattern, func(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
		s := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		end := k.observe(w, r, pattern)
		h(s, r, p)
		end(s.status, "")
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (s *statusWriter) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Plain is a route of its own with the API's body rules and error shape but
// no key and no idempotency.
func Plain[B, R any](k *Kernel, status int, fn func(*http.Request, httprouter.Params, B) (R, error)) httprouter.Handle {
	return plain(k, wire.Create, MaxBody, status, fn)
}

// PlainSmall is Plain with bodies of SmallBody at most.
func PlainSmall[B, R any](k *Kernel, status int, fn func(*http.Request, httprouter.Params, B) (R, error)) httprouter.Handle {
	return plain(k, wire.Create, SmallBody, status, fn)
}

// PlainPatch is Plain for a PATCH, where null clears a field.
func PlainPatch[B, R any](k *Kernel, status int, fn func(*http.Request, httprouter.Params, B) (R, error)) httprouter.Handle {
	return plain(k, wire.Patch, MaxBody, status, fn)
}

func plain[B, R any](k *Kernel, mode wire.Mode, limit int64, status int, fn func(*http.Request, httprouter.Params, B) (R, error)) httprouter.Handle {
	return func(w http.ResponseWriter, r *http.Request, p httprouter.Params) {
		id := k.requestID(w)
		shut(w.Header())
		out, err := func() (out R, err error) {
			var raw []byte
			if r.Method == http.MethodPost || r.Method == http.MethodPatch || r.Method == http.MethodPut {
				if raw, err = readBody(w, r, limit); err != nil {
					return out, err
				}
			}
			if err := isJSON(r, raw); err != nil {
				return out, err
			}
			b := new(B)
			details := wire.DecodeBody(raw, b, mode, k.conf.Fields)
			if details = check(*b, k.st.Now(), details); details != nil {
				return out, store.Invalid(details...)
			}
			return fn(r, p, *b)
		}()
		switch {
		case err != nil:
			p := problem(err)
			if p.Status >= 500 {
				k.conf.Log.Error("request failed", "request_id", id, "method", r.Method, "path", r.URL.Path, "error", err)
			}
			k.refuse(w, id, p)
		case status == http.StatusNoContent:
			send(w, status, nil)
		default:
			send(w, status, wire.Append(nil, &out))
		}
	}
}
