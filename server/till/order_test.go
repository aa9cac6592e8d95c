package till_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/store"
)

// scene is a write of a card by a till, whose client it has.
type scene struct {
	*servertest.Server
	card, program, location, action string
}

// newScene returns a scene of a new card, program and location in which nothing is refused,
// except that the till demands a PIN if withPIN is set. Others have none, since hashing is slow.
func newScene(s *servertest.Server, withPIN bool) *scene {
	s.T.Helper()
	required := fields{}
	if withPIN {
		required = fields{"require_staff_pin": true, "staff_pin": "1234"}
	}
	till, location := newTill(s, required)
	c := &scene{Server: till, location: location, action: "/stamps"}
	c.card, c.program = newCard(s, "standard", nil)
	return c
}

// setState sets the state of the shop's subscription.
func (c *scene) setState(state string) {
	c.T.Helper()
	c.Control("PATCH", "/shops/"+c.ShopID, fields{"subscription_state": state})
}

// setCard changes columns of the card. ?1 is the server's time.
func (c *scene) setCard(columns string) {
	c.T.Helper()
	c.SQL("UPDATE cards SET "+columns+" WHERE id=?2", int64(c.App.Store.Now()), c.Row(store.KindCard, c.card))
}

// refusal is a reason to refuse a write. set makes it apply to a scene.
type refusal struct {
	name, want string
	set        func(*scene)
}

// refusals are the reasons in the order in which they are checked.
var refusals = []refusal{
	{"subscription", "422 subscription_suspended", func(c *scene) { c.setState("suspended") }},
	{"location", "422 location_disabled", func(c *scene) { c.REST().Post("/locations/"+c.location+"/disable", nil).Want(200) }},
	{"PIN", "401 invalid_credentials", func(*scene) {}}, // see newScene
	{"card", "404 not_found", func(c *scene) { c.card = "crd_none" }},
	{"type", "422 unprocessable_entity", func(c *scene) { c.action = "/uses" }},
	{"scope", "422 unprocessable_entity", func(c *scene) {
		c.REST().Patch("/programs/"+c.program, fields{
			"location_scope": "selected_locations", "scoped_location_ids": c.LocationIDs[:1],
		}).Want(200)
	}},
	{"program", "422 card_suspended", func(c *scene) { c.REST().Post("/programs/"+c.program+"/suspend", nil).Want(200) }},
	{"archived", "409 conflict", func(c *scene) { c.setCard("archived_at=?1") }},
	{"expired", "422 card_expired", func(c *scene) { c.setCard("expires_at=?1-1, expiry_noted=?1-1") }},
	{"locked", "422 card_suspended", func(c *scene) { c.setCard("locked_at=?1") }},
	{"own", "422 card_full_no_repeat", func(c *scene) { c.setCard("stamps_count=10") }},
}

// TestOrderOfRefusals checks each refusal alone and together with all later ones. It must be given, and
// nothing may be written. For the refusals of each action see TestLedgerFollowsItsModel in the store.
func TestOrderOfRefusals(t *testing.T) {
	s := start(t, servertest.Frozen)
	messages := map[string]string{} // by the name of the refusal
	for i, first := range refusals {
		for _, all := range [][]refusal{refusals[i : i+1], refusals[i:]} {
			t.Run(fmt.Sprint(first.name, " of ", len(all)), func(t *testing.T) {
				c := newScene(s.On(t), slices.ContainsFunc(all, func(r refusal) bool { return r.name == "PIN" }))
				defer c.setState("active")
				for _, r := range slices.Backward(all) { // the first may be that there is no such card
					r.set(c)
				}
				c.Unchanged(func() {
					r := c.Post("/cards/"+c.card+c.action, fields{})
					r.WantOutcome(first.want)
					if len(all) == 1 {
						messages[first.name] = r.Str("error.message")
					} else if m := r.Str("error.message"); m != messages[first.name] {
						t.Errorf("%q, want %q", m, messages[first.name])
					}
				})
				c.Get("/cards/" + c.card).WantOutcome(map[bool]string{true: "404 not_found", false: "200"}[c.card == "crd_none"])
			})
		}
	}
	// Two refusals with the same code differ in their message.
	seen := map[string]string{}
	for name, m := range messages {
		if other, ok := seen[m]; ok {
			t.Errorf("%s and %s have the same message: %q", name, other, m)
		}
		seen[m] = name
	}
}

// timeIn returns the time that the server's clock shows after d.
func timeIn(s *servertest.Server, d time.Duration) string {
	return s.App.Store.Now().Std().Add(d).Format(time.RFC3339Nano)
}
