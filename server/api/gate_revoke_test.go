package api_test

import (
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// TestRevokedByAnotherProcess checks that the next request with a revoked key is answered 401,
// whatever its answer would be with a valid key.
func TestRevokedByAnotherProcess(t *testing.T) {
	s := start(t, servertest.Frozen, manyKeys, perMinute(20))
	other := s.Beside()
	shop := require.Must(other.ResolveShop(s.ShopID))
	th := newThings(s)
	card := "/cards/" + th.card
	for _, c := range []struct {
		want   string // what a valid key would get
		method string
		path   string
		body   any
	}{
		{"200 of a read", "GET", card, nil},
		{"200 of a write", "PATCH", card, `{"holder_name":"Eve"}`},
		{"400", "PATCH", card, `{"holder_name":5}`},
		{"403", "GET", "/programs", nil},
		{"404", "PATCH", "/cards/none", `{}`},
		{"413", "PATCH", card, strings.Repeat(" ", 1<<20+1)},
		{"a replay", "POST", card + "/install-link", nil},
		{"409", "POST", card + "/install-link", `{"x":1}`},
		{"429", "GET", "/me", nil},
	} {
		t.Run(c.want, func(t *testing.T) {
			k, id := s.NewKey(fields{"scopes": []string{"cards:read", "cards:write"}})
			k.T = t
			headers := []string{"Idempotency-Key", "k"}
			switch c.want {
			case "a replay":
				k.Call(c.method, c.path, c.body, headers...)
			case "409":
				k.Call(c.method, c.path, nil, headers...).Want(200)
			case "429":
				exhaustLimit(k)
			}
			state := snapshot(s, th.program)
			k.Get(card) // last, so that the server has cached the key with the newest epoch
			servertest.Write(t, other, func(tx *store.Tx) error { _, err := tx.RevokeKey(shop, id); return err })
			got := k.Call(c.method, c.path, c.body, headers...).Want(401, "unauthenticated")
			for _, h := range []string{"RateLimit-Limit", "RateLimit-Remaining", "Retry-After", "Idempotent-Replayed"} {
				if v := got.Header.Get(h); v != "" {
					t.Errorf("%s: %s", h, v)
				}
			}
			if snapshot(s, th.program) != state {
				t.Error("the request changed something")
			}
			s.Advance("1m") // refills the rate limit of s
		})
	}
}

// TestChangedByAnotherProcess checks that changes of the add-on, the subscription, locations and keys
// take effect with the next request.
func TestChangedByAnotherProcess(t *testing.T) {
	s := start(t)
	other := s.Beside()
	shop := require.Must(other.ResolveShop(s.ShopID))
	k := s.With(s.RestrictedAPIKey)
	set := func(f store.ShopFields) {
		servertest.Write(t, other, func(tx *store.Tx) error { _, err := tx.UpdateShop(shop, f, ""); return err })
	}
	state := func(v string) store.ShopFields {
		return store.ShopFields{SubscriptionState: store.Opt[string]{V: v, Set: true}}
	}
	addon := func(v bool) store.ShopFields { return store.ShopFields{APIAddon: store.Opt[bool]{V: v, Set: true}} }
	location := func(active bool) {
		servertest.Write(t, other, func(tx *store.Tx) error {
			_, err := tx.SetLocationActive(store.Access{Shop: shop}, s.LocationIDs[0], active)
			return err
		})
	}
	for range 2 {
		k.Get("/programs").Want(200)
		set(addon(false))
		k.Get("/programs").Want(401, "business_api_required")
		set(addon(true))
		k.Get("/programs").Want(200)
		set(state("suspended"))
		k.Get("/programs").Want(402, "subscription_suspended")
		set(state("active"))
		k.Get("/programs").Want(200)
		location(false)
		k.Get("/programs").Want(402, "location_disabled")
		location(true)
		k.Get("/programs").Want(200)
	}

	servertest.Write(t, other, func(tx *store.Tx) error { _, err := tx.RevokeAllKeys(shop); return err })
	s.Get("/me").Want(401, "unauthenticated")
	k.Get("/me").Want(401, "unauthenticated")
}
