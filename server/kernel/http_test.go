package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/julienschmidt/httprouter"

	"punchcard/store"
)

func TestBearer(t *testing.T) {
	for _, c := range []struct {
		values []string
		token  string
		ok     bool
	}{
		{nil, "", false}, {[]string{""}, "", false}, {[]string{"Bearer"}, "", false}, {[]string{"token"}, "", false}, {[]string{"Basic token"}, "", false},
		{[]string{"Bearertoken"}, "", false}, {[]string{"Bearer token", "Bearer token"}, "", false}, {[]string{"Bearer\ttoken"}, "", false},
		{[]string{"Bearer token"}, "token", true}, {[]string{"bearer token"}, "token", true}, {[]string{"BEARER token"}, "token", true},
		{[]string{"Bearer "}, "", true}, {[]string{"Bearer a b"}, "a b", true},
	} {
		r := &http.Request{Header: http.Header{}}
		if c.values != nil {
			r.Header["Authorization"] = c.values
		}
		token, err := Bearer(r, "missing")
		if token != c.token || (err == nil) != c.ok {
			t.Errorf("%q: %q, %v", c.values, token, err)
		}
		if p := AsError(err, StatusOf); err != nil && (p.Status != 401 || p.Code != store.Unauthenticated) {
			t.Errorf("%q: %v", c.values, p)
		}
	}
}

func TestReadBody(t *testing.T) {
	broken := io.MultiReader(strings.NewReader("{"), iotest.ErrReader(errors.New("cut off")))
	for name, c := range map[string]struct {
		body   io.Reader
		length int64
		want   int // bytes of the body, or the status of a refusal
	}{
		"none":                        {strings.NewReader(""), 0, 0},
		"a few":                       {strings.NewReader("{}"), 2, 2},
		"a few, of unknown length":    {strings.NewReader("{}"), -1, 2},
		"none, of unknown length":     {strings.NewReader(""), -1, 0},
		"1 MiB":                       {bytes.NewReader(make([]byte, MaxBody)), MaxBody, MaxBody},
		"1 MiB, of unknown length":    {bytes.NewReader(make([]byte, MaxBody)), -1, MaxBody},
		"one more":                    {bytes.NewReader(make([]byte, MaxBody+1)), MaxBody + 1, 413},
		"one more, of unknown length": {bytes.NewReader(make([]byte, MaxBody+1)), -1, 413},
		"one more, not read":          {iotest.ErrReader(errors.New("must not be read")), MaxBody + 1, 413},
		"cut off":                     {broken, 10, 400},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/", c.body)
		r.ContentLength = c.length
		b, err := readBody(w, r, MaxBody)
		var p *Error
		switch {
		case errors.As(err, &p):
			if p.Status != c.want || p.Code != store.BadRequest || w.Header().Get("Connection") != "close" {
				t.Errorf("%s: %v, %v", name, p, w.Header())
			}
		case err != nil || len(b) != c.want:
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

func TestCheckContentType(t *testing.T) {
	for value, ok := range map[string]bool{"application/json": true, "application/json; charset=utf-8": true, "Application/JSON": true, "application/problem+json": true,
		"": false, "text/plain": false, "text/json": false, "application/jsonx": false, "text/x+json": false, "application/json;;": false} {
		r := &http.Request{Header: http.Header{"Content-Type": {value}}}
		if err := checkContentType(r, []byte("{}")); (err == nil) != ok {
			t.Errorf("%q: %v", value, err)
		}
		if err := checkContentType(r, nil); err != nil {
			t.Errorf("%q without a body: %v", value, err)
		}
	}
	if err := checkContentType(&http.Request{Header: http.Header{}}, []byte("{}")); err != nil {
		t.Errorf("no type: %v", err)
	}
}

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
	if p := AsError(errors.New("disk /var/db on fire"), StatusOf); p.Status != 500 || p.Code != store.InternalError || strings.Contains(string(p.render("req_1")), "fire") {
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
		"/a/b": "/a/b", "/a%2Fb": "/a%2Fb", "/a%2fb/c": "/a%2Fb/c", "/a%252Fb": "/a%2Fb", "/%2F%2f": "/%2F%2F", "/a%20b": "/a b", "/a%2Fb%20c%00": "/a%2Fb c\x00", "/%E8%AA%9E%2F": "/語%2F",
	} {
		var got string
		KeepEscapedSlashes(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL.Path })).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", target, nil))
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

func TestHasEmptySegment(t *testing.T) {
	for path, want := range map[string]bool{"/a//b": true, "/a/b": false} {
		if got := hasEmptySegment(httptest.NewRequest("GET", path, nil).URL); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
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
	if text := log.String(); w.Code != 500 || strings.Contains(text, "link-of-a-card") || strings.Count(text, "msg=") != 2 || !strings.Contains(text, "route=/i/:token") {
		t.Errorf("%d, logged: %s", w.Code, text)
	}
}
