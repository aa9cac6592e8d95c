package till_test

import (
	"fmt"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestOrderOfRefusals combines every two refusals that can occur together. The one that is earlier
// in the list below must be given, and nothing may be written.
func TestOrderOfRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	type scene struct {
		*servertest.Server
		card, program, location, action string
	}
	now := func() int64 { return int64(s.App.Store.Now()) }
	refusals := []struct {
		name, want string
		set        func(*scene)
		clear      func(*scene) // nil for the scene's own
	}{
		{"subscription", "422 subscription_suspended", func(c *scene) { s.Control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": "suspended"}) },
			func(c *scene) { s.Control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": "active"}) }},
		{"location", "422 location_disabled", func(c *scene) { s.REST().Post("/locations/"+c.location+"/disable", nil).Want(200) }, nil},
		{"PIN", "401 invalid_credentials", func(*scene) {}, nil},
		{"card", "404 not_found", func(c *scene) { c.card = "crd_none" }, nil},
		{"type", "422 unprocessable_entity", func(c *scene) { c.action = "/uses" }, nil},
		{"scope", "422 unprocessable_entity", func(c *scene) {
			s.REST().Patch("/programs/"+c.program, fields{"location_scope": "selected_locations", "scoped_location_ids": s.LocationIDs[:1]}).Want(200)
		}, nil},
		{"program", "422 card_suspended", func(c *scene) { s.REST().Post("/programs/"+c.program+"/suspend", nil).Want(200) }, nil},
		{"archived", "409 conflict", func(c *scene) {
			s.SQL("UPDATE cards SET archived_at=? WHERE id=?", now(), s.Row(store.KindCard, c.card))
		}, nil},
		{"expired", "422 card_expired", func(c *scene) {
			s.SQL("UPDATE cards SET expires_at=?1, expiry_noted=?1 WHERE id=?2", now()-1, s.Row(store.KindCard, c.card))
		}, nil},
		{"locked", "422 card_suspended", func(c *scene) {
			s.SQL("UPDATE cards SET locked_at=? WHERE id=?", now(), s.Row(store.KindCard, c.card))
		}, nil},
		{"own", "422 card_full_no_repeat", func(c *scene) { s.SQL("UPDATE cards SET stamps_count=10 WHERE id=?", s.Row(store.KindCard, c.card)) }, nil},
	}
	// Two refusals with the same code differ in their message.
	messages := map[string]string{}
	for i := range refusals {
		for j := i; j < len(refusals); j++ {
			first, second := refusals[i], refusals[j]
			if testing.Short() && i != j && (i+j)%4 != 0 { // see servertest.Sample
				continue
			}
			t.Run(first.name+" before "+second.name, func(t *testing.T) {
				s := s.On(t)
				required := fields{} // a PIN only if it is under test, since hashing is slow
				if first.name == "PIN" || second.name == "PIN" {
					required = fields{"require_staff_pin": true, "staff_pin": "1234"}
				}
				till, location := newTill(s, required)
				c := &scene{Server: till, location: location, action: "/stamps"}
				c.card, c.program = newCard(s, "standard", nil)
				defer func() {
					for _, r := range refusals {
						if r.clear != nil && (r.name == first.name || r.name == second.name) {
							r.clear(c)
						}
					}
				}()
				second.set(c) // after the first, since it may change the card's name
				if i != j {
					if first.name == "card" {
						first.set(c)
					} else if second.name == "card" {
						real := &scene{Server: c.Server, card: c.card, program: c.program, location: c.location, action: c.action}
						real.card, _ = newCard(s, "standard", nil)
						first.set(real)
						c.action = real.action
					} else {
						first.set(c)
					}
				}
				s.Unchanged(func() {
					r := c.Post("/cards/"+c.card+c.action, fields{})
					r.WantOutcome(first.want)
					if i == j {
						messages[first.name] = r.Str("error.message")
					} else if m := r.Str("error.message"); m != messages[first.name] {
						t.Errorf("%q, want %q", m, messages[first.name])
					}
				})
				c.Get("/cards/" + c.card).WantOutcome(map[bool]string{true: "404 not_found", false: "200"}[c.card == "crd_none"])
			})
		}
	}
	seen := map[string]string{}
	for name, m := range messages {
		if other, ok := seen[m]; ok {
			t.Errorf("%s and %s have the same message: %q", name, other, m)
		}
		seen[m] = name
	}
}

// TestOrderEverywhere checks the order of refusals for each action.
func TestOrderEverywhere(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	for action, body := range map[string]fields{"stamps": {}, "redemptions": {"prize_id": "prz_none"}, "topups": {"amount_cents": 1}, "spends": {"amount_cents": 1}, "uses": {}} {
		kinds := map[string][]string{"stamps": {"standard", "private"}, "redemptions": {"standard", "private"}, "topups": {"prepaid"}, "spends": {"prepaid"}, "uses": {"access", "discount"}}[action]
		for _, kind := range servertest.Types {
			t.Run(fmt.Sprint(action, " of ", kind), func(t *testing.T) {
				s := s.On(t)
				card, program := newCard(s, kind, nil)
				give := func() *servertest.Reply { return s.Post("/cards/"+card+"/"+action, body) }
				fits := false
				for _, k := range kinds {
					fits = fits || k == kind
				}
				if !fits {
					s.Unchanged(func() { give().Want(422, "unprocessable_entity") })
					return
				}
				s.REST().Post("/programs/"+program+"/suspend", nil).Want(200)
				s.Unchanged(func() { give().Want(422, "card_suspended") })
				s.REST().Post("/programs/"+program+"/unsuspend", nil).Want(200)
				s.Control("POST", "/cards/"+card+"/lock", fields{})
				s.Unchanged(func() { give().Want(422, "card_suspended") })
				s.Control("POST", "/cards/"+card+"/unlock", fields{})
				s.REST().Patch("/cards/"+card, fields{"expires_at": timeIn(s, time.Second)}).Want(200)
				s.Advance("1s")
				give().Want(422, "card_expired")
				s.Unchanged(func() { give().Want(422, "card_expired") })
				s.REST().Get("/transactions?card_id=" + card).Shows(fields{"data.0.type": "expiry", "data.0.stamps_delta": nil, "data.0.value_delta": nil, "data.1": nil})
				s.Control("POST", "/cards/"+card+"/archive", fields{})
				s.Unchanged(func() { give().Want(409, "conflict") })
			})
		}
	}
}

// timeIn returns the time that the server's clock shows after d.
func timeIn(s *servertest.Server, d time.Duration) string {
	return s.App.Store.Now().Std().Add(d).Format(time.RFC3339Nano)
}
