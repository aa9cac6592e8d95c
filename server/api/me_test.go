package api_test

import (
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

var allScopes = strings.Fields(`
	locations:read locations:write programs:read programs:write cards:read cards:write transactions:read analytics:read webhooks:read
	webhooks:write
`)

func TestMe(t *testing.T) {
	s := start(t, servertest.Frozen)
	s.Get("/me").WantOK(fields{
		"shop": fields{
			"id":                 s.ShopID,
			"api_addon":          true,
			"included_locations": 2,
			"billable_locations": 2,
			"max_locations":      nil,
			"max_cards":          nil,
		},
		"entitlements": fields{
			"api_access":        true,
			"webhooks_advanced": true,
			"mcp_access":        true,
			"source":            fields{"api_access": "addon"},
			"grant_expires_at":  nil,
		},
		"api_key.scopes":       allScopes,
		"api_key.location_ids": []string{},
	})
	s.With(s.RestrictedAPIKey).Get("/me").WantOK(fields{
		"api_key.location_ids": s.LocationIDs[:1],
		"api_key.scopes":       allScopes,
		"shop.id":              s.ShopID,
	})

	// Changes by the operator are visible to the next request.
	set := func(body fields) *servertest.Reply { s.Control("PATCH", "/shops/"+s.ShopID, body); return s.Get("/me") }
	set(fields{
		"included_locations": 7,
		"max_locations":      9,
		"max_cards":          1000,
		"mcp_access":         false,
		"grant_expires_at":   "2026-04-01T00:00:00Z",
	}).WantOK(fields{"shop.included_locations": 7, "shop.max_locations": 9, "shop.max_cards": 1000, "entitlements.mcp_access": false,
		"entitlements.grant_expires_at": "2026-04-01T00:00:00.000Z", "entitlements.source.api_access": "addon"})
	set(fields{"api_addon": false}).Want(200).
		Shows(fields{"shop.api_addon": false, "entitlements.api_access": true, "entitlements.webhooks_advanced": true,
			"entitlements.source.api_access": "grant"})
	s.Advance("734h59m59.999s")
	s.Get("/me").Want(200)
	s.Advance("1ms") // when the grant ends
	if h := s.Get("/me").Want(401, "business_api_required").Header.Get("WWW-Authenticate"); h != "" {
		t.Errorf("WWW-Authenticate %q, though the key is valid", h)
	}
	set(fields{"api_addon": true, "grant_expires_at": nil}).WantOK(fields{
		"entitlements.source.api_access": "addon",
		"entitlements.grant_expires_at":  nil,
	})

	set(fields{"subscription_state": "past_due"}).Want(200) // for the other states see TestEveryOperationRefuses

	// A disabled location is still billed.
	s.Control("POST", "/locations", fields{"name": "Third"})
	s.Post("/locations/"+s.LocationIDs[0]+"/disable", nil).Want(200)
	s.Get("/me").Shows(fields{"shop.billable_locations": 3})
	s.With(s.RestrictedAPIKey).Get("/me").WantOK(fields{"api_key.location_ids": s.LocationIDs[:1]})
}

// TestMeKeys checks that each key sees its own shop, scopes and locations.
func TestMeKeys(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		scopes, locations []string
	}{
		{[]string{}, nil}, {[]string{"cards:read"}, nil},
		{[]string{"webhooks:write", "cards:read", "locations:read"}, s.LocationIDs}, {allScopes, s.LocationIDs[1:]},
	} {
		made := s.Control("POST", "/keys", fields{"scopes": c.scopes, "location_ids": append([]string{}, c.locations...)})
		want := []string{}
		for _, scope := range allScopes {
			if slices.Contains(c.scopes, scope) {
				want = append(want, scope)
			}
		}
		s.With(made.Str("key")).Get("/me").WantOK(fields{
			"api_key": fields{"id": made.Str("id"), "scopes": want, "location_ids": append([]string{}, c.locations...)},
		})
	}
	other, _ := newOtherShop(s)
	if id := other.Get("/me").Want(200).Str("shop.id"); id == s.ShopID || id == "" {
		t.Errorf("the other shop is %q", id)
	}
	other.Get("/me").Shows(fields{"shop.billable_locations": 1})
}
