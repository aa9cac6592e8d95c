package dev_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// TestJournalHasEveryAnswer checks that the entry of every kind of answer is there when the client has
// the answer.
func TestJournalHasEveryAnswer(t *testing.T) {
	r := start(t)
	for _, c := range []struct {
		kind, method, path string
		body               any
		status             int
	}{
		{"rest", "GET", "/me", nil, 200},
		{"rest", "POST", cardsPath(r), fields{"holder_name": "Ada"}, 201},
		{"rest", "POST", cardsPath(r), fields{"holder": 1}, 400},
		{"rest", "GET", "/nowhere", nil, 404},
		{"rest", "PUT", "/me", nil, 405},
		{"rest", "GET", "", nil, 404},
		{"none", "GET", "/me", nil, 401},
		{"till", "GET", "/me", nil, 200},
		{"till", "GET", "/cards/a%2Fb", nil, 404},
	} {
		client := map[string]*server{"rest": r, "none": r.With(""), "till": r.Till(r.TillToken)}[c.kind]
		got := client.Try(context.Background(), c.method, c.path, c.body).Want(c.status)
		e, prefix, kind := lastEntry(r), "/api/public/v1", "rest"
		if c.kind == "till" {
			prefix, kind = "/till/v1", "till"
		}
		if e.RequestID == nil || *e.RequestID != got.Header.Get("X-Request-Id") || e.Kind != kind || e.Method != c.method ||
			e.Path != prefix+c.path || e.Response.Status != c.status {
			t.Errorf("%s %s %d is recorded as %+v", c.method, c.path, c.status, e)
		}
		if string(e.Response.Body) != string(got.Body) {
			t.Errorf("the answer %s is recorded as %s", got.Body, e.Response.Body)
		}
		if e.At != "2026-03-01T09:00:00.000Z" || e.Fault != nil || e.Replayed {
			t.Errorf("%+v", e)
		}
	}
	before := lastEntry(r).Seq
	for _, path := range []string{"/healthz", "/dev/clock", "/openapi.json", "/api/public/v10/me"} {
		send(r, "GET", r.Origin+path, nil)
	}
	if now := lastEntry(r).Seq; now != before {
		t.Errorf("the newest request to an API is number %d after other requests, want %d", now, before)
	}
}

// TestJournalSecrets checks that PINs are masked, and keys wherever a client puts them, and that the entry of a HEAD request has
// no body.
func TestJournalSecrets(t *testing.T) {
	r := start(t)
	callTill(r, "GET", "/me", nil, "X-Staff-Pin", "1357", "X-Own", "a", "X-Own", "b").Want(200)
	h := lastEntry(r).Request.Headers
	if h["Authorization"] != "Bearer tdk_test_…0000" || h["X-Staff-Pin"] != "***" || h["X-Own"] != "a, b" {
		t.Errorf("%v", h)
	}
	for _, v := range []string{"Bearer short", "Basic " + strings.Repeat("x", 90), "nothing", "Bearer " + strings.Repeat("é", 24)} {
		send(r, "GET", r.BaseURL+"/me", nil, "Authorization", v).Want(401)
		if got := lastEntry(r).Request.Headers["Authorization"]; got != "***" {
			t.Errorf("%q is shown as %q", v, got)
		}
	}
	raw := callControl(r, "GET", "/requests", nil).Body
	for _, secret := range []string{r.TillToken, "1357"} {
		if strings.Contains(string(raw), secret) {
			t.Errorf("the journal shows %q", secret)
		}
	}
	callREST(r, "GET", "/me?api_key="+r.APIKey+"&token="+r.TillToken, nil, "x-api-key", r.APIKey).Want(200)
	e := lastEntry(r)
	if e.Query != "api_key=tsk_test_…0000&token=tdk_test_…0000" || e.Request.Headers["X-Api-Key"] != "tsk_test_…0000" {
		t.Errorf("query %s, headers %v", e.Query, e.Request.Headers)
	}
	callREST(r, "HEAD", "/me", nil)
	if e := lastEntry(r); e.Response.Body != nil && string(e.Response.Body) != "null" || e.Response.Truncated {
		t.Errorf("the answer to HEAD has the body %s", e.Response.Body)
	}
}

// TestJournalBodies checks how bodies are recorded: JSON as it was sent, others as a text, and at most
// 64 KiB.
func TestJournalBodies(t *testing.T) {
	r := start(t)
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
		send(r, "POST", r.BaseURL+cardsPath(r)+"?a=b&a=%20", c.sent).Want(401) // the handler reads no body
		e := lastEntry(r)
		if string(e.Request.Body) != c.want || e.Request.Truncated || e.Query != "a=b&a=%20" {
			t.Errorf("%q is recorded as %+v", c.sent, e.Request)
		}
	}
	for _, sent := range []string{long, strings.Repeat("1", 1<<20+1)} {
		r.Post(cardsPath(r), sent)
		if e := lastEntry(r); !e.Request.Truncated || len(e.Request.Body) > 6*64<<10+2 {
			t.Errorf("%d bytes are recorded as %d, truncated %v", len(sent), len(e.Request.Body), e.Request.Truncated)
		}
	}
	var kept string
	r.Post(cardsPath(r), long).Want(400)
	if json.Unmarshal(lastEntry(r).Request.Body, &kept); len(kept) != 64<<10 {
		t.Errorf("%d bytes of the body are kept", len(kept))
	}
}

// TestJournalListing checks that the newest entries are listed, oldest first, and that sequence
// numbers go on after a deletion.
func TestJournalListing(t *testing.T) {
	r := start(t)
	for range 52 {
		callREST(r, "GET", "/me", nil)
		callTill(r, "GET", "/me", nil)
	}
	span := func(query string, n int, first, last int64) {
		t.Helper()
		list := readJournal(r, query).Data
		if len(list) != n || n > 0 && (list[0].Seq != first || list[n-1].Seq != last) {
			t.Errorf("%s: %d entries, want %d from %d to %d", query, len(list), n, first, last)
		}
	}
	span("", 100, 5, 104)
	span("?limit=3", 3, 102, 104)
	span("?limit=1000", 104, 1, 104)
	span("?limit=99999999999999999999", 104, 1, 104)
	span("?kind=rest&limit=2", 2, 101, 103)
	span("?kind=till", 52, 2, 104)
	span("?kind=delivery", 0, 0, 0)
	for query, want := range map[string]string{
		"?limit=0": "limit too_small", "?limit=x": "limit invalid_type", "?limit=": "limit invalid_value",
		"?kind=REST": "kind invalid_value", "?kind=rest&kind=till": "kind invalid_value",
	} {
		callControl(r, "GET", "/requests"+query, nil).Invalid(want)
	}
	r.Control("DELETE", "/requests", nil)
	span("", 0, 0, 0)
	callREST(r, "GET", "/me", nil)
	span("", 1, 105, 105)
}

// TestJournalWaitsForNoBody checks that a client that never sends its body is refused as it is without
// a journal, and that one that waits for 100 Continue is not asked to send.
func TestJournalWaitsForNoBody(t *testing.T) {
	r := start(t, func(c *app.Config) { c.ReadTimeout = servertest.Patience })
	c := require.Must(net.Dial("tcp", strings.TrimPrefix(r.Origin, "http://")))
	defer c.Close()
	fmt.Fprintf(c, "POST /api/public/v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
	line := make([]byte, len("HTTP/1.1 404"))
	if _, err := c.Read(line); err != nil || string(line) != "HTTP/1.1 404" {
		t.Fatalf("%q, %v", line, err)
	}
	if e := lastEntry(r); string(e.Request.Body) != "null" || !e.Request.Truncated || e.Response.Status != http.StatusNotFound {
		t.Errorf("%+v", e)
	}
}
