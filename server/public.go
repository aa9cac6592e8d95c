package server

import (
	"net/http"

	"github.com/julienschmidt/httprouter"

	"punchcard/store"
)

// Public is what is served outside the API's prefix, without a key (contract
// section 3).
type Public struct {
	Document []byte // OpenAPI
	Docs     []byte // HTML
	Pricing  []byte // JSON; nil: 404
}

// MountPublic serves p, /healthz (the process is up) and /readyz (the database
// takes writes).
func (k *Kernel) MountPublic(r *httprouter.Router, p Public) {
	r.GET("/openapi.json", k.static("application/json", p.Document))
	r.GET("/docs", k.static("text/html; charset=utf-8", p.Docs))
	if p.Pricing != nil {
		r.GET("/pricing", k.static("application/json", p.Pricing))
	}
	r.GET("/healthz", k.static("application/json", []byte(`{"status":"ok"}`)))
	r.GET("/readyz", func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		id := k.requestID(w)
		err := k.st.Write(r.Context(), store.Write{Actor: store.Actor{Type: "system"}, Do: (*store.Tx).Probe})
		if err != nil {
			k.conf.Log.Error("not ready", "error", err)
			k.refuse(w, id, fail(http.StatusServiceUnavailable, store.InternalError, "The database takes no writes."))
			return
		}
		send(w, http.StatusOK, []byte(`{"status":"ready"}`))
	})
}

// static serves bytes that never change while the process lives.
func (k *Kernel) static(contentType string, body []byte) httprouter.Handle {
	return func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
		k.requestID(w)
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		w.Write(body)
	}
}
