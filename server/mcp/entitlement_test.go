package mcp_test

import (
	"strings"
	"testing"
)

// TestEntitlements calls the tools that read in each state of the shop's entitlement and subscription, and
// one that writes where all are refused. The add-on of the REST API makes no difference.
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
			if c.code == "" && !strings.HasSuffix(scope, ":write") {
				a.call(tool, args[tool]).ok()
			}
		}
		for _, method := range []string{"tools/list", "resources/list", "ping"} {
			r, _, fault := a.rpc(method, fields{})
			if r.Status != c.status || (fault != nil) != (c.code != "") {
				t.Errorf("%v, %s: %d %s", c.shop, method, r.Status, r.Body)
			}
		}
		if c.code == "" {
			continue
		}
		a.Unchanged(func() {
			r, _, _ := a.rpc("tools/call", fields{"name": "update_card", "arguments": args["update_card"]})
			if got := refusal(t, r, c.status); got != c.code {
				t.Errorf("%v: %s, want %s", c.shop, got, c.code)
			}
		})
	}
}
