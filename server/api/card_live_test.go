package api_test

import (
	"testing"
)

// into brings a card into a state: one of the words of card status, or
// deleted. An expired one waits for the clock to pass soon.
func (s *server) into(state, card string) {
	s.t.Helper()
	switch state {
	case "active":
		s.activate(card)
	case "installed":
		s.install(card)
	case "locked":
		s.control("POST", "/cards/"+card+"/lock", fields{})
	case "archived":
		s.control("POST", "/cards/"+card+"/archive", fields{})
	case "deleted":
		s.control("POST", "/cards/"+card+"/delete", fields{})
	}
}

func expiry(state string) fields {
	if state == "expired" {
		return fields{"expires_at": soon}
	}
	return nil
}

// TestOneLiveCard: an external_ref that has a card in some state × every way
// to give it to a second card of the program.
func TestOneLiveCard(t *testing.T) {
	t.Parallel()
	live := map[string]bool{"invited": true, "active": true, "installed": true, "locked": true, "expired": false, "archived": false, "deleted": false}
	for state, blocks := range live {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			s := start(t, frozen)
			program, elsewhere := s.newProgram("access", true, nil), s.newProgram("access", true, nil)
			other, _ := s.elsewhere()
			foreign := other.newProgram("access", true, nil)
			holder := s.issue(program, plus(fields{"external_ref": "r"}, expiry(state)))
			s.into(state, holder)
			// What is expired may come back; it got the name while it was.
			patched, both, cleared := s.issue(program, expiry("expired")), s.issue(program, expiry("expired")), s.issue(program, expiry("expired"))
			again := s.issue(program, expiry("expired"))
			free := s.issue(program, nil)
			s.advance("3h")
			for _, c := range []string{patched, both, cleared, again} {
				s.patch("/cards/"+c, fields{"external_ref": "r"}).want(200).shows(fields{"status": "expired", "external_ref": "r"})
			}
			want := func(r *reply, status string) *reply {
				t.Helper()
				if blocks {
					status = conflict
				}
				r.refused(status)
				return r
			}
			// Each makes a live card of that name where it may, which is
			// taken away again.
			end := func(card string) {
				if !blocks {
					s.control("POST", "/cards/"+card+"/archive", fields{})
				}
			}
			end(want(s.post("/programs/"+program+"/cards", fields{"external_ref": "r"}), "201").str("id"))
			want(s.patch("/cards/"+free, fields{"external_ref": "r"}), "200")
			end(free)
			want(s.patch("/cards/"+patched, fields{"expires_at": future}), "200")
			end(patched)
			want(s.patch("/cards/"+both, fields{"expires_at": nil, "external_ref": "r"}), "200")
			end(both)
			want(s.post("/cards/"+again+"/reissue", nil), "200")
			end(again)

			// None of these is a second one.
			s.patch("/cards/"+cleared, fields{"expires_at": future, "external_ref": nil}).want(200).shows(fields{"status": "invited"})
			s.issue(program, fields{"external_ref": "R"})
			s.issue(program, fields{"external_ref": "r "})
			s.issue(elsewhere, fields{"external_ref": "r"})
			other.issue(foreign, fields{"external_ref": "r"})
			if blocks {
				s.patch("/cards/"+holder, fields{"external_ref": "r"}).want(200)
				s.post("/cards/"+holder+"/reissue", nil).want(200)
				s.patch("/cards/"+holder, fields{"external_ref": "q"}).want(200)
				s.issue(program, fields{"external_ref": "r"})
				s.patch("/cards/"+holder, fields{"external_ref": "r"}).want(409, "conflict")
			}
		})
	}
}

// TestMaxCards: which states count.
func TestMaxCards(t *testing.T) {
	t.Parallel()
	counts := map[string]bool{"invited": true, "active": true, "installed": true, "locked": true, "expired": false, "archived": false, "deleted": false}
	for state, counted := range counts {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			s := start(t, frozen)
			program := s.newProgram("access", true, nil)
			limit := func(n any) { s.control("PATCH", "/shops/"+s.ShopID, fields{"max_cards": n}) }
			const full = "422 unprocessable_entity"
			limit(3)
			card := s.issue(program, expiry(state))
			s.issue(program, nil)
			old := s.issue(program, expiry("expired"))
			s.post("/programs/"+program+"/cards", nil).refused(full)
			s.into(state, card)
			s.advance("3h") // old is expired now
			if s.issue(program, nil); counted {
				s.post("/programs/"+program+"/cards", nil).refused(full)
				s.patch("/cards/"+card, fields{"external_ref": "r"}).want(200)
				s.post("/cards/"+card+"/reissue", nil).want(200)
			} else {
				s.issue(program, nil)
			}
			// Full in either case: what is expired cannot come back, but may
			// be named.
			s.post("/programs/"+s.ProgramIDs["prepaid"]+"/cards", nil).refused(full)
			s.patch("/cards/"+old, fields{"expires_at": future}).refused(full)
			s.patch("/cards/"+old, fields{"expires_at": nil}).refused(full)
			s.post("/cards/"+old+"/reissue", nil).refused(full)
			s.patch("/cards/"+old, fields{"external_ref": "o"}).want(200).shows(fields{"status": "expired"})
			limit(2)
			s.post("/programs/"+program+"/cards", nil).refused(full)
			limit(4)
			s.post("/cards/"+old+"/reissue", nil).want(200)
			s.post("/programs/"+program+"/cards", nil).refused(full)
			limit(0)
			s.post("/programs/"+program+"/cards", nil).refused(full)
			limit(nil)
			s.issue(program, nil)
			s.get("/me").shows(fields{"shop.max_cards": nil})
			if findings, err := s.app.Store.Check(); err != nil || findings != nil {
				t.Errorf("%q %v", findings, err)
			}
		})
	}
}

// TestMaxCardsAfterProgramDeleted: its cards are archived and no longer count.
func TestMaxCardsAfterProgramDeleted(t *testing.T) {
	t.Parallel()
	s := start(t)
	program := s.newProgram("access", true, nil)
	for range 3 {
		s.issue(program, nil)
	}
	s.control("PATCH", "/shops/"+s.ShopID, fields{"max_cards": 3})
	s.post("/programs/"+s.ProgramIDs["access"]+"/cards", nil).want(422, "unprocessable_entity")
	s.control("DELETE", "/programs/"+program, fields{})
	for range 3 {
		s.issue(s.ProgramIDs["access"], nil)
	}
	s.post("/programs/"+s.ProgramIDs["access"]+"/cards", nil).want(422, "unprocessable_entity")
}
