package till_test

import (
	"maps"
	"testing"

	"punchcard/server/servertest"
)

// checkTotals compares the cards' counts with the ledger.
func checkTotals(s *servertest.Server) {
	s.T.Helper()
	const wrong = `SELECT count(*) FROM cards c WHERE c.archived_at IS NULL AND (
		c.stamps_count<>(SELECT ifnull(sum(stamps_delta),0) FROM transactions WHERE card_id=c.id) OR
		ifnull(c.current_value,0)<>
			ifnull(c.initial_value,0)+(SELECT ifnull(sum(value_delta),0) FROM transactions WHERE card_id=c.id) OR
		c.stamps_count<0 OR c.current_value<0)`
	if n := s.Value(wrong); n != "0" {
		s.T.Errorf("the ledger disagrees with %s cards", n)
	}
}

// atOnce makes n requests at the same time and compares the numbers of answers by their outcome.
func atOnce(t *testing.T, n int, request func(i int) *servertest.Reply, want map[string]int) {
	t.Helper()
	if got := servertest.Outcomes(servertest.Simultaneously(n, request)); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestTwoTills checks that no stamp is lost or doubled when two tills stamp a
// card concurrently.
func TestTwoTills(t *testing.T) {
	s := start(t)
	tills := []*servertest.Server{s, s.NewDevice(s.LocationIDs[1])}
	card := s.Issue(s.NewProgram("standard", true, fields{"repeat_after_reset": true}), nil)
	atOnce(t, 34, func(i int) *servertest.Reply { return stamp(tills[i%2], card, nil) }, map[string]int{"201": 34})
	s.Get("/cards/" + card).Shows(fields{"card.stamps_count": 4, "earlier_cards": []any{}})
	if got := s.Value("SELECT sum(stamps_delta)||' '||count(DISTINCT card_id) FROM transactions"); got != "34 4" {
		t.Errorf("%s, want 34 stamps on 4 cards", got)
	}
	if got := s.Value("SELECT count(*) FROM audit WHERE action='transaction.stamp'"); got != "34" {
		t.Errorf("%s stamps are audited, want 34", got)
	}
	// A program that does not repeat has room for ten.
	card, _ = newCard(s, "private", nil)
	atOnce(t, 16, func(i int) *servertest.Reply { return stamp(tills[i%2], card, nil) }, map[string]int{
		"201": 10, "422 card_full_no_repeat": 6,
	})
	checkTotals(s)
}

// TestConcurrentSpends checks that concurrent spends never exceed the balance.
func TestConcurrentSpends(t *testing.T) {
	s := start(t)
	card, _ := newCard(s, "prepaid", fields{"initial_balance_cents": 1000})
	atOnce(t, 15, func(int) *servertest.Reply { return s.Post("/cards/"+card+"/spends", fields{"amount_cents": 100}) }, map[string]int{
		"201": 10, "422 prepaid_insufficient_balance": 5,
	})
	s.Get("/cards/" + card).Shows(fields{"card.current_value": 0})
	checkTotals(s)
}
