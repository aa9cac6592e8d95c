package till_test

import "testing"

// TestToday checks the answer about the day of a till. The tests of the store have its sums.
func TestToday(t *testing.T) {
	s := start(t)
	s.Get("/today").Want(200).Shaped("", "TillToday", "")
	giveStamps(s, s.Issue(s.ProgramIDs["standard"], nil), 7)
	s.Post("/programs/"+s.ProgramIDs["prepaid"]+"/cards", fields{"amount_cents": 2500}).Want(201)
	s.Get("/today").WantOK(fields{
		"stamps": 7, "new_cards": 1, "issued_cents": 2500, "complete": true, "timezone": "Europe/Rome",
	})
}
