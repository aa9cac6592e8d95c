package api_test

import (
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// states are the states of a card, with the steps that lead to them. The step "expiry" issues the
// card with an expires_at that passes before the operation.
var states = []struct{ name, steps string }{
	{"invited", ""},
	{"active", "activate"},
	{"installed", "install"},
	{"locked", "lock"},
	{"installed locked", "install lock"},
	{"expired", "expiry"},
	{"installed expired", "expiry install"},
	{"installed locked expired", "expiry install lock"},
	{"archived", "archive"},
	{"locked archived", "lock archive"},
	{"installed archived", "install archive"},
	{"archived expired", "expiry archive"},
	{"deleted", "delete"},
}

const (
	soon   = "2026-03-01T12:00:00Z" // three hours after the time of a frozen clock
	future = "2027-01-01T00:00:00Z"
)

// operations are the operations on a card.
var operations = []struct {
	name string
	body fields // of a PATCH; nil for other operations
	same bool   // whether the card has the values of the body already
}{
	{"GET", nil, false},
	{"PATCH nothing", fields{}, false},
	{"PATCH external_ref", fields{"external_ref": "new"}, false},
	{"PATCH holder_name", fields{"holder_name": "new"}, false},
	{"PATCH holder_email", fields{"holder_email": "new@example.com", "external_ref": "new"}, false},
	{"PATCH holder_name unchanged", fields{"holder_name": "Ada"}, true},
	{"PATCH expires_at", fields{"expires_at": future}, false},
	{"PATCH expires_at null", fields{"expires_at": nil}, true},
	{"PATCH all", fields{"expires_at": future, "holder_name": "new", "holder_email": nil, "external_ref": "new"}, false},
	{"reissue", nil, false},
	{"operator reissue", nil, false},
	{"install-link", nil, false},
	{"operator lock", nil, false},
	{"operator unlock", nil, false},
	{"operator archive", nil, false},
	{"operator delete", nil, false},
}

const (
	conflict = "409 conflict"
	locked   = "409 card_locked"
	expired  = "409 card_expired"
	missing  = "404 not_found"
	deleted  = "deleted" // a read of the card is then answered 404
)

// cardOutcome returns the outcome of one of the operations on a card in one of the states: the status
// afterwards, a refusal, or deleted. After "=" and after a refusal the card must be unchanged.
func cardOutcome(state, operation string, body fields, same bool) string {
	is := func(word string) bool { return slices.Contains(strings.Fields(state), word) }
	unlocked := "invited"
	if is("active") || is("installed") {
		unlocked = "active"
	}
	current := unlocked // the status without regard to expires_at
	if is("locked") {
		current = "locked"
	}
	now := current
	if is("expired") {
		now = "expired"
	}
	if is("archived") {
		now = "archived"
	}
	method, _, _ := strings.Cut(operation, " ")
	_, setsExpiry := body["expires_at"]
	switch {
	case is("deleted"):
		return missing
	case operation == "operator delete":
		return deleted
	case operation == "operator archive" && !is("archived"):
		return "archived"
	case operation == "GET", operation == "PATCH nothing", operation == "operator archive":
		return "=" + now
	case is("archived"):
		return conflict
	case strings.HasSuffix(operation, "reissue"):
		return "invited"
	case operation == "PATCH external_ref":
		return now
	case method != "operator" && is("installed"):
		return locked
	case method != "operator" && is("expired") && !setsExpiry:
		return expired
	case method == "PATCH" && same && !is("expired"):
		return "=" + now
	case method == "PATCH":
		return current
	case is("expired"), operation == "install-link" && is("locked"):
		return conflict
	case operation == "operator lock" && !is("locked"):
		return "locked"
	case operation == "operator unlock" && is("locked"):
		return unlocked
	case operation == "install-link":
		return now
	}
	return "=" + now
}

// cardName returns the name of the card on which TestCardStates makes an operation in a state: that of the
// state if the card must stay as it is, else one of its own.
func cardName(state, operation string, body fields, same bool) string {
	want := cardOutcome(state, operation, body, same)
	if strings.HasPrefix(want, "=") || strings.HasPrefix(want, "4") {
		return state
	}
	return state + " " + operation
}

// operateCard makes one of the operations on a card.
func operateCard(s *servertest.Server, card, name string, body fields) *servertest.Reply {
	s.T.Helper()
	method, _, _ := strings.Cut(name, " ")
	switch method {
	case "GET":
		return s.Get("/cards/" + card)
	case "PATCH":
		return s.Patch("/cards/"+card, body)
	case "operator":
		return s.ControlAPI().Call("POST", "/cards/"+card+"/"+strings.TrimPrefix(name, "operator "), nil)
	}
	return s.Post("/cards/"+card+"/"+name, nil)
}

// TestCardStates combines every state with every operation. The operations that must leave the card as it is
// are made on the same card.
func TestCardStates(t *testing.T) {
	s := start(t, servertest.Frozen)
	program := s.ProgramIDs["discount"]
	cards := map[string]string{}
	for _, state := range states {
		for _, op := range servertest.Sample(operations) {
			if cards[cardName(state.name, op.name, op.body, op.same)] != "" {
				continue
			}
			body := fields{"holder_name": "Ada", "holder_email": "ada@example.com"}
			if strings.HasPrefix(state.steps, "expiry") {
				body["expires_at"] = soon
			}
			card := s.Issue(program, body)
			for _, step := range strings.Fields(state.steps) {
				switch step {
				case "expiry":
				case "activate":
					s.Activate(card)
				case "install":
					s.Install(card)
				default:
					s.Control("POST", "/cards/"+card+"/"+step, nil)
				}
			}
			cards[cardName(state.name, op.name, op.body, op.same)] = card
		}
	}
	// The cards with an expiry expire at noon and not a millisecond before.
	s.Advance("2h59m59.999s")
	s.Get("/cards/" + cards["expired"]).Shows(fields{"status": "invited"})
	s.Advance("1ms")
	for _, state := range states {
		for _, op := range servertest.Sample(operations) {
			t.Run(state.name+"/"+op.name, func(t *testing.T) {
				s, card := s.On(t), cards[cardName(state.name, op.name, op.body, op.same)]
				body := servertest.Merge(op.body, nil)
				want := cardOutcome(state.name, op.name, body, op.same)
				if body["external_ref"] != nil {
					body["external_ref"] = card // which no other card has
				}
				was, audits := s.Get("/cards/"+card), countAudits(s)
				r := operateCard(s, card, op.name, body)
				after := s.Get("/cards/" + card)
				status, unchanged := strings.CutPrefix(want, "=")
				if want == deleted {
					r.Want(204)
					after.WantOutcome(missing)
					return
				}
				if strings.HasPrefix(want, "4") {
					r.WantOutcome(want)
					unchanged = true
				} else {
					r.Want(200)
					after.Shows(fields{"status": status})
					if strings.HasPrefix(op.name, "PATCH") {
						r.Same(after)
					}
				}
				if audited := countAudits(s) != audits; audited == unchanged {
					t.Errorf("audited: %t", audited)
				}
				if unchanged && after.Status == 200 {
					after.Same(was)
				}
				if !unchanged {
					checkEffect(s, after, op.name, body)
				}
			})
		}
	}
}

// checkEffect checks the fields that an operation changes.
func checkEffect(s *servertest.Server, after *servertest.Reply, op string, body fields) {
	s.T.Helper()
	if len(body) > 0 {
		want := servertest.Merge(body, nil)
		if v := want["expires_at"]; v != nil {
			want["expires_at"] = strings.Replace(v.(string), "Z", ".000Z", 1)
		}
		after.Shows(want)
	}
	if strings.HasSuffix(op, "reissue") {
		after.Shows(fields{"installed_at": nil, "holder_name": "Ada", "holder_email": "ada@example.com", "expires_at": nil})
	}
}

// TestNoLinksWhileSuspended checks that neither the REST API nor an operator can give a card of a
// suspended program a new link, and that the refusals leave the card unchanged.
func TestNoLinksWhileSuspended(t *testing.T) {
	s := start(t, servertest.Frozen)
	program := s.NewProgram("standard", true, nil)
	card := s.Issue(program, nil)
	late := s.Issue(program, fields{"expires_at": s.App.Store.Now().Add(3600_000_000_000).String()})
	s.Advance("1h")
	const suspended = "422 unprocessable_entity"
	s.Post("/programs/"+program+"/suspend", nil).Want(200)
	was, audits := s.Get("/cards/"+card), countAudits(s)
	for _, id := range []string{card, late} {
		s.Post("/cards/"+id+"/reissue", fields{"holder_name": "Grace", "expires_at": "2027-01-01T00:00:00Z"}).WantOutcome(suspended)
		s.ControlAPI().Call("POST", "/cards/"+id+"/reissue", nil).WantOutcome(suspended)
	}
	s.Post("/cards/"+card+"/install-link", nil).WantOutcome(suspended)
	s.Post("/cards/"+late+"/install-link", nil).WantOutcome(expired) // the card's state is checked first
	s.Get("/cards/" + card).Same(was)
	if countAudits(s) != audits {
		t.Error("a refusal is audited")
	}
	s.Post("/programs/"+program+"/unsuspend", nil).Want(200)
	s.Post("/cards/"+card+"/install-link", nil).Want(200)
	s.Post("/cards/"+late+"/reissue", nil).Want(200)
	s.Control("POST", "/cards/"+card+"/lock", nil)
	s.Post("/cards/"+card+"/install-link", nil).WantOutcome(conflict)
	s.Post("/cards/"+card+"/reissue", nil).Want(200)
}
