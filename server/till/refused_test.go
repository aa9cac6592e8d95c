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
	return map[string]fields{
		"issueCardAtCounter": {}, "stampCard": {"count": 1}, "redeemPrize": {"prize_id": prize}, "topUpCard": {"amount_cents": 100},
		"spendFromCard": {"amount_cents": 100}, "useCard": {}, "reverseTransaction": {},
		"connectCode":      {"code": "4006381333931"},
		"setHolder":        {"holder_name": "Ada"},
		"openStaffSession": {"staff_id": "stf_none", "pin": "1234"}, "closeStaffSession": {},
	}
}

// refusedCaller is a caller that some operations refuse.
type refusedCaller struct {
	name   string
	client *servertest.Server
	want   func(kernel.Route) string // the outcome of an operation, "" for one that does not refuse
}

// always returns the outcome of callers that every operation refuses.
func always(want string) func(kernel.Route) string { return func(kernel.Route) string { return want } }

// writes returns the outcome of callers that writes refuse. Those that need no staff may be called
// without a PIN.
func writes(want string) func(kernel.Route) string {
	return func(r kernel.Route) string {
		if r.Writes() && !(r.WithoutStaff && want == "401 invalid_credentials") {
			return want
		}
		return ""
	}
}

// refusedCallers returns every kind of caller that operations on things of the demo shop's first
// location refuse.
func refusedCallers(s *servertest.Server) []refusedCaller {
	s.T.Helper()
	revoked := s.NewDevice(s.LocationIDs[0])
	s.SQL("UPDATE devices SET revoked_at=? WHERE id=(SELECT max(id) FROM devices)", int64(s.App.Store.Now()))
	disabled, closed := newTill(s, fields{})
	setLocation(s, closed, "disable")
	asked, _ := newTill(s, fields{"require_staff_pin": true, "staff_pin": "2468"})
	unset, _ := newTill(s, fields{"require_staff_pin": true})
	elsewhere, _ := newTill(s, fields{})
	shop := func(state string) *servertest.Server {
		r := s.Control("POST", "/shops", nil)
		if state != "" {
			s.Control("PATCH", "/shops/"+r.Str("shop_id"), fields{"subscription_state": state})
		}
		return s.With(r.Str("till_token"))
	}
	return []refusedCaller{
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
				return ""
			}
			return "404 not_found"
		}},
		{"another location's reversal", elsewhere, func(r kernel.Route) string {
			if r.ID == "reverseTransaction" {
				return "404 not_found"
			}
			return ""
		}},
	}
}

// TestEveryOperationRefuses calls every operation as each caller that it refuses, and checks the
// refusal and that nothing is written.
func TestEveryOperationRefuses(t *testing.T) {
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
	for _, c := range refusedCallers(s) {
		t.Run(c.name, func(t *testing.T) {
			k, refused := c.client.On(t), 0
			for _, r := range till.Routes() {
				sample, known := bodies[r.ID]
				if r.Writes() && !known {
					t.Fatalf("%s has no sample", r.ID)
				}
				want := c.want(r)
				if want == "" {
					continue
				}
				var body any
				var headers []string
				if r.Writes() {
					body = sample
				}
				if r.Writes() && want != "404 not_found" { // refusals by the guard are not remembered
					headers = []string{idempotent, r.ID}
				}
				s.On(t).Unchanged(func() { k.Call(r.Method, path(r), body, headers...).WantOutcome(want) })
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
