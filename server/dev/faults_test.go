package dev_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

type fault struct {
	ID, Method, Path, Code, When string
	Status                       *int
	DelayMS                      int `json:"delay_ms"`
	Count, Remaining             int
	Headers                      map[string]string
}

func newFault(r *server, body fields) fault {
	r.T.Helper()
	return servertest.Decode[fault](r.Control("POST", "/faults", body))
}

// faultsLeft returns the faults that are still to be applied, in order, as ids with the numbers of
// requests that remain: flt_1:2 flt_2:1.
func faultsLeft(r *server) string {
	r.T.Helper()
	var ids []string
	for _, f := range servertest.Decode[struct{ Data []fault }](r.Control("GET", "/faults", nil)).Data {
		ids = append(ids, fmt.Sprintf("%s:%d", f.ID, f.Remaining))
	}
	return strings.Join(ids, " ")
}

func wantFaults(r *server, want string) {
	r.T.Helper()
	if left := faultsLeft(r); left != want {
		r.T.Errorf("the faults %q are left, want %q", left, want)
	}
}

// TestFaultBefore checks that a request that a fault answers is recorded and has no effect, so that
// its idempotency key is free.
func TestFaultBefore(t *testing.T) {
	r := start(t)
	f := newFault(r, fields{"method": "post", "path": "/programs/*/cards", "status": 503})
	if f.Method != "POST" || f.Code != "internal_error" || f.When != "before" || f.Count != 1 || f.Remaining != 1 ||
		f.Headers["Retry-After"] != "1" {
		t.Errorf("%+v", f)
	}
	callREST(r, "GET", "/me", nil).Want(200)
	got := callREST(r, "POST", cardsPath(r), fields{"holder_name": "Ada"}, "Idempotency-Key", "k").Want(503, "internal_error")
	e := lastEntry(r)
	if e.Fault == nil || *e.Fault != f.ID || e.Response.Status != 503 || string(e.Request.Body) != `{"holder_name":"Ada"}` {
		t.Errorf("%+v", e)
	}
	if id := got.Header.Get("X-Request-Id"); id == "" || id != got.Str("error.request_id") ||
		got.Header.Get("Retry-After") != "1" || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v %s", got.Header, got.Body)
	}
	wantCards(r, 0)
	callREST(r, "POST", cardsPath(r), fields{"holder_name": "Ada"}, "Idempotency-Key", "k").Want(201).First()
	wantFaults(r, "")

	// The status 0 ends the connection without an answer.
	newFault(r, fields{"status": 0, "path": "/cards/*/stamps"})
	if got := callTill(r, "POST", "/cards/x/stamps", fields{"count": 1}); got.Err == nil {
		t.Errorf("answered %d", got.Status)
	}
	if e := lastEntry(r); e.Response.Status != 0 || string(e.Request.Body) != `{"count":1}` || e.Kind != "till" || e.RequestID != nil {
		t.Errorf("%+v", e)
	}
	callTill(r, "POST", "/cards/x/stamps", nil).Want(404)
}

// TestFaultAfter checks that a request whose answer a fault replaces or cuts off has its effect, and
// that a retry with its idempotency key is replayed, of which the entry tells.
func TestFaultAfter(t *testing.T) {
	r := start(t)
	for i, status := range []int{500, 0} {
		newFault(r, fields{"status": status, "when": "after", "path": "/api/public/v1/programs/**"})
		key := fmt.Sprint("M-", i)
		got := callREST(r, "POST", cardsPath(r), fields{"external_ref": key}, "Idempotency-Key", key)
		e := lastEntry(r)
		if status == 0 {
			if got.Err == nil || e.Response.Status != 0 || e.RequestID != nil || string(e.Response.Body) != "null" {
				t.Errorf("answered %d, recorded as %d", got.Status, e.Response.Status)
			}
		} else if got.Want(500, "internal_error"); got.Header.Get("RateLimit-Limit") == "" {
			t.Errorf("%v", got.Header)
		}
		wantCards(r, i+1)
		again := callREST(r, "POST", cardsPath(r), fields{"external_ref": key}, "Idempotency-Key", key).Want(201)
		if again.Header.Get("Idempotent-Replayed") != "true" {
			t.Error("the retry is not replayed")
		}
		if e := lastEntry(r); !e.Replayed || e.Response.Headers["Idempotent-Replayed"] != "true" {
			t.Errorf("the entry of the retry is %+v", e)
		}
	}
}

// TestFaultAnswers checks the code and the headers that an answer has by default
// and when the fault gives them.
func TestFaultAnswers(t *testing.T) {
	r := start(t)
	for status, want := range map[int]string{400: "bad_request", 401: "unauthenticated", 402: "subscription_suspended", 403: "unauthorized",
		404: "not_found", 409: "conflict",
		410: "gone", 418: "bad_request", 422: "unprocessable_entity", 429: "rate_limited", 500: "internal_error", 599: "internal_error"} {
		newFault(r, fields{"status": status})
		got := callREST(r, "GET", "/me", nil).Want(status, want)
		if after := got.Header.Get("Retry-After"); (after == "1") != (status == 429) {
			t.Errorf("%d: Retry-After %q", status, after)
		}
	}
	newFault(r, fields{"status": 429, "code": "slow_down", "headers": fields{"retry-after": "30", "X-Why": "because"}})
	if got := callREST(r, "GET", "/me", nil).Want(429, "slow_down"); got.Header.Get("Retry-After") != "30" ||
		got.Header.Get("X-Why") != "because" {
		t.Errorf("%v", got.Header)
	}
	callREST(r, "GET", "/me", nil).Want(200)
}

// TestFaultPaths checks to which methods and paths a fault applies, and that none applies to the
// control API or to paths outside of the APIs.
func TestFaultPaths(t *testing.T) {
	r := start(t)
	for _, c := range []struct {
		method, pattern, path string
		applies               bool
	}{
		{"", "", "/me", true},
		{"GET", "/me", "/me", true},
		{"get", "/api/public/v1/me", "/me", true},
		{"POST", "/me", "/me", false},
		{"", "/till/v1/me", "/me", false},
		{"", "/**", "/me", true},
		{"", "/**", "", true},
		{"", "/cards/**", "/cards/a/b/c", true},
		{"", "/cards/**", "/cards", true},
		{"", "/cards/**", "/card", false},
		{"", "/cards/*", "/cards/a", true},
		{"", "/cards/*", "/cards/a/b", false},
		{"", "/cards/*", "/cards", false},
		{"", "/cards/*", "/cards/", false},
		{"", "/*/a", "/cards/a", true},
		{"", "/cards/a%2Fb", "/cards/a%2fb", true},
		{"", "/cards/a/b", "/cards/a%2Fb", false},
		{"", "/cards/a b", "/cards/a%20b", true},
		{"", "/me", "/%6De", true},
		{"", "/ME", "/me", false},
	} {
		r.Control("DELETE", "/faults", nil)
		body := fields{"status": 418}
		if c.method != "" {
			body["method"] = c.method
		}
		if c.pattern != "" {
			body["path"] = c.pattern
		}
		newFault(r, body)
		if got := callREST(r, "GET", c.path, nil); (got.Status == 418) != c.applies {
			t.Errorf("%s %q, %s: %d", c.method, c.pattern, c.path, got.Status)
		}
	}
	r.Control("DELETE", "/faults", nil)
	newFault(r, fields{"status": 418})
	send(r, "GET", r.Origin+"/%61pi/public/v1/me", nil).Want(418) // the same path, escaped
	if e := lastEntry(r); e.Fault == nil || e.Path != "/%61pi/public/v1/me" {
		t.Errorf("%+v", e)
	}
	newFault(r, fields{"status": 418})
	r.Control("GET", "/clock", nil)
	send(r, "GET", r.Origin+"/healthz", nil).Want(200)
}

// TestFaultOrder checks that at most one fault is applied to a request: of those that match it, the
// one that was added first.
func TestFaultOrder(t *testing.T) {
	r := start(t)
	newFault(r, fields{"status": 500, "count": 2})
	newFault(r, fields{"status": 501, "path": "/me"})
	newFault(r, fields{"status": 502, "path": "/cards"})
	var got []string
	for _, path := range []string{"/me", "/cards", "/cards", "/me", "/me"} {
		got = append(got, fmt.Sprint(callREST(r, "GET", path, nil).Status))
		if len(got) == 1 {
			wantFaults(r, "flt_1:1 flt_2:1 flt_3:1")
		}
	}
	if all := strings.Join(got, " "); all != "500 500 502 501 200" {
		t.Errorf("applied %s", all)
	}
}

// TestFaultCounts checks that simultaneous requests get each fault exactly as often as its count says.
func TestFaultCounts(t *testing.T) {
	r := start(t)
	newFault(r, fields{"status": 500, "count": 25})
	newFault(r, fields{"status": 0, "count": 10, "method": "GET"})
	newFault(r, fields{"status": 503, "count": 15, "when": "after"})
	var failed, cut, lost atomic.Int64
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range 8 {
				switch got := callREST(r, "GET", "/me", nil); {
				case got.Err != nil:
					cut.Add(1)
				case got.Status == 500:
					failed.Add(1)
				case got.Status == 503:
					lost.Add(1)
				}
			}
		})
	}
	all.Wait()
	if failed.Load() != 25 || cut.Load() != 10 || lost.Load() != 15 {
		t.Errorf("%d, %d and %d failed, want 25, 10 and 15", failed.Load(), cut.Load(), lost.Load())
	}
	applied := map[string]int{}
	for _, e := range readJournal(r, "?limit=1000").Data {
		if e.Fault != nil {
			applied[*e.Fault]++
		}
	}
	if want := map[string]int{"flt_1": 25, "flt_2": 10, "flt_3": 15}; !maps.Equal(applied, want) {
		t.Errorf("the journal has the faults %v, want %v", applied, want)
	}
	wantFaults(r, "")
}

// TestFaultDelays checks that a request is served after a delay that is longer
// than the server's time-out for reading.
func TestFaultDelays(t *testing.T) {
	const d = 300 * time.Millisecond
	r := start(t, func(c *app.Config) { c.ReadTimeout = d / 3 })
	for _, when := range []string{"before", "after"} {
		f := newFault(r, fields{"delay_ms": d.Milliseconds(), "when": when})
		start := time.Now()
		got := callREST(r, "POST", cardsPath(r), fields{}).Want(201)
		if took := time.Since(start); took < d {
			t.Errorf("%s: after %s", when, took)
		}
		if e := lastEntry(r); f.Status != nil || e.Fault == nil || string(e.Response.Body) != string(got.Body) ||
			e.DurationMS < d.Milliseconds() {
			t.Errorf("%s: %+v", when, e)
		}
		if got.Header.Get("RateLimit-Limit") == "" || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", when, got.Header)
		}
	}
	wantCards(r, 2)
}

// TestFaultAndClientThatLeaves checks that the operation is not done for a client
// that leaves during a delay before it, and is done for one that leaves after it.
func TestFaultAndClientThatLeaves(t *testing.T) {
	t.Parallel()
	for when, want := range map[string]int{"before": 0, "after": 1} {
		r := serve(t)
		newFault(r, fields{"delay_ms": 60000, "when": when})
		ctx, leave := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer leave()
		if got := r.Try(ctx, "POST", cardsPath(r), fields{"holder_name": "Ada"}); got.Err == nil {
			t.Fatalf("answered %d", got.Status)
		}
		// The entry is recorded when the server has noticed that the client left.
		noted := make(chan entry)
		go func() {
			for {
				for _, e := range readJournal(r, "").Data {
					if e.Method == "POST" {
						noted <- e
						return
					}
				}
			}
		}()
		if e := servertest.Await(t, noted, "the entry of a request whose client left"); e.Response.Status != 0 ||
			string(e.Request.Body) != `{"holder_name":"Ada"}` {
			t.Errorf("%+v", e)
		}
		wantCards(r, want)
	}
}

// TestStopEndsDelays checks that stopping does not wait for delayed requests.
func TestStopEndsDelays(t *testing.T) {
	r := start(t)
	newFault(r, fields{"delay_ms": 60000})
	answer := make(chan *reply, 1)
	go func() { answer <- callREST(r, "GET", "/me", nil) }()
	for faultsLeft(r) != "" { // until the fault is applied
	}
	go r.Stop()
	servertest.Await(t, answer, "the answer of a server that stops").Want(503, "internal_error").
		Shows(fields{"error.message": "The fixture was reset."})
}

// TestFaultFields checks which faults are refused, and that there are at most a thousand.
func TestFaultFields(t *testing.T) {
	r := start(t)
	many := fields{}
	for i := range 21 {
		many[fmt.Sprintf("X-%d", i)] = "v"
	}
	for _, c := range []struct {
		body any
		want []string
	}{
		{fields{}, []string{"status required"}},
		{fields{"status": nil, "delay_ms": 0}, []string{"status required"}},
		{fields{"method": 1, "path": 2, "status": "500", "code": 3, "delay_ms": "x", "count": 1.5, "when": true, "headers": "h", "shop": 1},
			[]string{
				"code invalid_type", "count invalid_type", "delay_ms invalid_type", "headers invalid_type",
				"method invalid_type", "path invalid_type", "shop unknown_field", "status invalid_type", "when invalid_type",
			}},
		{fields{"method": "GTE", "path": "cards", "status": 399, "count": 0, "delay_ms": -1, "when": "never", "code": "Rate"},
			[]string{
				"code invalid_format", "count too_small", "delay_ms too_small", "when invalid_value", "method invalid_value",
				"path invalid_format", "status invalid_value",
			}},
		{fields{
			"status": 600, "count": 1000001, "delay_ms": 60001, "method": strings.Repeat("G", 17),
			"path": "/" + strings.Repeat("p", 2048), "code": strings.Repeat("c", 65),
		},
			[]string{"code too_long", "count too_large", "delay_ms too_large", "method too_long", "path too_long", "status too_large"}},
		{
			fields{"status": -1, "path": "", "method": "", "code": ""},
			[]string{"code too_short", "method too_short", "path too_short", "status too_small"},
		},
		{fields{"status": 0, "code": "x", "headers": fields{}}, []string{"code not_allowed", "headers not_allowed"}},
		{fields{"delay_ms": 1, "code": "x"}, []string{"code not_allowed"}},
		{fields{"status": 500, "headers": many}, []string{"headers too_many"}},
		{fields{"status": 500, "headers": fields{"A b": "c", "Content-Length": "3", "X": "a\r\nB: c", "X-Long": strings.Repeat("v", 1025),
			"X-Number": 1, "": "x", strings.Repeat("n", 101): "x", "é": "x"}},
			[]string{"headers.X-Long too_long", "headers.X-Number invalid_type", "headers. invalid_format", "headers.A b invalid_format",
				"headers.Content-Length not_allowed",
				"headers.X invalid_format", "headers." + strings.Repeat("n", 92) + "… not_allowed", "headers.é invalid_format"}},
		{fields{"status": 500, "headers": fields{"X": "z", "x": "y"}}, []string{"headers.x invalid_value"}},
		{fields{"body": "x"}, []string{"status required", "body not_allowed"}},
		{fields{"status": 0, "body_base64": "eA=="}, []string{"body_base64 not_allowed"}},
		{fields{"status": 500, "body_base64": "e"}, []string{"body_base64 invalid_format"}},
		{fields{"status": 500, "body": "x", "body_base64": "eA=="}, []string{"body mutually_exclusive"}},
		{fields{"status": 500, "body": "x", "code": "conflict"}, []string{"code mutually_exclusive"}},
		{fields{"status": 500, "content_type": "text/plain"}, []string{"content_type not_allowed"}},
		{fields{"status": 500, "body": "x", "content_type": "a\nb"}, []string{"content_type invalid_format"}},
		{fields{"status": 204, "body": "x"}, []string{"status invalid_value"}},
		{fields{"status": 304, "body": "x"}, []string{"status invalid_value"}},
		{fields{"status": 199, "body": "x"}, []string{"status invalid_value"}},
		{fields{"status": 200}, []string{"status invalid_value"}},
		{fields{"status": 500, "until_cleared": true, "count": 2}, []string{"count mutually_exclusive"}},
		{fields{"status": 500, "until_cleared": "yes"}, []string{"until_cleared invalid_type"}},
	} {
		callControl(r, "POST", "/faults", c.body).Invalid(c.want...)
	}
	for _, path := range []string{"/cards/*x", "/**/stamps", "/a?b", "/a#b", "/a%zz", "me", "*"} {
		callControl(r, "POST", "/faults", fields{"status": 500, "path": path}).Invalid("path invalid_format")
	}
	callControl(r, "POST", "/faults", `{"status": 500`).Want(400, "validation_failed")
	wantFaults(r, "")
	for range 1000 {
		r.ControlAPI().Try(t.Context(), "POST", "/faults", fields{"status": 500}).Want(201)
	}
	callControl(r, "POST", "/faults", fields{"status": 500}).Want(422, "unprocessable_entity")
	r.Control("DELETE", "/faults", nil)
	newFault(r, fields{"status": 500})
}
