package till_test

import (
	"fmt"
	"maps"
	"testing"

	"punchcard/store"
)

// fair holds the ledger to the cards' counts.
func (s *server) fair() {
	s.t.Helper()
	if n := s.value(`SELECT count(*) FROM cards c WHERE c.archived_at IS NULL AND (c.stamps_count<>(SELECT ifnull(sum(stamps_delta),0) FROM transactions WHERE card_id=c.id)
		OR ifnull(c.current_value,0)<>ifnull(c.initial_value,0)+(SELECT ifnull(sum(value_delta),0) FROM transactions WHERE card_id=c.id) OR c.stamps_count<0 OR c.current_value<0)`); n != "0" {
		s.t.Errorf("the ledger is at odds with %s cards", n)
	}
}

func same(t *testing.T, got, want map[string]int) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestTwoTills stamp one card at once: no stamp is lost and none is doubled.
func TestTwoTills(t *testing.T) {
	s := start(t)
	tills := []*server{s, s.device(s.LocationIDs[1])}
	card := s.issue(s.newProgram("standard", fields{"repeat_after_reset": true}), nil)
	same(t, tally(each(34, func(i int) *reply { return tills[i%2].post("/cards/"+card+"/stamps", nil) })), map[string]int{"201": 34})
	s.get("/cards/" + card).shows(fields{"card.stamps_count": 4, "earlier_cards": []any{}})
	if got := s.value("SELECT sum(stamps_delta)||' '||count(DISTINCT card_id) FROM transactions"); got != "34 4" {
		t.Errorf("%s, want 34 stamps on 4 cards", got)
	}
	if got := s.value("SELECT count(*) FROM audit WHERE action='transaction.stamp'"); got != "34" {
		t.Errorf("%s audited", got)
	}
	// Without repeat there is room for ten.
	card, _ = s.card("private", nil)
	same(t, tally(each(16, func(i int) *reply { return tills[i%2].post("/cards/"+card+"/stamps", nil) })), map[string]int{"201": 10, "422 card_full_no_repeat": 6})
	s.fair()
}

// TestOneRedemption: of redemptions of one threshold at once one wins.
func TestOneRedemption(t *testing.T) {
	s := start(t)
	tills := []*server{s, s.device(s.LocationIDs[1])}
	for range 3 {
		card, program := s.card("standard", nil)
		prizes := []string{s.prize(program, 5), s.prize(program, 5)}
		s.stamp(card, 6)
		same(t, tally(each(8, func(i int) *reply {
			return tills[i%2].post("/cards/"+card+"/redemptions", fields{"prize_id": prizes[i%2]})
		})), map[string]int{"201": 1, "422 threshold_already_claimed": 7})
	}
	// The prize that ends a cycle: the next one has no stamps yet.
	card, program := s.card("standard", fields{"repeat_after_reset": true})
	top := s.prize(program, 10)
	s.stamp(card, 10)
	same(t, tally(each(8, func(i int) *reply { return tills[i%2].post("/cards/"+card+"/redemptions", fields{"prize_id": top}) })), map[string]int{"201": 1, "422 unprocessable_entity": 7})
	s.get("/cards/" + card).shows(fields{"card.stamps_count": 0})
	s.fair()
}

// TestReversalRaces: a row is taken back once, and a redemption that needs its
// stamps comes before it or not at all.
func TestReversalRaces(t *testing.T) {
	s := start(t)
	card, program := s.card("standard", nil)
	prize := s.prize(program, 5)
	row := s.stamp(card, 5).str("transaction.id")
	same(t, tally(each(8, func(int) *reply { return s.post("/transactions/"+row+"/reversal", nil) })), map[string]int{"201": 1, "409 conflict": 7})
	s.get("/cards/" + card).shows(fields{"card.stamps_count": 0})

	for range 12 {
		card, program = s.card("standard", fields{"repeat_after_reset": true})
		prize = s.prize(program, 10)
		row = s.stamp(card, 10).str("transaction.id")
		got := each(2, func(i int) *reply {
			if i == 0 {
				return s.post("/cards/"+card+"/redemptions", fields{"prize_id": prize})
			}
			return s.post("/transactions/"+row+"/reversal", nil)
		})
		outcome := fmt.Sprintf("%d %d", got[0].status, got[1].status)
		switch outcome {
		case "201 422":
			got[1].want(422, "cannot_reverse_completed_cycle")
		case "422 201":
			got[0].want(422, "unprocessable_entity")
		default:
			t.Errorf("redemption and reversal gave %s", outcome)
		}
		s.get("/cards/" + card).shows(fields{"card.stamps_count": 0})
	}
	s.fair()
}

// TestSpendingAtOnce never takes more than there is.
func TestSpendingAtOnce(t *testing.T) {
	s := start(t)
	card, _ := s.card("prepaid", fields{"initial_balance_cents": 1000})
	same(t, tally(each(15, func(int) *reply { return s.post("/cards/"+card+"/spends", fields{"amount_cents": 100}) })),
		map[string]int{"201": 10, "422 prepaid_insufficient_balance": 5})
	s.get("/cards/" + card).shows(fields{"card.current_value": 0})
	s.fair()
}

// TestLockRaces: an operator who locks a card while tills stamp it gets the
// last word.
func TestLockRaces(t *testing.T) {
	s := start(t)
	card, _ := s.card("standard", fields{"total_stamps": 1000})
	each(20, func(i int) *reply {
		if i == 10 {
			return s.control("POST", "/cards/"+card+"/lock", fields{})
		}
		return s.post("/cards/"+card+"/stamps", nil)
	})
	at := s.value("SELECT ifnull((SELECT max(id) FROM audit WHERE action='card.lock'),0)")
	if n := s.value("SELECT count(*) FROM audit WHERE action='transaction.stamp' AND id>?", at); n != "0" {
		t.Errorf("%s stamps after the lock", n)
	}
	if got := s.value("SELECT count(*) FROM cards WHERE id=? AND locked_at IS NOT NULL", s.row(store.KindCard, card)); got != "1" {
		t.Error("not locked")
	}
	s.fair()
}
