package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

const callOverview = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_overview","arguments":{}}}`

// refusal checks an answer that refuses a request, and returns data.code, or the code of
// JSON-RPC if there is none.
func refusal(t testing.TB, r *servertest.Reply, status int) string {
	t.Helper()
	var answer struct {
		JSONRPC string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Error   struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
			Data    *struct {
				Code      string `json:"code"`
				RequestID string `json:"request_id"`
			} `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal(r.Body, &answer); err != nil || answer.JSONRPC != "2.0" || answer.Error.Message == "" {
		t.Fatalf("%d %s is no error of JSON-RPC (%v)", r.Status, r.Body, err)
	}
	if r.Status != status {
		t.Errorf("status %d, want %d: %s", r.Status, status, r.Body)
	}
	h := r.Header
	if h.Get("X-Request-Id") == "" || h.Get("Cache-Control") != "no-store" || h.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", h)
	}
	if (status == 401) != (h.Get("Www-Authenticate") == `Bearer realm="punchcard", error="invalid_token"`) {
		t.Errorf("%d with %q", status, h.Get("Www-Authenticate"))
	}
	if answer.Error.Data == nil {
		return fmt.Sprint(answer.Error.Code)
	}
	if answer.Error.Code != -32000 || answer.Error.Data.RequestID != h.Get("X-Request-Id") ||
		!strings.HasPrefix(answer.Error.Message, answer.Error.Data.Code+": ") {
		t.Errorf("%s", r.Body)
	}
	return answer.Error.Data.Code
}

// TestOrderOfChecks makes requests with several faults, and mends one after the other. Each answer
// reports the fault that is checked first in the order of README.md.
func TestOrderOfChecks(t *testing.T) {
	a := start(t, func(c *app.Config) { c.Limits.MCPKeyRateLimitPerMinute, c.Limits.MCPKeyDailyCallBudget = 3, 2 })
	all := []struct {
		code   string
		status int
		mend   func(h http.Header, body *string)
	}{
		{"unauthorized", 403, func(h http.Header, _ *string) { h.Del("Origin") }},
		{"-32600", 400, func(_ http.Header, body *string) { *body = strings.Replace(callOverview, "tools/call", "nothing", 1) }},
		{"unauthenticated", 401, func(h http.Header, _ *string) { h.Set("Authorization", "Bearer "+a.MCPKey) }},
		{"mcp_access_required", 401, func(http.Header, *string) { a.Control("PATCH", "/shops/"+a.ShopID, fields{"mcp_access": true}) }},
		{"subscription_suspended", 402, func(http.Header, *string) {
			a.Control("PATCH", "/shops/"+a.ShopID, fields{"subscription_state": "active"})
		}},
		{"-32601", 200, nil},
	}
	a.Control("PATCH", "/shops/"+a.ShopID, fields{"mcp_access": false, "subscription_state": "suspended"})
	h := a.headers()
	h.Set("Origin", "https://evil.example")
	h.Set("Authorization", "Bearer tmk_test_"+strings.Repeat("x", 43))
	body := "[" + callOverview + "]"
	for _, c := range all {
		r := a.Fetch("POST", a.Origin+"/mcp", []byte(body), h.Clone())
		if got := refusal(t, r, c.status); got != c.code {
			t.Errorf("got %s, want %s: %s", got, c.code, r.Body)
		}
		if c.mend != nil {
			c.mend(h, &body)
		}
	}
	// The third call is over the limit of the day, and the fourth is over both limits.
	for i, want := range []int{200, 200, 429, 429} {
		r := a.send(callOverview, nil)
		if r.Status != want {
			t.Errorf("call %d: %d, want %d: %s", i+1, r.Status, want, r.Body)
		}
		if want == 429 {
			limit := []string{"day", "minute"}[i-2]
			if got := refusal(t, r, 429); got != "rate_limited" || !strings.Contains(string(r.Body), `"limit":"`+limit+`"`) ||
				r.Header.Get("Retry-After") == "" {
				t.Errorf("call %d: %s %v", i+1, r.Body, r.Header)
			}
		}
	}
}

// TestKeysOfOtherFaces checks which credentials /mcp takes, where its keys work, and that a revoked key is
// refused from the next request on.
func TestKeysOfOtherFaces(t *testing.T) {
	a := start(t)
	for credential, says := range map[string]string{
		"Bearer " + a.APIKey: "/mcp expects a key beginning tmk_", "Bearer " + a.TillToken: "malformed",
		"Bearer tmk_test_short": "malformed", "Bearer tmk_live_" + strings.Repeat("x", 43): "No such key",
		"Basic " + a.MCPKey: "must be: Bearer", "": "Send your key", "Bearer": "must be: Bearer",
	} {
		r := a.send(callOverview, func(h http.Header) {
			h.Set("Authorization", credential)
			if credential == "" {
				h.Del("Authorization")
			}
		})
		if refusal(t, r, 401) != "unauthenticated" || !strings.Contains(string(r.Body), says) {
			t.Errorf("%q: %s", credential, r.Body)
		}
	}
	r := a.send(callOverview, func(h http.Header) { h.Add("Authorization", "Bearer "+a.MCPKey) })
	refusal(t, r, 401)
	a.With(a.MCPKey).Get("/me").Want(401, "unauthenticated")
	a.Till(a.MCPKey).Get("/me").Want(401, "unauthenticated")
	for _, path := range []string{
		"/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server",
		"/.well-known/oauth-protected-resource/mcp",
	} {
		if r := a.Fetch("GET", a.Origin+path, nil, http.Header{}); r.Status != 404 {
			t.Errorf("%s: %d", path, r.Status)
		}
	}
	made := a.Control("POST", "/keys", fields{"class": "mcp"})
	k := a.with(made.Str("key"))
	k.call("get_overview", nil).ok()
	a.Control("POST", "/keys/"+made.Str("id")+"/revoke", nil)
	for _, method := range []string{"tools/list", "ping", "tools/call"} {
		if got := refusal(t, k.send(strings.Replace(callOverview, "tools/call", method, 1), nil), 401); got != "unauthenticated" {
			t.Errorf("%s: %s", method, got)
		}
	}
}

// TestAddresses checks which hosts and origins are admitted, also behind a proxy on the same
// machine that keeps the public Host, and that no answer invites pages of other origins: a preflight is
// refused, and no header admits an origin.
func TestAddresses(t *testing.T) {
	a := start(t, func(c *app.Config) {
		c.PublicURL, c.AllowHosts = "https://cards.example.com", []string{"punchcard"}
		c.MCPAllowOrigins = []string{"https://assistant.example"}
	})
	try := func(method, host, origin string, h http.Header) int {
		req := require.Must(http.NewRequest(method, a.Origin+"/mcp", strings.NewReader(callOverview)))
		req.Header = h
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		if host != "" {
			req.Host = host
		}
		resp := require.Must(a.HTTP.Do(req))
		resp.Body.Close()
		for name := range resp.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s of host %q from %q is answered with %s", method, host, origin, name)
			}
		}
		return resp.StatusCode
	}
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"", "", 200}, {"localhost", "", 200}, {"[::1]:80", "", 200}, {"cards.example.com", "", 200},
		{"CARDS.example.com:443", "", 200}, {"punchcard:8080", "", 200},
		{"evil.example", "", 403}, {"cards.example.com.evil.example", "", 403}, {"localhost.evil.example", "", 403},
		{"cards.example.com", "https://cards.example.com", 200}, {"cards.example.com", "https://cards.example.com:8443", 403},
		{"", "http://localhost:6274", 200}, {"", "http://127.0.0.1:1", 200}, {"", "https://assistant.example", 200},
		{"", "https://assistant.example.evil.example", 403}, {"", "https://evil.example", 403}, {"", "null", 403},
		{"", "http://localhost.evil.example", 403}, {"", "garbage", 403},
		{"evil.example", "http://evil.example", 403},
	} {
		if got := try("POST", c.host, c.origin, a.headers()); got != c.want {
			t.Errorf("host %q, origin %q: %d, want %d", c.host, c.origin, got, c.want)
		}
	}
	for _, origin := range []string{"", "https://evil.example", "null", "http://localhost:6274", a.Origin} {
		preflight := http.Header{
			"Access-Control-Request-Method":  {"POST"},
			"Access-Control-Request-Headers": {"authorization,content-type"},
		}
		if got := try("OPTIONS", "", origin, preflight); got != 405 {
			t.Errorf("a preflight from %q: %d", origin, got)
		}
	}
	for _, method := range []string{"GET", "DELETE", "PUT", "OPTIONS"} {
		r := a.Fetch(method, a.Origin+"/mcp", nil, a.headers())
		if refusal(t, r, 405); r.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %v", method, r.Header)
		}
		if got := try(method, "evil.example", "", http.Header{}); got != 403 {
			t.Errorf("%s of a foreign host: %d", method, got)
		}
	}
}

// TestBodies sends bodies that are no message, messages that two parsers could read differently, and
// headers that the SDK refuses. Only the last use up the budget, since they are refused after it.
func TestBodies(t *testing.T) {
	a := start(t, func(c *app.Config) { c.Limits.MCPKeyDailyCallBudget = 5000 })
	for body, want := range map[string]string{
		"":                          "-32700 400",
		"nothing":                   "-32700 400",
		`{"jsonrpc":"2.0"`:          "-32700 400",
		callOverview + callOverview: "-32700 400",
		"[]":                        "-32600 400",
		"[" + callOverview + "]":    "-32600 400",
		`"text"`:                    "-32600 400",
		`{}`:                        "-32600 400",
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                                                     "-32600 400",
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                                                  "-32600 400",
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                                                    "-32600 400",
		`{"jsonrpc":"2.0","id":1,"method":5}`:                                                          "-32600 400",
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`:                                         "-32600 400",
		`{"jsonrpc":"2.0","id":1,"METHOD":"tools/call","params":{"name":"get_overview"}}`:              "-32600 400",
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}`:                               "-32700 400",
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"get_overview"}}`:                     "-32600 400",
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{}}`:                         "-32601 200",
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`:              "-32601 200",
		`{"jsonrpc":"2.0","id":1,"method":"no/such"}`:                                                  "-32601 200",
		`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`:                                         "-32600 400",
		strings.Repeat(" ", 1<<20) + callOverview:                                                      "-32600 413",
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`: "-32600 413",
		`{"jsonrpc":"2.0","id":1,"method":"\ud800"}`:                                                   "-32700 400",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}":                                           "-32700 400",
		strings.Repeat(`{"a":`, 20_000):                                                                "-32700 400",
	} {
		var status int
		var code string
		fmt.Sscan(want, &code, &status)
		r := a.send(body, nil)
		if got := refusal(t, r, status); got != code {
			t.Errorf("%.80q: %s, want %s", body, got, want)
		}
	}
	refusal(t, a.send(callOverview, func(h http.Header) { h.Set("Content-Type", "text/plain") }), 415)
	refusal(t, a.send(callOverview, func(h http.Header) { h.Set("Mcp-Protocol-Version", "1999-01-01") }), 400)
	refusal(t, a.send(callOverview, func(h http.Header) { h.Set("Accept", "text/html") }), 400)
	for _, body := range []string{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`} {
		if r := a.send(body, nil); r.Status != 202 || len(r.Body) != 0 {
			t.Errorf("%s: %d %s", body, r.Status, r.Body)
		}
	}
	if r := a.send(callOverview, nil); r.Header.Get("X-Daily-Remaining") != "4996" { // this one and the three that the SDK refused
		t.Errorf("%s calls are left", r.Header.Get("X-Daily-Remaining"))
	}
}

// TestMinute checks the 61st call of a minute, what does not count, and the headers.
func TestMinute(t *testing.T) {
	a := start(t, func(c *app.Config) { c.Limits.MCPKeyRateLimitPerMinute, c.Limits.MCPKeyDailyCallBudget = 60, 5000 })
	for range 100 {
		if r, _, _ := a.rpc("tools/list", fields{}); r.Status != 200 || r.Header.Get("RateLimit-Limit") != "300" ||
			r.Header.Get("X-Daily-Remaining") != "5000" {
			t.Fatalf("%d %v", r.Status, r.Header)
		}
	}
	for i := range 60 {
		r := a.send(callOverview, nil)
		if r.Status != 200 || r.Header.Get("RateLimit-Remaining") != fmt.Sprint(59-i) ||
			r.Header.Get("X-Daily-Remaining") != fmt.Sprint(4999-i) ||
			r.Header.Get("RateLimit-Limit") != "60" {
			t.Fatalf("call %d: %d %v", i+1, r.Status, r.Header)
		}
		if want := fmt.Sprintf(`"calls_left":{"day":%d,"minute":%d}`, 4999-i, 59-i); !strings.Contains(string(r.Body), want) {
			t.Fatalf("call %d: no %s in %s", i+1, want, r.Body)
		}
	}
	r := a.send(callOverview, nil)
	if refusal(t, r, 429) != "rate_limited" || r.Header.Get("Retry-After") != "1" ||
		!strings.Contains(string(r.Body), `"limit":"minute","retry_after":1`) ||
		r.Header.Get("X-Daily-Remaining") != "4940" {
		t.Errorf("%s %v", r.Body, r.Header)
	}
	a.rpc("tools/list", fields{})
	a.newKey(fields{}).call("get_overview", nil).ok()
	a.Advance("1s")
	a.call("get_overview", nil).ok()
	for range 210 {
		a.rpc("prompts/list", fields{})
	}
	if r := a.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, nil); r.Status != 429 {
		t.Errorf("the 312th request that is not counted: %d", r.Status)
	}
}

// TestDay checks the last call of a day's budget and the one after it across restarts, and that the next
// day in UTC begins with a new budget.
func TestDay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shop.db")
	again := func() *assistant {
		return start(t, func(c *app.Config) { c.DB, c.Limits.MCPKeyDailyCallBudget = path, 10 })
	}
	a := again()
	a.call("get_overview", nil).ok()
	a.Stop()
	a = again()
	for i := range 9 {
		if r := a.send(callOverview, nil); r.Status != 200 || r.Header.Get("X-Daily-Remaining") != fmt.Sprint(8-i) {
			t.Fatalf("call %d: %d %v", 2+i, r.Status, r.Header)
		}
	}
	a.Stop()
	a = again()
	r := a.send(callOverview, nil)
	if refusal(t, r, 429) != "rate_limited" || !strings.Contains(string(r.Body), `"limit":"day"`) ||
		r.Header.Get("Retry-After") != "54000" ||
		r.Header.Get("X-Daily-Reset") != "54000" {
		t.Errorf("%s %v", r.Body, r.Header)
	}
	a.rpc("tools/list", fields{})
	a.Advance("54000s")
	if r := a.send(callOverview, nil); r.Status != 200 || r.Header.Get("X-Daily-Remaining") != "9" ||
		r.Header.Get("X-Daily-Reset") != "86400" {
		t.Errorf("the next day: %d %v", r.Status, r.Header)
	}
}

// TestJournalShowsCalls checks that the journal of a fixture has the calls, without the key.
func TestJournalShowsCalls(t *testing.T) {
	a := start(t, servertest.WithJournal)
	a.call("get_overview", nil).ok()
	r := a.Control("GET", "/requests?kind=mcp", nil)
	if body := string(r.Body); !strings.Contains(body, `"kind":"mcp"`) || !strings.Contains(body, "get_overview") ||
		strings.Contains(body, a.MCPKey) {
		t.Errorf("%.2000s", body)
	}
}
