package dev_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"punchcard/server/app"
)

// Whatever the answer, its entry is there when the client has it.
func TestJournalHasEveryAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct {
		kind, method, path string
		answer             func(method, path string) *reply
		status             int
	}{
		{"rest", "GET", "/me", func(m, p string) *reply { return r.rest(m, p, nil) }, 200},
		{"rest", "POST", r.cards(), func(m, p string) *reply { return r.rest(m, p, fields{"holder_name": "Ada"}) }, 201},
		{"rest", "POST", r.cards(), func(m, p string) *reply { return r.rest(m, p, fields{"holder": 1}) }, 400},
		{"rest", "GET", "/nowhere", func(m, p string) *reply { return r.rest(m, p, nil) }, 404},
		{"rest", "PUT", "/me", func(m, p string) *reply { return r.rest(m, p, nil) }, 405},
		{"rest", "GET", "", func(m, p string) *reply { return r.rest(m, p, nil) }, 404},
		{"rest", "GET", "/me", func(m, p string) *reply { return r.send(context.Background(), m, r.BaseURL+p, nil) }, 401},
		{"till", "GET", "/me", func(m, p string) *reply { return r.till(m, p, nil) }, 200},
		{"till", "GET", "/cards/a%2Fb", func(m, p string) *reply { return r.till(m, p, nil) }, 404},
	} {
		got := c.answer(c.method, c.path).want(c.status)
		e := r.last()
		prefix := map[string]string{"rest": "/api/public/v1", "till": "/till/v1"}[c.kind]
		if e.RequestID == nil || *e.RequestID != got.header.Get("X-Request-Id") || e.Kind != c.kind || e.Method != c.method || e.Path != prefix+c.path || e.Response.Status != c.status {
			t.Errorf("%s %s %d is noted as %+v", c.method, c.path, c.status, e)
		}
		if string(e.Response.Body) != string(got.body) {
			t.Errorf("the answer %s is noted as %s", got.body, e.Response.Body)
		}
		if e.At != "2026-03-01T09:00:00.000Z" || e.Fault != nil || e.Replayed {
			t.Errorf("%+v", e)
		}
	}
	before := r.last().Seq
	for _, path := range []string{"/healthz", "/dev/clock", "/openapi.json", "/api/public/v10/me"} {
		r.send(context.Background(), "GET", r.Origin+path, nil)
	}
	if now := r.last().Seq; now != before {
		t.Errorf("%d entries of what is neither API", now-before)
	}
}

// Many clients at once each find what they were just answered, small or large.
func TestJournalKeepsUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 40 {
		r.rest("POST", r.cards(), fields{"holder_name": strings.Repeat("A", 200)}).want(201)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 25 {
				path := []string{"/cards?limit=100", "/me", "/nowhere"}[i%3]
				id := r.rest("GET", path, nil).header.Get("X-Request-Id")
				found := false
				for _, e := range r.journal("?limit=30").Data {
					found = found || e.RequestID != nil && *e.RequestID == id
				}
				if !found {
					t.Errorf("GET %s was answered and is not in the journal", path)
				}
			}
		})
	}
	all.Wait()
	seen := map[int64]bool{}
	for _, e := range r.journal("?limit=1000").Data {
		seen[e.Seq] = true
	}
	if len(seen) != 240 {
		t.Errorf("%d entries of 240 requests", len(seen))
	}
}

func TestJournalSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.till("GET", "/me", nil, "X-Staff-Pin", "1357", "X-Own", "a", "X-Own", "b").want(200)
	h := r.last().Request.Headers
	if h["Authorization"] != "Bearer tdk_test_…0000" || h["X-Staff-Pin"] != "***" || h["X-Own"] != "a, b" {
		t.Errorf("%v", h)
	}
	for _, v := range []string{"Bearer short", "Basic " + strings.Repeat("x", 90), "nothing", "Bearer " + strings.Repeat("é", 24)} {
		r.send(context.Background(), "GET", r.BaseURL+"/me", nil, "Authorization", v).want(401)
		if got := r.last().Request.Headers["Authorization"]; got != "***" {
			t.Errorf("%q is shown as %q", v, got)
		}
	}
	raw := r.control("GET", "/requests", nil).body
	for _, secret := range []string{r.TillToken, "1357"} {
		if strings.Contains(string(raw), secret) {
			t.Errorf("the journal shows %q", secret)
		}
	}
}

func TestJournalBodies(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	long := `{"holder_name":"` + strings.Repeat("\x01", 70<<10) + `"}`
	for _, c := range []struct {
		sent, want string
		truncated  bool
	}{
		{`{"holder_name": "Ada"}`, `{"holder_name": "Ada"}`, false},
		{`{"holder_name": `, `"{\"holder_name\": "`, false},
		{"\xff", `"` + "\ufffd" + `"`, false},
		{"[1]", "[1]", false},
		{"", "null", false},
	} {
		r.send(context.Background(), "POST", r.BaseURL+r.cards()+"?a=b&a=%20", c.sent).want(401) // which reads no body
		e := r.last()
		if string(e.Request.Body) != c.want || e.Request.Truncated || e.Query != "a=b&a=%20" {
			t.Errorf("%q is noted as %+v", c.sent, e.Request)
		}
	}
	for _, size := range []string{long, strings.Repeat("1", 2<<20)} {
		r.rest("POST", r.cards(), size)
		if e := r.last(); !e.Request.Truncated || len(e.Request.Body) > 6*64<<10+2 {
			t.Errorf("%d bytes are noted as %d, truncated %v", len(size), len(e.Request.Body), e.Request.Truncated)
		}
	}
	var kept string
	r.rest("POST", r.cards(), long).want(400)
	if json.Unmarshal(r.last().Request.Body, &kept); len(kept) != 64<<10 {
		t.Errorf("%d bytes of the body are kept", len(kept))
	}
}

// The newest, oldest first; the count goes on after a deletion.
func TestJournalListing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 130 {
		if i%2 == 0 {
			r.rest("GET", "/me", nil)
		} else {
			r.till("GET", "/me", nil)
		}
	}
	span := func(query string, n int, first, last int64) {
		t.Helper()
		list := r.journal(query).Data
		if len(list) != n || n > 0 && (list[0].Seq != first || list[n-1].Seq != last) {
			t.Errorf("%s: %d entries, want %d from %d to %d", query, len(list), n, first, last)
		}
	}
	span("", 100, 31, 130)
	span("?limit=3", 3, 128, 130)
	span("?limit=1000", 130, 1, 130)
	span("?limit=99999999999999999999", 130, 1, 130)
	span("?kind=rest&limit=2", 2, 127, 129)
	span("?kind=till", 65, 2, 130)
	span("?kind=delivery", 0, 0, 0)
	for query, want := range map[string]string{"?limit=0": "limit too_small", "?limit=x": "limit invalid_type", "?limit=": "limit invalid_value", "?kind=REST": "kind invalid_value", "?kind=rest&kind=till": "kind invalid_value"} {
		r.control("GET", "/requests"+query, nil).refused(want)
	}
	r.control("DELETE", "/requests", nil).want(204)
	span("", 0, 0, 0)
	r.rest("GET", "/me", nil)
	span("", 1, 131, 131)
}

func TestJournalReplay(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 2 {
		r.rest("POST", r.cards(), fields{}, "Idempotency-Key", "k").want(201)
		if e := r.last(); e.Replayed != (i == 1) || e.Response.Headers["Idempotent-Replayed"] != map[bool]string{true: "true"}[i == 1] {
			t.Errorf("request %d: %+v", i, e)
		}
	}
}

// A client that never sends its body is refused as it is without a journal, and
// one that waits for 100 Continue is not asked to send in vain.
func TestJournalWaitsForNoBody(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *app.Config) { c.ReadTimeout = patience })
	c, err := net.Dial("tcp", strings.TrimPrefix(r.Origin, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /api/public/v1/x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	line := make([]byte, len("HTTP/1.1 404"))
	if _, err := c.Read(line); err != nil || string(line) != "HTTP/1.1 404" {
		t.Fatalf("%q, %v", line, err)
	}
	if e := r.last(); string(e.Request.Body) != "null" || !e.Request.Truncated || e.Response.Status != http.StatusNotFound {
		t.Errorf("%+v", e)
	}
}

// A key is hidden wherever a client puts it, and the answer to HEAD has no body.
func TestJournalHidesKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.rest("GET", "/me?api_key="+r.APIKey+"&token="+r.TillToken, nil, "x-api-key", r.APIKey).want(200)
	e := r.last()
	if e.Query != "api_key=tsk_test_…0000&token=tdk_test_…0000" || e.Request.Headers["X-Api-Key"] != "tsk_test_…0000" {
		t.Errorf("query %s, headers %v", e.Query, e.Request.Headers)
	}
	r.rest("HEAD", "/me", nil)
	if e := r.last(); e.Response.Body != nil && string(e.Response.Body) != "null" || e.Response.Truncated {
		t.Errorf("the answer to HEAD has the body %s", e.Response.Body)
	}
}
