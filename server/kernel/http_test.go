package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/julienschmidt/httprouter"

	"punchcard/store"
)

// TestAsError checks which parts of an error the caller gets.
func TestAsError(t *testing.T) {
	for code, meaning := range Codes {
		if p := AsError(&store.Error{Code: code, Message: "m"}, StatusOf); p.Status != meaning.Status || p.Code != code {
			t.Errorf("%s: %v", code, p)
		}
	}
	wrapped := AsError(fmt.Errorf("around: %w", store.Invalid(store.Detail{Field: "f", Code: "required", Message: "m"})), StatusOf)
	if wrapped.Status != 400 || len(wrapped.Details) != 1 {
		t.Errorf("%v", wrapped)
	}
	if p := AsError(errors.New("disk /var/db on fire"), StatusOf); p.Status != 500 || p.Code != store.InternalError ||
		strings.Contains(string(p.render("req_1")), "fire") {
		t.Errorf("%s", p.render("req_1"))
	}
	// A remembered refusal gives the same answer with a new request id.
	p := AsError(&store.Error{Code: store.Conflict, Message: `a "quoted" message <b>`}, StatusOf)
	m := p.remembered()
	if strings.Contains(string(m.Body), "request_id") {
		t.Errorf("%s", m.Body)
	}
	again := recallError(&m)
	if string(again.render("req_2")) != string(p.render("req_2")) || again.Status != 409 {
		t.Errorf("%s\n%s", again.render("req_2"), p.render("req_2"))
	}
	if p := recallError(&store.Remembered{Status: 409, Body: []byte("{")}); p.Status != 500 {
		t.Errorf("%v", p)
	}
}

func TestKeepEscapedSlashes(t *testing.T) {
	for target, want := range map[string]string{
		"/a/b": "/a/b", "/a%2Fb": "/a%2Fb", "/a%2fb/c": "/a%2Fb/c", "/a%252Fb": "/a%252Fb", "/a%25": "/a%25", "/%2F%2f": "/%2F%2F",
		"/a%20b": "/a b", "/a%2Fb%20c%00": "/a%2Fb c\x00", "/%E8%AA%9E%2F": "/語%2F",
	} {
		var got string
		KeepEscapedSlashes(
			http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL.Path }),
		).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", target, nil))
		if got != want {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
	// EscapedPath returns the path with the slash escaped twice.
	r := httptest.NewRequest("GET", "/a%2Fb", nil)
	KeepEscapedSlashes(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.EscapedPath() != "/a%252Fb" {
			t.Errorf("%q", r.URL.EscapedPath())
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
}

// TestPanicLog checks that the log of a handler's panic names the request without its
// path, which may be a link.
func TestPanicLog(t *testing.T) {
	var log bytes.Buffer
	k := &Kernel{conf: Config{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), AccessLog: true}}
	router := k.Router()
	var none *store.Card
	k.Handle(router, "GET", "/i/:token", func(http.ResponseWriter, *http.Request, httprouter.Params) { _ = none.ID })
	w := httptest.NewRecorder()
	w.Header()["X-Request-Id"] = []string{"req_1"}
	router.ServeHTTP(w, httptest.NewRequest("GET", "/i/link-of-a-card?link-of-a-card", nil))
	if text := log.String(); w.Code != 500 || strings.Contains(text, "link-of-a-card") || strings.Count(text, "msg=") != 2 ||
		!strings.Contains(text, "route=/i/:token") {
		t.Errorf("%d, logged: %s", w.Code, text)
	}
}
