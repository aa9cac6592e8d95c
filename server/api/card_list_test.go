package api_test

import (
	"slices"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
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

// TestCardFilters compares the list with a model, for combinations of the four filters.
func TestCardFilters(t *testing.T) {
	s := start(t, servertest.Frozen)
	type row struct{ id, program, ref, email, status string }
	var rows []row // oldest first
	programs := []string{s.NewProgram("access", true, nil), s.NewProgram("standard", true, nil)}
	refs := []string{"r1", "R1", ""}
	emails := []string{"ÀDA@Exämple.com", "bob@example.com", ""}
	statuses := []string{"invited", "active", "locked", "archived", "expired"}
	for i := range 60 {
		r := row{program: programs[i%2], ref: refs[i/2%3], email: emails[i/6%3], status: statuses[i%5]}
		body := servertest.Merge(nil, expiry(r.status))
		if r.email != "" {
			body["holder_email"] = r.email
		}
		r.id = s.Issue(r.program, body)
		bringInto(s, r.status, r.id)
		if r.ref != "" { // written beside the server, which allows one live card with a reference
			s.SQL("UPDATE cards SET external_ref=? WHERE id=?", r.ref, s.Row(store.KindCard, r.id))
		}
		rows = append(rows, r)
	}
	s.Advance("3h")
	addresses := map[string]string{
		"":                   "",
		"àda@EXÄMPLE.COM":    emails[0],
		"ÀDA@Exämple.com":    emails[0],
		"Bob@Example.com":    emails[1],
		"nobody@example.com": "none",
	}
	calls := 0
	for _, program := range []string{"", programs[0], programs[1], s.ProgramIDs["prepaid"], "prg_x", s.LocationIDs[0]} {
		for _, ref := range []string{"", "r1", "R1", "r", "r1 "} {
			for email, stored := range addresses {
				for _, status := range append([]string{""}, statuses...) {
					if calls++; !servertest.Sampled(calls) || calls%7 > 0 && program != "" && ref != "" {
						continue // a seventh of the combinations of a program and a reference is enough
					}
					var want, query []string
					for _, f := range [][2]string{
						{"program_id", program}, {"external_ref", ref}, {"holder_email", email}, {"status", status},
					} {
						if f[1] != "" {
							query = append(query, f[0], f[1])
						}
					}
					for _, r := range slices.Backward(rows) {
						if (program == "" || r.program == program) && (ref == "" || r.ref == ref) && (email == "" || r.email == stored) &&
							(status == "" || r.status == status) {
							want = append(want, r.id)
						}
					}
					if have, _ := s.All("/cards", append(query, "limit", "100")...); !slices.Equal(have, want) {
						t.Errorf("%q: %d cards, want %d", query, len(have), len(want))
					}
				}
			}
		}
	}
	all, pages := s.All("/cards", "limit", "7", "status", "expired", "program_id", programs[0])
	if len(all) != 6 || pages < 1 {
		t.Errorf("%d expired cards on %d pages, want 6 cards", len(all), pages)
	}
}

// TestCardEmailCase checks that holder_email is matched without regard to case in
// any script.
func TestCardEmailCase(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		stored, asked string
		match         bool
	}{
		{"ada@example.com", "ADA@EXAMPLE.COM", true}, {"ADA@EXAMPLE.COM", "ada@example.com", true},
		{"Ada@Example.Com", "aDA@eXAMPLE.cOM", true},
		{"ælfgifu@example.com", "ÆLFGIFU@example.com", true}, {"ÉTÉ@exémple.com", "été@exÉmple.com", true},
		{"дарья@пример.рф", "ДАРЬЯ@ПРИМЕР.РФ", true},
		{"ΝΊΚΟΣ@example.com", "νίκος@example.com", true}, {"νίκος@example.com", "ΝΊΚΟΣ@example.com", true},
		{"νίκος@example.com", "νίκοσ@example.com", true},
		{"éa@example.com", "ea@example.com", false}, {"ada@example.com", "ada@example.co", false},
		{"a_a@example.com", "axa@example.com", false}, {"a%@example.com", "ab@example.com", false},
		{"ıa@example.com", "ia@example.com", false},
	} {
		card := s.Issue(s.ProgramIDs["access"], fields{"holder_email": c.stored})
		ids, _ := s.All("/cards", "holder_email", c.asked)
		if slices.Contains(ids, card) != c.match {
			t.Errorf("%s asked for as %s: %v, want %v", c.stored, c.asked, !c.match, c.match)
		}
		s.Get("/cards/" + card).Shows(fields{"holder_email": c.stored})
		s.Control("POST", "/cards/"+card+"/delete", fields{})
	}
	// After a PATCH or a reissue that changes the address, only the new one finds the card.
	card := s.Issue(s.ProgramIDs["access"], fields{"holder_email": "one@example.com"})
	for _, move := range []struct {
		do       func() *servertest.Reply
		from, to string
	}{
		{func() *servertest.Reply { return s.Patch("/cards/"+card, fields{"holder_email": "Two@example.com"}) }, "one@example.com",
			"TWO@example.com"},
		{func() *servertest.Reply {
			return s.Post("/cards/"+card+"/reissue", fields{"holder_email": "Three@example.com"})
		}, "two@example.com", "THREE@example.com"},
	} {
		move.do().Want(200)
		if ids, _ := s.All("/cards", "holder_email", move.from); len(ids) != 0 {
			t.Errorf("still found by %s", move.from)
		}
		if ids, _ := s.All("/cards", "holder_email", move.to); !slices.Equal(ids, []string{card}) {
			t.Errorf("not found by %s", move.to)
		}
	}
}

// TestCardStatusOverTime checks that the filter uses the status that is shown,
// without waiting for housekeeping.
func TestCardStatusOverTime(t *testing.T) {
	s := start(t, servertest.Frozen)
	cards := map[string]string{}
	for _, state := range []string{"invited", "active", "locked", "archived", "installed"} {
		cards[state] = s.Issue(s.ProgramIDs["access"], fields{"expires_at": soon})
		bringInto(s, state, cards[state])
	}
	check := func(status string, states ...string) {
		t.Helper()
		var want []string
		for _, state := range states {
			want = append(want, cards[state])
		}
		ids, _ := s.All("/cards", "status", status)
		if slices.Sort(ids); !slices.Equal(ids, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: %d cards, want %q", status, len(ids), states)
		}
		for _, id := range ids {
			s.Get("/cards/" + id).Shows(fields{"status": status})
		}
	}
	s.Advance("2h59m59.999s")
	check("invited", "invited")
	check("active", "active", "installed")
	check("locked", "locked")
	check("archived", "archived")
	check("expired")
	s.Advance("1ms")
	check("invited")
	check("active")
	check("locked")
	check("archived", "archived")
	check("expired", "invited", "active", "locked", "installed")
	s.Patch("/cards/"+cards["locked"], fields{"expires_at": nil}).Want(200)
	check("locked", "locked")
	check("expired", "invited", "active", "installed")
}
