package api_test

import (
	"slices"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

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
		body := fields{}
		if r.status == "expired" {
			body["expires_at"] = soon
		}
		if r.email != "" {
			body["holder_email"] = r.email
		}
		r.id = s.Issue(r.program, body)
		switch r.status {
		case "active":
			s.Activate(r.id)
		case "locked":
			s.Control("POST", "/cards/"+r.id+"/lock", nil)
		case "archived":
			s.Control("POST", "/cards/"+r.id+"/archive", nil)
		}
		if r.ref != "" { // written beside the server, which allows one live card with a reference
			s.SQL("UPDATE cards SET external_ref=? WHERE id=?", r.ref, s.Row(store.KindCard, r.id))
		}
		rows = append(rows, r)
	}
	s.Advance("2h59m59.999s")
	if early, _ := s.All("/cards", "status", "expired"); len(early) > 0 {
		t.Errorf("a millisecond early %q have expired", early)
	}
	s.Advance("1ms")
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
					var want, query []string
					for _, f := range [][2]string{
						{"program_id", program}, {"external_ref", ref}, {"holder_email", email}, {"status", status},
					} {
						if f[1] != "" {
							query = append(query, f[0], f[1])
						}
					}
					if calls++; !servertest.Sampled(calls) || calls%7 > 0 && len(query) > 2 {
						continue // a seventh of the combinations is enough
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
	finds := func(email string) []string {
		t.Helper()
		ids, _ := s.All("/cards", "holder_email", email)
		return ids
	}
	for _, c := range []struct {
		stored, asked string
		match         bool
	}{
		{"Ada@Example.Com", "aDA@eXAMPLE.cOM", true}, {"ÉTÉ@exémple.com", "été@exÉmple.com", true},
		{"дарья@пример.рф", "ДАРЬЯ@ПРИМЕР.РФ", true},
		{"ΝΊΚΟΣ@example.com", "νίκος@example.com", true}, {"νίκος@example.com", "ΝΊΚΟΣ@example.com", true},
		{"νίκος@example.com", "νίκοσ@example.com", true},
		{"éa@example.com", "ea@example.com", false}, {"ada@example.com", "ada@example.co", false},
		{"a_a@example.com", "axa@example.com", false}, {"a%@example.com", "ab@example.com", false},
		{"ıa@example.com", "ia@example.com", false},
	} {
		card := s.Issue(s.ProgramIDs["access"], fields{"holder_email": c.stored})
		if slices.Contains(finds(c.asked), card) != c.match {
			t.Errorf("%s asked for as %s: %v, want %v", c.stored, c.asked, !c.match, c.match)
		}
		s.Get("/cards/" + card).Shows(fields{"holder_email": c.stored})
		s.Control("POST", "/cards/"+card+"/delete", nil)
	}
	// After a PATCH or a reissue that changes the address, only the new one finds the card.
	card := s.Issue(s.ProgramIDs["access"], fields{"holder_email": "one@example.com"})
	moved := func(from, to string) {
		t.Helper()
		if old, found := finds(from), finds(to); len(old) > 0 || !slices.Equal(found, []string{card}) {
			t.Errorf("%s finds %q, and %s %q", from, old, to, found)
		}
	}
	s.Patch("/cards/"+card, fields{"holder_email": "Two@example.com"}).Want(200)
	moved("one@example.com", "TWO@example.com")
	s.Post("/cards/"+card+"/reissue", fields{"holder_email": "Three@example.com"}).Want(200)
	moved("two@example.com", "THREE@example.com")
}
