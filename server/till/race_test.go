package till_test

import (
	"maps"
	"testing"

	"punchcard/server/servertest"
)

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
	if found, err := s.App.Store.Check(); err != nil || len(found) > 0 {
		t.Errorf("check: %q, %v", found, err)
	}
}
