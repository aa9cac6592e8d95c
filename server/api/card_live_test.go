package api_test

import (
	"testing"

	"punchcard/server/servertest"
)

// bringInto brings a card into a status, or deletes it. It does nothing for "expired": a card with
// the fields of expiry expires when the clock is advanced.
func bringInto(s *servertest.Server, state, card string) {
	s.T.Helper()
	switch state {
	case "active":
		s.Activate(card)
	case "installed":
		s.Install(card)
	case "locked":
		s.Control("POST", "/cards/"+card+"/lock", fields{})
	case "archived":
		s.Control("POST", "/cards/"+card+"/archive", fields{})
	case "deleted":
		s.Control("POST", "/cards/"+card+"/delete", fields{})
	}
}

// expiry returns the fields of a new card that bringInto is to bring into a status.
func expiry(state string) fields {
	if state == "expired" {
		return fields{"expires_at": soon}
	}
	return nil
}

// TestOneLiveCard combines every status of a card that has an external_ref with
// every way of giving it to a second card of the program.
func TestOneLiveCard(t *testing.T) {
	t.Parallel()
	live := map[string]bool{
		"invited":   true,
		"active":    true,
		"installed": true,
		"locked":    true,
		"expired":   false,
		"archived":  false,
		"deleted":   false,
	}
	for state, blocks := range live {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			s := start(t, servertest.Frozen)
			program, elsewhere := s.NewProgram("access", true, nil), s.NewProgram("access", true, nil)
			other, _ := newOtherShop(s)
			foreign := other.NewProgram("access", true, nil)
			first := s.Issue(program, servertest.Merge(fields{"external_ref": "r"}, expiry(state)))
			bringInto(s, state, first)
			// These cards get the reference while they are expired, which is allowed. The operations
			// below try to make them live again.
			patched := s.Issue(program, expiry("expired"))
			both := s.Issue(program, expiry("expired"))
			cleared := s.Issue(program, expiry("expired"))
			again := s.Issue(program, expiry("expired"))
			free := s.Issue(program, nil)
			s.Advance("3h")
			for _, c := range []string{patched, both, cleared, again} {
				s.Patch("/cards/"+c, fields{"external_ref": "r"}).WantOK(fields{"status": "expired", "external_ref": "r"})
			}
			want := func(r *servertest.Reply, status string) *servertest.Reply {
				t.Helper()
				if blocks {
					status = conflict
				}
				r.WantOutcome(status)
				return r
			}
			// Each operation makes another live card with the reference, if that is allowed. The card
			// is archived afterwards, so that the next operation is allowed too.
			end := func(card string) {
				if !blocks {
					s.Control("POST", "/cards/"+card+"/archive", fields{})
				}
			}
			end(want(s.Post("/programs/"+program+"/cards", fields{"external_ref": "r"}), "201").Str("id"))
			want(s.Patch("/cards/"+free, fields{"external_ref": "r"}), "200")
			end(free)
			want(s.Patch("/cards/"+patched, fields{"expires_at": future}), "200")
			end(patched)
			want(s.Patch("/cards/"+both, fields{"expires_at": nil, "external_ref": "r"}), "200")
			end(both)
			want(s.Post("/cards/"+again+"/reissue", nil), "200")
			end(again)

			// None of these makes a second live card with the reference.
			s.Patch("/cards/"+cleared, fields{"expires_at": future, "external_ref": nil}).WantOK(fields{"status": "invited"})
			s.Issue(program, fields{"external_ref": "R"})
			s.Issue(program, fields{"external_ref": "r "})
			s.Issue(elsewhere, fields{"external_ref": "r"})
			other.Issue(foreign, fields{"external_ref": "r"})
			if blocks {
				s.Patch("/cards/"+first, fields{"external_ref": "r"}).Want(200)
				s.Post("/cards/"+first+"/reissue", nil).Want(200)
				s.Patch("/cards/"+first, fields{"external_ref": "q"}).Want(200)
				s.Issue(program, fields{"external_ref": "r"})
				s.Patch("/cards/"+first, fields{"external_ref": "r"}).Want(409, "conflict")
			}
		})
	}
}

// TestMaxCards checks which statuses count towards max_cards.
func TestMaxCards(t *testing.T) {
	t.Parallel()
	counts := map[string]bool{
		"invited":   true,
		"active":    true,
		"installed": true,
		"locked":    true,
		"expired":   false,
		"archived":  false,
		"deleted":   false,
	}
	for state, counted := range counts {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			s := start(t, servertest.Frozen)
			program := s.NewProgram("access", true, nil)
			limit := func(n any) { s.Control("PATCH", "/shops/"+s.ShopID, fields{"max_cards": n}) }
			const full = "422 unprocessable_entity"
			limit(3)
			card := s.Issue(program, expiry(state))
			s.Issue(program, nil)
			old := s.Issue(program, expiry("expired"))
			s.Post("/programs/"+program+"/cards", nil).WantOutcome(full)
			bringInto(s, state, card)
			s.Advance("3h") // the card old has expired
			if s.Issue(program, nil); counted {
				s.Post("/programs/"+program+"/cards", nil).WantOutcome(full)
				s.Patch("/cards/"+card, fields{"external_ref": "r"}).Want(200)
				s.Post("/cards/"+card+"/reissue", nil).Want(200)
			} else {
				s.Issue(program, nil)
			}
			// The shop is full in either case: an expired card cannot become live, but its fields
			// can be changed.
			s.Post("/programs/"+s.ProgramIDs["prepaid"]+"/cards", nil).WantOutcome(full)
			s.Patch("/cards/"+old, fields{"expires_at": future}).WantOutcome(full)
			s.Patch("/cards/"+old, fields{"expires_at": nil}).WantOutcome(full)
			s.Post("/cards/"+old+"/reissue", nil).WantOutcome(full)
			s.Patch("/cards/"+old, fields{"external_ref": "o"}).WantOK(fields{"status": "expired"})
			limit(2)
			s.Post("/programs/"+program+"/cards", nil).WantOutcome(full)
			limit(4)
			s.Post("/cards/"+old+"/reissue", nil).Want(200)
			s.Post("/programs/"+program+"/cards", nil).WantOutcome(full)
			limit(0)
			s.Post("/programs/"+program+"/cards", nil).WantOutcome(full)
			limit(nil)
			s.Issue(program, nil)
			s.Get("/me").Shows(fields{"shop.max_cards": nil})
			if findings, err := s.App.Store.Check(); err != nil || findings != nil {
				t.Errorf("%q %v", findings, err)
			}
		})
	}
}

// TestMaxCardsAfterProgramDeleted checks that the archived cards of a deleted
// program do not count.
func TestMaxCardsAfterProgramDeleted(t *testing.T) {
	s := start(t)
	program := s.NewProgram("access", true, nil)
	for range 3 {
		s.Issue(program, nil)
	}
	s.Control("PATCH", "/shops/"+s.ShopID, fields{"max_cards": 3})
	s.Post("/programs/"+s.ProgramIDs["access"]+"/cards", nil).Want(422, "unprocessable_entity")
	s.Control("DELETE", "/programs/"+program, fields{})
	for range 3 {
		s.Issue(s.ProgramIDs["access"], nil)
	}
	s.Post("/programs/"+s.ProgramIDs["access"]+"/cards", nil).Want(422, "unprocessable_entity")
}
