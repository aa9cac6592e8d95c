package kernel

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"

	"github.com/julienschmidt/httprouter"

	"punchcard/store"
)

// Public is what is served outside the API's prefix, without a key (contract
// section 3).
//
// The documents are made when first asked for: making them would take longer
// than all else at the start.
type Public struct {
	Document func() []byte // OpenAPI
	Docs     func() []byte // HTML
	Till     func() []byte // OpenAPI of the till API
	Pricing  []byte        // JSON; nil: 404
}

// MountPublic serves p, /healthz (the process is up) and /readyz (the database
// takes writes).
func (k *Kernel) MountPublic(r *httprouter.Router, p Public) {
	k.Handle(r, http.MethodGet, "/openapi.json", k.Static("application/json", p.Document))
	k.Handle(r, http.MethodGet, "/till/openapi.json", k.Static("application/json", p.Till))
	k.Handle(r, http.MethodGet, "/docs", k.Static("text/html; charset=utf-8", p.Docs))
	if p.Pricing != nil {
		k.Handle(r, http.MethodGet, "/pricing", k.Static("application/json", bytesOf(p.Pricing)))
	}
	k.Handle(r, http.MethodGet, "/healthz", k.Static("application/json", bytesOf([]byte(`{"status":"ok"}`))))
	k.Handle(r, http.MethodGet, "/readyz", func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		id := k.requestID(w)
		err := k.st.Write(r.Context(), store.Write{Actor: store.Actor{Type: "system"}, Do: (*store.Tx).Probe})
		if err != nil {
			k.conf.Log.Error("not ready", "error", err)
			k.refuse(w, id, fail(http.StatusServiceUnavailable, store.InternalError, "The database takes no writes."))
			return
		}
		shut(w.Header())
		send(w, http.StatusOK, []byte(`{"status":"ready"}`))
	})
}

// Static serves bytes that never change while the process lives; they are made
// when first asked for. A page may have a style element, and no script.
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
		pageHeaders(w.Header(), contentType, m.styles...)
		w.Write(m.body)
	}
}

func bytesOf(b []byte) func() []byte { return func() []byte { return b } }

// Refuse answers a request of no face with an error. A [Problem] is what the
// caller chose to answer; any other error of the server's is logged.
func (k *Kernel) Refuse(w http.ResponseWriter, err error) {
	id := k.requestID(w)
	p := problem(err)
	if _, chosen := err.(*Problem); p.Status >= 500 && !chosen {
		k.conf.Log.Error("request failed", "request_id", id, "error", err)
	}
	k.refuse(w, id, p)
}

// Explain is the status and the text of an error, for a page.
func (k *Kernel) Explain(err error) (status int, message string) {
	p := problem(err)
	return p.Status, p.Message
}

// HTML answers with a page that has no script, and of style only the elements
// whose sources are given (see StyleSource).
func (k *Kernel) HTML(w http.ResponseWriter, status int, body []byte, styles ...string) {
	k.requestID(w)
	pageHeaders(w.Header(), "text/html; charset=utf-8", styles...)
	w.Header()["Cache-Control"] = noStore
	w.WriteHeader(status)
	w.Write(body)
}

// SeeOther sends the browser that posted a form to a page of ours.
func (k *Kernel) SeeOther(w http.ResponseWriter, r *http.Request, path string) {
	k.requestID(w)
	pageHeaders(w.Header(), "text/html; charset=utf-8")
	w.Header()["Cache-Control"] = noStore
	http.Redirect(w, r, path, http.StatusSeeOther)
}

// StyleSource is what a content security policy calls the first style element
// of a page or a template: the hash of its text, so that no other style, of an
// element or an attribute, is taken by a browser.
func StyleSource(page string) string {
	_, rest, _ := strings.Cut(page, "<style>")
	css, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(css))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

const closedPolicy = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

var (
	noSniff    = []string{"nosniff"}
	noReferrer = []string{"no-referrer"}
	closed     = []string{closedPolicy}
)

// shut has browsers load nothing for an answer, frame it nowhere and tell
// nobody its address. Answers that only a bearer of a key gets can do without:
// no browser asks for them by itself.
func shut(h http.Header) {
	h["X-Content-Type-Options"], h["Referrer-Policy"], h["Content-Security-Policy"] = noSniff, noReferrer, closed
}

// Shut has every answer of a handler so.
func Shut(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shut(w.Header())
		h.ServeHTTP(w, r)
	})
}

func pageHeaders(h http.Header, contentType string, styles ...string) {
	shut(h)
	h.Set("Content-Type", contentType)
	if len(styles) > 0 {
		h.Set("Content-Security-Policy", closedPolicy+"; style-src "+strings.Join(styles, " "))
	}
}
