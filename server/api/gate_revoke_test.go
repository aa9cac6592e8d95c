package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"punchcard/store"
)

// besides opens the server's file a second time, as the command line does.
func (s *server) besides() *store.Store {
	s.t.Helper()
	now := func() time.Time { return s.app.Store.Now().Std() }
	st, err := store.Open(s.app.Store.Path(), store.Options{MustExist: true, Now: now})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { st.Close() })
	return st
}

// change writes through another process's store.
func change(t *testing.T, st *store.Store, do func(*store.Tx) error) {
	t.Helper()
	if err := st.Write(context.Background(), store.Write{Actor: store.Actor{Type: "user", Name: "operator"}, Do: do}); err != nil {
		t.Fatal(err)
	}
}

// TestRevokedByAnotherProcess: whatever the next request would have been
// answered, it is 401.
func TestRevokedByAnotherProcess(t *testing.T) {
	t.Parallel()
	s := start(t, frozen, manyKeys, perMinute(20))
	other := s.besides()
	shop, err := other.ResolveShop(s.ShopID)
	if err != nil {
		t.Fatal(err)
	}
	th := s.things()
	requests := map[string]func(k *server) *reply{
		"200":       func(k *server) *reply { return k.get("/cards/" + th.card) },
		"200 list":  func(k *server) *reply { return k.get("/cards") },
		"200 /me":   func(k *server) *reply { return k.get("/me") },
		"200 PATCH": func(k *server) *reply { return k.patch("/cards/"+th.card, `{"holder_name":"Eve"}`) },
		"200 no-op": func(k *server) *reply { return k.patch("/cards/"+th.card, `{}`) },
		"201":       func(k *server) *reply { return k.post("/programs/"+th.program+"/cards", `{"external_ref":"late"}`) },
		"400":       func(k *server) *reply { return k.patch("/cards/"+th.card, `{"holder_name":5}`) },
		"400 query": func(k *server) *reply { return k.get("/cards?limit=0") },
		"400 key":   func(k *server) *reply { return k.patch("/cards/"+th.card, `{}`, "Idempotency-Key", "") },
		"403":       func(k *server) *reply { return k.get("/programs") },
		"404":       func(k *server) *reply { return k.get("/cards/none") },
		"404 PATCH": func(k *server) *reply { return k.patch("/cards/none", `{}`) },
		"413":       func(k *server) *reply { return k.patch("/cards/"+th.card, strings.Repeat(" ", 1<<20+1)) },
		"415": func(k *server) *reply {
			h := http.Header{"Authorization": {"Bearer " + k.key}, "Content-Type": {"text/plain"}}
			return k.fetch("PATCH", s.base+"/cards/"+th.card, []byte(`{}`), h)
		},
		"replay": func(k *server) *reply {
			return k.post("/cards/"+th.card+"/install-link", nil, "Idempotency-Key", "replay "+k.key)
		},
		"replayed 404": func(k *server) *reply { return k.patch("/cards/none", `{}`, "Idempotency-Key", "404 "+k.key) },
		"409":          func(k *server) *reply { return k.patch("/cards/"+th.card, `{"x":1}`, "Idempotency-Key", "409 "+k.key) },
		"429":          func(k *server) *reply { return k.get("/me") },
	}
	for name, request := range requests {
		t.Run(name, func(t *testing.T) {
			k, id := s.newKey(map[string]any{"scopes": []string{"cards:read", "cards:write"}})
			k.t = t
			switch name {
			case "replay", "replayed 404":
				request(k)
			case "409":
				k.patch("/cards/"+th.card, `{}`, "Idempotency-Key", "409 "+k.key).want(200)
			case "429":
				k.exhaust()
			}
			world := s.world(th.program)
			k.get("/cards/" + th.card) // last, so that the server knows the key, and by the newest epoch
			change(t, other, func(tx *store.Tx) error { _, err := tx.RevokeKey(shop, id); return err })
			got := request(k).want(401, "unauthenticated")
			for _, h := range []string{"RateLimit-Limit", "RateLimit-Remaining", "Retry-After", "Idempotent-Replayed"} {
				if v := got.header.Get(h); v != "" {
					t.Errorf("%s: %s", h, v)
				}
			}
			if s.world(th.program) != world {
				t.Error("the request changed something")
			}
			s.control("POST", "/clock", map[string]any{"advance": "1m"}) // for s's own bucket
		})
	}
}

// TestChangedByAnotherProcess: add-on, subscription and locations hold from the
// next request on, both ways.
func TestChangedByAnotherProcess(t *testing.T) {
	t.Parallel()
	s := start(t)
	other := s.besides()
	shop, err := other.ResolveShop(s.ShopID)
	if err != nil {
		t.Fatal(err)
	}
	k := s.with(s.RestrictedAPIKey)
	set := func(f store.ShopFields) {
		change(t, other, func(tx *store.Tx) error { _, err := tx.UpdateShop(shop, f); return err })
	}
	state := func(v string) store.ShopFields {
		return store.ShopFields{SubscriptionState: store.Opt[string]{V: v, Set: true}}
	}
	addon := func(v bool) store.ShopFields { return store.ShopFields{APIAddon: store.Opt[bool]{V: v, Set: true}} }
	location := func(active bool) {
		change(t, other, func(tx *store.Tx) error {
			_, err := tx.SetLocationActive(store.Access{Shop: shop}, s.LocationIDs[0], active)
			return err
		})
	}
	for range 2 {
		k.get("/programs").want(200)
		set(addon(false))
		k.get("/programs").want(401, "business_api_required")
		set(addon(true))
		k.get("/programs").want(200)
		set(state("suspended"))
		k.get("/programs").want(402, "subscription_suspended")
		set(state("active"))
		k.get("/programs").want(200)
		location(false)
		k.get("/programs").want(402, "location_disabled")
		location(true)
		k.get("/programs").want(200)
	}

	// A key made and one rotated elsewhere work at once, too.
	var secret, id string
	change(t, other, func(tx *store.Tx) error {
		key, sec, err := tx.CreateKey(shop, store.KeyFields{})
		secret, id = sec, key.ID
		return err
	})
	s.with(secret).get("/me").want(200)
	change(t, other, func(tx *store.Tx) error {
		_, _, err := tx.RotateKey(shop, id, store.Some(time.Duration(0)))
		return err
	})
	s.with(secret).get("/me").want(401, "unauthenticated")

	change(t, other, func(tx *store.Tx) error { _, err := tx.RevokeAllKeys(shop); return err })
	s.get("/me").want(401, "unauthenticated")
	k.get("/me").want(401, "unauthenticated")
}
