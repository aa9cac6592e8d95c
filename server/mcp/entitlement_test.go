package mcp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
)

// TestEntitlements calls the tools in each state of the shop's entitlement and subscription: those
// that read in all, and those that write where all are refused. The add-on of the REST API makes no
// difference.
func TestEntitlements(t *testing.T) {
	a := start(t)
	args := a.things()
	for _, c := range []struct {
		shop   fields
		status int
		code   string
	}{
		{fields{"subscription_state": "past_due"}, 200, ""},
		{fields{"api_addon": false}, 200, ""},
		{fields{"mcp_access": false}, 401, "mcp_access_required"},
		{fields{"subscription_state": "suspended"}, 402, "subscription_suspended"},
		{fields{"subscription_state": "cancelled"}, 402, "subscription_suspended"},
		{fields{"mcp_access": false, "subscription_state": "suspended"}, 401, "mcp_access_required"},
		{fields{}, 200, ""}, // the key is intact
	} {
		shop := fields{"subscription_state": "active", "api_addon": true, "mcp_access": true}
		for name, value := range c.shop {
			shop[name] = value
		}
		a.Control("PATCH", "/shops/"+a.ShopID, shop).Want(200)
		for tool, scope := range toolScopes {
			if c.code == "" {
				if !strings.HasSuffix(scope, ":write") {
					a.call(tool, args[tool]).ok()
				}
				continue
			}
			body := require.Must(json.Marshal(
				fields{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": fields{"name": tool, "arguments": args[tool]}},
			))
			a.Unchanged(func() {
				if got := refusal(t, a.send(string(body), nil), c.status); got != c.code {
					t.Errorf("%v, %s: %s, want %s", c.shop, tool, got, c.code)
				}
			})
		}
		for _, method := range []string{"tools/list", "resources/list", "ping"} {
			r, _, fault := a.rpc(method, fields{})
			if r.Status != c.status || (fault != nil) != (c.code != "") {
				t.Errorf("%v, %s: %d %s", c.shop, method, r.Status, r.Body)
			}
		}
	}
}

// TestPreflight checks that no answer of /mcp invites pages of other origins: a preflight is
// refused, and no header admits an origin.
func TestPreflight(t *testing.T) {
	a := start(t)
	for _, c := range []struct {
		method, origin string
		status         int
	}{
		{"OPTIONS", "https://evil.example", 405}, {"OPTIONS", "null", 405}, {"OPTIONS", "", 405}, {"OPTIONS", a.Origin, 405},
		{"OPTIONS", "http://localhost:6274", 405},
		{"POST", "https://evil.example", 403}, {"POST", "null", 403}, {"POST", a.Origin, 200},
		{"POST", "http://localhost:6274", 200}, {"POST", "", 200},
	} {
		h, body := a.headers(), []byte(callOverview)
		if c.method == "OPTIONS" {
			h = http.Header{"Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"authorization,content-type"}}
			body = nil
		}
		if c.origin != "" {
			h.Set("Origin", c.origin)
		}
		r := a.Fetch(c.method, a.Origin+"/mcp", body, h)
		if r.Status != c.status {
			t.Errorf("%s from %q: %d %s", c.method, c.origin, r.Status, r.Body)
		}
		for name := range r.Header {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s from %q is answered with %s", c.method, c.origin, name)
			}
		}
	}
}
