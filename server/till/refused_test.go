package till_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/servertest"
	"punchcard/server/till"
	"punchcard/store"
)

// samples returns bodies with which the operations succeed.
func samples(prize string) map[string]fields {
	return map[string]fields{"issueCardAtCounter": {}, "stampCard": {"count": 1}, "redeemPrize": {"prize_id": prize}, "topUpCard": {"amount_cents": 100},
		"spendFromCard": {"amount_cents": 100}, "useCard": {}, "reverseTransaction": {},
		"openStaffSession": {"staff_id": "stf_none", "pin": "1234"}, "closeStaffSession": {}}
}

// TestEveryOperationRefuses calls every operation as each device that may not invoke it, and checks
// the refusal and that nothing is written.
func TestEveryOperationRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	program := s.NewProgram("standard", true, nil)
	prize := s.NewPrize(program, 5)
	card := s.Issue(program, nil)
	row := giveStamps(s, card, 5).Str("transaction.id")
	bodies := samples(prize)
	path := func(r kernel.Route) string {
		id := program
		if strings.HasPrefix(r.Path, "/transactions") {
			id = row
		}
		return strings.NewReplacer(":code", card, ":id", id).Replace(r.Path)
	}

	revoked := s.NewDevice(s.LocationIDs[0])
	s.SQL("UPDATE devices SET revoked_at=? WHERE id=(SELECT max(id) FROM devices)", int64(s.App.Store.Now()))
	disabled, closed := newTill(s, fields{})
	s.REST().Post("/locations/"+closed+"/disable", nil).Want(200)
	asked, _ := newTill(s, fields{"require_staff_pin": true, "staff_pin": "2468"})
	unset, _ := newTill(s, fields{"require_staff_pin": true})
	elsewhere, _ := newTill(s, fields{})
	shop := func(state string) *servertest.Server {
		r := s.Control("POST", "/shops", fields{})
		if state != "" {
			s.Control("PATCH", "/shops/"+r.Str("shop_id"), fields{"subscription_state": state})
		}
		return s.With(r.Str("till_token"))
	}

	const letIn = ""
	always := func(want string) func(kernel.Route) string { return func(kernel.Route) string { return want } }
	writes := func(want string) func(kernel.Route) string {
		return func(r kernel.Route) string {
			if r.Writes() && !(r.WithoutStaff && want == "401 invalid_credentials") {
				return want
			}
			return letIn
		}
	}
	for _, c := range []struct {
		caller string
		key    *servertest.Server
		want   func(kernel.Route) string
	}{
		{"no token", s.With(""), always("401 unauthenticated")},
		{"malformed token", s.With(s.TillToken[:51]), always("401 unauthenticated")},
		{"unknown token", s.With("tdk_test_" + strings.Repeat("A", 43)), always("401 unauthenticated")},
		{"token in the other mode", s.With("tdk_live_" + s.TillToken[9:]), always("401 unauthenticated")},
		{"API key", s.With(s.APIKey), always("401 unauthenticated")},
		{"MCP key", s.With(s.MCPKey), always("401 unauthenticated")},
		{"revoked device", revoked, always("401 unauthenticated")},
		{"disabled location", disabled, writes("422 location_disabled")},
		{"location with a PIN, none sent", asked, writes("401 invalid_credentials")},
		{"location that demands a PIN and has none", unset, writes("401 invalid_credentials")},
		{"suspended shop", shop("suspended"), writes("422 subscription_suspended")},
		{"cancelled shop", shop("cancelled"), writes("422 subscription_suspended")},
		{"another shop's token", shop(""), func(r kernel.Route) string {
			if !strings.Contains(r.Path, ":") {
				return letIn
			}
			return "404 not_found"
		}},
		{"another location's reversal", elsewhere, func(r kernel.Route) string {
			if r.ID == "reverseTransaction" {
				return "404 not_found"
			}
			return letIn
		}},
	} {
		t.Run(c.caller, func(t *testing.T) {
			k, refused := c.key.On(t), 0
			for _, r := range till.Routes() {
				body, known := bodies[r.ID]
				if r.Writes() && !known {
					t.Fatalf("%s has no sample", r.ID)
				}
				want := c.want(r)
				if want == letIn {
					continue
				}
				var headers []string
				if r.Writes() && want != "404 not_found" { // refusals by the guard are not remembered
					headers = []string{"Idempotency-Key", r.ID}
				}
				s.On(t).Unchanged(func() {
					if r.Writes() {
						k.Call(r.Method, path(r), body, headers...).WantOutcome(want)
					} else {
						k.Call(r.Method, path(r), nil, headers...).WantOutcome(want)
					}
				})
				refused++
			}
			if refused == 0 {
				t.Error("nothing was refused")
			}
		})
	}
	// The same requests by the right device succeed.
	for _, id := range []string{"reverseTransaction", "stampCard", "issueCardAtCounter"} {
		r := till.Routes()[slices.IndexFunc(till.Routes(), func(r kernel.Route) bool { return r.ID == id })]
		s.Post(path(r), bodies[id]).Want(201)
	}
}

// TestStatuses checks that the till API answers 422 where a till cannot resolve
// the refusal, and has the statuses of the REST API otherwise.
func TestStatuses(t *testing.T) {
	differ := map[store.Code]bool{store.SubscriptionSuspended: true, store.LocationDisabled: true, store.CardExpired: true}
	for code, meaning := range kernel.Codes {
		want := meaning.Status
		if differ[code] {
			want = http.StatusUnprocessableEntity
		}
		if got := till.Status(code); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}
