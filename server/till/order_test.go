package till_test

import (
	"fmt"
	"testing"
	"time"

	"punchcard/store"
)

// TestOrderOfRefusals takes every pair of the refusals of contract section 4
// that can hold at once: the earlier one is given, and nothing is written.
func TestOrderOfRefusals(t *testing.T) {
	s := start(t, frozen)
	type scene struct {
		*server
		card, program, location, action string
	}
	now := func() int64 { return int64(s.app.Store.Now()) }
	refusals := []struct {
		name, want string
		set        func(*scene)
		clear      func(*scene) // where it is not the scene's own
	}{
		{"subscription", "422 subscription_suspended", func(c *scene) { s.control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": "suspended"}) },
			func(c *scene) { s.control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": "active"}) }},
		{"location", "422 location_disabled", func(c *scene) { s.rest().post("/locations/"+c.location+"/disable", nil).want(200) }, nil},
		{"PIN", "401 invalid_credentials", func(*scene) {}, nil},
		{"card", "404 not_found", func(c *scene) { c.card = "crd_none" }, nil},
		{"type", "422 unprocessable_entity", func(c *scene) { c.action = "/uses" }, nil},
		{"scope", "422 unprocessable_entity", func(c *scene) {
			s.rest().patch("/programs/"+c.program, fields{"location_scope": "selected_locations", "scoped_location_ids": s.LocationIDs[:1]}).want(200)
		}, nil},
		{"program", "422 card_suspended", func(c *scene) { s.rest().post("/programs/"+c.program+"/suspend", nil).want(200) }, nil},
		{"archived", "409 conflict", func(c *scene) {
			s.sql("UPDATE cards SET archived_at=? WHERE id=?", now(), s.row(store.KindCard, c.card))
		}, nil},
		{"expired", "422 card_expired", func(c *scene) {
			s.sql("UPDATE cards SET expires_at=?1, expiry_noted=?1 WHERE id=?2", now()-1, s.row(store.KindCard, c.card))
		}, nil},
		{"locked", "422 card_suspended", func(c *scene) {
			s.sql("UPDATE cards SET locked_at=? WHERE id=?", now(), s.row(store.KindCard, c.card))
		}, nil},
		{"own", "422 card_full_no_repeat", func(c *scene) { s.sql("UPDATE cards SET stamps_count=10 WHERE id=?", s.row(store.KindCard, c.card)) }, nil},
	}
	// Of two refusals with one code the message tells which it is.
	messages := map[string]string{}
	for i := range refusals {
		for j := i; j < len(refusals); j++ {
			first, second := refusals[i], refusals[j]
			t.Run(first.name+" before "+second.name, func(t *testing.T) {
				s := s.on(t)
				site := fields{} // a PIN only where one is refused: checking it is slow
				if first.name == "PIN" || second.name == "PIN" {
					site = fields{"require_staff_pin": true, "staff_pin": "1234"}
				}
				till, location := s.location(site)
				c := &scene{server: till, location: location, action: "/stamps"}
				c.card, c.program = s.card("standard", nil)
				defer func() {
					for _, r := range refusals {
						if r.clear != nil && (r.name == first.name || r.name == second.name) {
							r.clear(c)
						}
					}
				}()
				second.set(c) // the card's name last
				if i != j {
					if first.name == "card" {
						first.set(c)
					} else if second.name == "card" {
						real := &scene{server: c.server, card: c.card, program: c.program, location: c.location, action: c.action}
						real.card, _ = s.card("standard", nil)
						first.set(real)
						c.action = real.action
					} else {
						first.set(c)
					}
				}
				s.untouched(func() {
					r := c.post("/cards/"+c.card+c.action, fields{})
					r.refused(first.want)
					if i == j {
						messages[first.name] = r.str("error.message")
					} else if m := r.str("error.message"); m != messages[first.name] {
						t.Errorf("%q, want %q", m, messages[first.name])
					}
				})
				c.get("/cards/" + c.card).refused(map[bool]string{true: "404 not_found", false: "200"}[c.card == "crd_none"])
			})
		}
	}
	seen := map[string]string{}
	for name, m := range messages {
		if other, ok := seen[m]; ok {
			t.Errorf("%s and %s say the same: %q", name, other, m)
		}
		seen[m] = name
	}
}

// TestOrderEverywhere: the same holds for each action.
func TestOrderEverywhere(t *testing.T) {
	s := start(t, frozen)
	for action, body := range map[string]fields{"stamps": {}, "redemptions": {"prize_id": "prz_none"}, "topups": {"amount_cents": 1}, "spends": {"amount_cents": 1}, "uses": {}} {
		kinds := map[string][]string{"stamps": {"standard", "private"}, "redemptions": {"standard", "private"}, "topups": {"prepaid"}, "spends": {"prepaid"}, "uses": {"access", "discount"}}[action]
		for _, kind := range types {
			t.Run(fmt.Sprint(action, " of ", kind), func(t *testing.T) {
				s := s.on(t)
				card, program := s.card(kind, nil)
				give := func() *reply { return s.post("/cards/"+card+"/"+action, body) }
				fits := false
				for _, k := range kinds {
					fits = fits || k == kind
				}
				if !fits {
					s.untouched(func() { give().want(422, "unprocessable_entity") })
					return
				}
				s.rest().post("/programs/"+program+"/suspend", nil).want(200)
				s.untouched(func() { give().want(422, "card_suspended") })
				s.rest().post("/programs/"+program+"/unsuspend", nil).want(200)
				s.control("POST", "/cards/"+card+"/lock", fields{})
				s.untouched(func() { give().want(422, "card_suspended") })
				s.control("POST", "/cards/"+card+"/unlock", fields{})
				s.rest().patch("/cards/"+card, fields{"expires_at": s.in(time.Second)}).want(200)
				s.advance("1s")
				give().want(422, "card_expired")
				s.untouched(func() { give().want(422, "card_expired") })
				s.rest().get("/transactions?card_id=" + card).shows(fields{"data.0.type": "expiry", "data.0.stamps_delta": nil, "data.0.value_delta": nil, "data.1": nil})
				s.control("POST", "/cards/"+card+"/archive", fields{})
				s.untouched(func() { give().want(409, "conflict") })
			})
		}
	}
}

// in is an instant of the server's clock to come.
func (s *server) in(d time.Duration) string {
	return s.app.Store.Now().Std().Add(d).Format(time.RFC3339Nano)
}
