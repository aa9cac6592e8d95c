package till_test

import (
	"fmt"
	"maps"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
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
	t.Parallel()
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

// TestOneRedemption checks that one of several concurrent redemptions of a
// threshold succeeds.
func TestOneRedemption(t *testing.T) {
	t.Parallel()
	s := start(t)
	tills := []*servertest.Server{s, s.NewDevice(s.LocationIDs[1])}
	for range 3 {
		card, program := newCard(s, "standard", nil)
		prizes := []string{s.NewPrize(program, 5), s.NewPrize(program, 5)}
		giveStamps(s, card, 6)
		atOnce(t, 8, func(i int) *servertest.Reply {
			return tills[i%2].Post("/cards/"+card+"/redemptions", fields{"prize_id": prizes[i%2]})
		}, map[string]int{"201": 1, "422 threshold_already_claimed": 7})
	}
	// The redemption ends a cycle, and the next one has no stamps yet.
	card, program := newCard(s, "standard", fields{"repeat_after_reset": true})
	top := s.NewPrize(program, 10)
	giveStamps(s, card, 10)
	atOnce(t, 8, func(i int) *servertest.Reply {
		return tills[i%2].Post("/cards/"+card+"/redemptions", fields{"prize_id": top})
	}, map[string]int{"201": 1, "422 unprocessable_entity": 7})
	s.Get("/cards/" + card).Shows(fields{"card.stamps_count": 0})
	checkTotals(s)
}

// TestReversalRaces checks that a row is reversed once, and that a redemption
// which needs its stamps comes before the reversal or is refused.
func TestReversalRaces(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, program := newCard(s, "standard", nil)
	prize := s.NewPrize(program, 5)
	row := giveStamps(s, card, 5).Str("transaction.id")
	atOnce(t, 8, func(int) *servertest.Reply { return reverse(s, row, nil) }, map[string]int{"201": 1, "409 conflict": 7})
	s.Get("/cards/" + card).Shows(fields{"card.stamps_count": 0})

	for range 12 {
		card, program = newCard(s, "standard", fields{"repeat_after_reset": true})
		prize = s.NewPrize(program, 10)
		row = giveStamps(s, card, 10).Str("transaction.id")
		got := servertest.Simultaneously(2, func(i int) *servertest.Reply {
			if i == 0 {
				return s.Post("/cards/"+card+"/redemptions", fields{"prize_id": prize})
			}
			return reverse(s, row, nil)
		})
		outcome := fmt.Sprintf("%d %d", got[0].Status, got[1].Status)
		switch outcome {
		case "201 422":
			got[1].Want(422, "cannot_reverse_completed_cycle")
		case "422 201":
			got[0].Want(422, "unprocessable_entity")
		default:
			t.Errorf("redemption and reversal gave %s", outcome)
		}
		s.Get("/cards/" + card).Shows(fields{"card.stamps_count": 0})
	}
	checkTotals(s)
}

// TestConcurrentSpends checks that concurrent spends never exceed the balance.
func TestConcurrentSpends(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, _ := newCard(s, "prepaid", fields{"initial_balance_cents": 1000})
	atOnce(t, 15, func(int) *servertest.Reply { return s.Post("/cards/"+card+"/spends", fields{"amount_cents": 100}) }, map[string]int{
		"201": 10, "422 prepaid_insufficient_balance": 5,
	})
	s.Get("/cards/" + card).Shows(fields{"card.current_value": 0})
	checkTotals(s)
}

// TestLockRaces checks that a card is not stamped after an operator has locked
// it.
func TestLockRaces(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, _ := newCard(s, "standard", fields{"total_stamps": 1000})
	servertest.Simultaneously(20, func(i int) *servertest.Reply {
		if i == 10 {
			return s.Control("POST", "/cards/"+card+"/lock", fields{})
		}
		return stamp(s, card, nil)
	})
	at := s.Value("SELECT ifnull((SELECT max(id) FROM audit WHERE action='card.lock'),0)")
	if n := s.Value("SELECT count(*) FROM audit WHERE action='transaction.stamp' AND id>?", at); n != "0" {
		t.Errorf("%s stamps after the lock", n)
	}
	if got := s.Value("SELECT count(*) FROM cards WHERE id=? AND locked_at IS NOT NULL", s.Row(store.KindCard, card)); got != "1" {
		t.Error("the card is not locked")
	}
	checkTotals(s)
}
