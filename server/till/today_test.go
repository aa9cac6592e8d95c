package till_test

import "testing"

// TestToday checks that the day of a till has what it did, without rows that were reversed and
// without what another till at the same location did, and that it begins anew with the day.
func TestToday(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.Get("/today").Want(200)
	r.Shaped("", "TillToday", "")
	r.Shows(fields{"stamps": 0, "new_cards": 0, "complete": true, "timezone": "Europe/Rome"})

	card := s.Issue(s.ProgramIDs["standard"], nil)
	giveStamps(s, card, 7)
	s.Post("/cards/"+card+"/redemptions", fields{"prize_id": s.Get("/cards/" + card).Str("prizes.0.id")}).Want(201)
	taken := stamp(s, card, fields{"count": 2}).Want(201).Str("transaction.id")
	reverse(s, taken, nil).Want(201)
	prepaid := s.Post("/programs/"+s.ProgramIDs["prepaid"]+"/cards", fields{"amount_cents": 2500}).Want(201).Str("id")
	s.Post("/cards/"+prepaid+"/topups", fields{"amount_cents": 1000}).Want(201)
	s.Post("/cards/"+prepaid+"/spends", fields{"amount_cents": 300}).Want(201)
	s.Post("/cards/"+s.Issue(s.ProgramIDs["access"], nil)+"/uses", nil).Want(201)
	giveStamps(s.NewDevice(s.LocationIDs[0]), s.Issue(s.ProgramIDs["standard"], nil), 1)
	s.Get("/today").Want(200).Shows(fields{
		"stamps": 7, "redemptions": 1, "uses": 1, "new_cards": 1, "issued_cents": 2500, "topped_up_cents": 1000, "spent_cents": 300,
	})

	s.Advance("24h")
	s.Get("/today").Want(200).Shows(fields{"stamps": 0, "redemptions": 0, "new_cards": 0, "issued_cents": 0})
}
