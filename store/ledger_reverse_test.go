package store

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestReversal(t *testing.T) {
	t.Parallel()
	t.Run("once, at the location of the row, and not a reversal", func(t *testing.T) {
		k := startTill(t)
		program, prizes := k.ladder(true, 5, 10)
		card := k.card(program)
		row := k.ok(k.stamp(card, 6)).Transaction
		other := k.till()
		k.refuses(NotFound)(other.reverse(row.ID))
		k.refuses(NotFound)(k.reverse("txn_"))
		k.refuses(NotFound)(k.reverse(k.ID(KindTransaction, 1<<40)))
		redeemed := k.ok(k.redeem(card, prizes[0])).Transaction
		k.clock.move(time.Minute)
		back := k.ok(k.reverse(row.ID))
		if r := back.Transaction; r.Type != "reversal" || r.StampsDelta != Some[int64](-6) || r.CardID != card || back.Card.StampsCount != 0 || back.OverflowTransaction != nil {
			t.Errorf("the reversal is %+v", back)
		}
		if got := k.lines("SELECT reversed_at FROM transactions WHERE reversed_at IS NOT NULL AND id=?", k.key(KindTransaction, row.ID)); !slices.Equal(got, []string{fmt.Sprint(int64(k.clock.at()))}) {
			t.Errorf("the original was reversed at %q", got)
		}
		k.refuses(Conflict)(k.reverse(row.ID))
		k.refuses(Unprocessable)(k.reverse(back.Transaction.ID))
		// The claim stays after the stamps are reversed; reversing the redemption frees it.
		k.ok(k.stamp(card, 6))
		k.refuses(ThresholdAlreadyClaimed)(k.redeem(card, prizes[0]))
		if r := k.ok(k.reverse(redeemed.ID)).Transaction; r.PrizeID != Some(prizes[0]) || r.StampsDelta != Some[int64](0) {
			t.Errorf("a reversed redemption is %+v", r)
		}
		k.ok(k.redeem(card, prizes[0]))
		k.expect(card, StatusActive, 6)
	})
	t.Run("completed cycle", func(t *testing.T) {
		k := startTill(t)
		program, prizes := k.ladder(true, 5, 10)
		card := k.card(program)
		rows := []string{k.ok(k.stamp(card, 10)).Transaction.ID, k.ok(k.redeem(card, prizes[0])).Transaction.ID, k.ok(k.redeem(card, prizes[1])).Transaction.ID}
		k.ok(k.stamp(card, 10))
		for _, row := range rows {
			k.refuses(CannotReverseCompletedCycle)(k.reverse(row))
		}
	})
	t.Run("uses", func(t *testing.T) {
		k := startTill(t)
		for _, fields := range []ProgramFields{access("Club"), discount("Off")} {
			card := k.card(k.program(fields))
			row := k.ok(k.use(card)).Transaction.ID
			if r := k.ok(k.reverse(row)).Transaction; r.StampsDelta.Valid || r.ValueDelta.Valid {
				t.Errorf("a reversed use is %+v", r)
			}
			k.refuses(Conflict)(k.reverse(row))
		}
		k.checkFile()
	})
	t.Run("card refused", func(t *testing.T) {
		k := startTill(t)
		program, _ := k.ladder(true, 5, 10)
		card := k.card(program)
		row := k.ok(k.stamp(card, 1)).Transaction.ID
		k.lock(card, true)
		k.refuses(CardSuspended)(k.reverse(row))
		k.archive(card)
		k.refuses(Conflict)(k.reverse(row))
		k.action(program, Suspend)
		k.refuses(CardSuspended)(k.reverse(row))
		k.erase(card)
		k.refuses(NotFound)(k.reverse(row))
	})
}

func TestReversingAnOverflowIsAllOrNothing(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (k till, root, child string, rows []string, prizes []string) {
		k = startTill(t)
		program, prizes := k.ladder(true, 2, 10)
		root = k.card(program)
		k.ok(k.stamp(root, 8))
		s := k.ok(k.stamp(root, 5))
		return k, root, s.OverflowCard.ID, []string{s.Transaction.ID, s.OverflowTransaction.ID}, prizes
	}
	for i := range 2 { // the index of the row that the reversal names
		t.Run(fmt.Sprint("row ", i), func(t *testing.T) {
			k, root, child, rows, _ := begin(t)
			cards, deltas := []string{root, child}, []int64{-2, -3}
			s := k.ok(k.reverse(rows[i]))
			if s.Transaction.StampsDelta != Some(deltas[i]) || s.Card.ID != cards[i] || s.OverflowTransaction == nil || s.OverflowTransaction.StampsDelta != Some(deltas[1-i]) || s.OverflowCard.ID != cards[1-i] {
				t.Errorf("the answer is %+v", s)
			}
			k.expect(root, StatusActive, 8)
			k.expect(child, StatusArchived, 0) // without stamps
			for _, row := range rows {
				k.refuses(Conflict)(k.reverse(row))
			}
			if again := k.ok(k.stamp(root, 3)); again.OverflowCard.ID == child || again.OverflowCard.StampsCount != 1 {
				t.Errorf("the next overflow goes to %+v", again.OverflowCard)
			}
		})
	}
	t.Run("a child with stamps of its own stays", func(t *testing.T) {
		k, root, child, rows, _ := begin(t)
		k.ok(k.stamp(root, 1))
		k.ok(k.reverse(rows[1]))
		k.expect(root, StatusActive, 8)
		k.expect(child, StatusActive, 1)
		// Both cards have room: the oldest takes the next stamps, and the existing child the rest.
		s := k.ok(k.stamp(root, 4))
		if s.Card.ID != root || s.OverflowCard == nil || s.OverflowCard.ID != child {
			t.Errorf("the stamps went to %+v", s)
		}
		k.refuses(Unprocessable)(k.stamp(root, 18))
	})
	t.Run("neither row if one cannot be reversed", func(t *testing.T) {
		k, root, child, rows, prizes := begin(t)
		k.ok(k.redeem(root, prizes[1])) // completes and archives the first card
		for _, row := range rows {
			k.refuses(CannotReverseCompletedCycle)(k.reverse(row))
		}
		k.expect(root, StatusArchived, 10)
		k.expect(child, StatusActive, 3)
	})
	t.Run("a child opened by a stamp on a full card", func(t *testing.T) {
		k, root, _, rows, _ := begin(t)
		k.ok(k.reverse(rows[0]))
		k.ok(k.stamp(root, 2))
		s := k.ok(k.stamp(root, 1))
		if s.Card.ID == root {
			t.Fatalf("the full card took the stamp: %+v", s.Transaction)
		}
		k.ok(k.reverse(s.Transaction.ID))
		k.expect(s.Card.ID, StatusArchived, 0)
		k.expect(root, StatusActive, 10)
	})
	t.Run("the last live card is never archived", func(t *testing.T) {
		k := startTill(t)
		program, _ := k.ladder(true)
		root := k.card(program)
		k.ok(k.stamp(root, 10))
		s := k.ok(k.stamp(root, 1)) // archives the first card
		k.ok(k.reverse(s.Transaction.ID))
		k.expect(s.Card.ID, StatusActive, 0)
		k.ok(k.stamp(root, 1))
	})
}

// TestReversalKeepsTheOlderOfTwoEmptyCards checks that of two cards without stamps the younger is
// archived.
func TestReversalKeepsTheOlderOfTwoEmptyCards(t *testing.T) {
	t.Parallel()
	for named := range 2 {
		k := startTill(t)
		fields := stamps("Coffee")
		fields.RepeatAfterReset, fields.TotalStamps = set(true), set(int64(1))
		program, prizes := k.ladderOf(fields, 1)
		root := k.card(program)
		k.ok(k.stamp(root, 1))
		child := k.ok(k.stamp(root, 1))
		k.ok(k.redeem(root, prizes[0]))
		k.ok(k.reverse(child.Transaction.ID))
		s := k.ok(k.stamp(root, 2))
		k.ok(k.reverse([]string{s.Transaction.ID, s.OverflowTransaction.ID}[named]))
		k.expect(child.Card.ID, StatusActive, 0)
		k.expect(s.OverflowCard.ID, StatusArchived, 0)
	}
}
