package store

import "testing"

func TestRedeemGoesToTheOldestLiveInstance(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, prizes := k.ladder(true, 5, 5, 10)
	root := k.card(program)
	child := k.ok(k.stamp(root, 17)).OverflowCard.ID
	redeem := func(prize, want string) {
		t.Helper()
		if s := k.ok(k.redeem(child, prize)); s.Card.ID != want || s.Transaction.CardID != want || s.Transaction.PrizeID != Some(prize) || s.Transaction.Type != "redemption" {
			t.Errorf("redeemed on %+v", s)
		}
	}
	redeem(prizes[0], root)
	redeem(prizes[1], child) // the first card has a claim for that threshold
	k.refuses(ThresholdAlreadyClaimed)(k.redeem(root, prizes[0]))
	redeem(prizes[2], root)
	k.expect(root, StatusArchived, 10) // it has a child, so it is archived
	k.expect(child, StatusActive, 7)
	k.refuses(Unprocessable)(k.redeem(root, prizes[2]))
	_, foreign := k.ladder(true, 1)
	k.refuses(NotFound)(k.redeem(root, foreign[0]))
}

func TestRedeemingTheHighestCompletesTheCycle(t *testing.T) {
	t.Parallel()
	t.Run("repeat, no child", func(t *testing.T) {
		k := startTill(t)
		program, prizes := k.ladder(true, 5, 10)
		card := k.card(program)
		for range 3 {
			k.ok(k.stamp(card, 10))
			k.ok(k.redeem(card, prizes[0]))
			if s := k.ok(k.redeem(card, prizes[1])); s.Transaction.StampsDelta != Some[int64](-10) {
				t.Errorf("the row is %+v", s.Transaction)
			}
			k.expect(card, StatusActive, 0)
		}
		k.selects(3, "SELECT count(*) FROM cycles")
	})
	t.Run("repeat, with a child", func(t *testing.T) {
		k := startTill(t)
		program, prizes := k.ladder(true, 10)
		card := k.card(program)
		child := k.ok(k.stamp(card, 11)).OverflowCard.ID
		if s := k.ok(k.redeem(card, prizes[0])); s.Transaction.StampsDelta != Some[int64](0) || s.Card.ID != card || s.Card.Status != StatusArchived {
			t.Errorf("the answer is %+v", s)
		}
		k.expect(card, StatusArchived, 10)
		k.expect(child, StatusActive, 1)
		k.ok(k.stamp(card, 9))
		if s := k.ok(k.redeem(card, prizes[0])); s.Card.ID != child || s.Card.StampsCount != 0 {
			t.Errorf("the child without its parent is %+v", s.Card)
		}
	})
	t.Run("no repeat", func(t *testing.T) {
		k := startTill(t)
		program, prizes := k.ladder(false, 5, 10)
		card := k.card(program)
		stamped := k.ok(k.stamp(card, 10)).Transaction.ID
		if s := k.ok(k.redeem(card, prizes[1])); s.Transaction.StampsDelta != Some[int64](0) {
			t.Errorf("the row is %+v", s.Transaction)
		}
		k.expect(card, StatusActive, 10)
		lower := k.ok(k.redeem(card, prizes[0])).Transaction.ID // lower prizes can still be redeemed
		k.refuses(ThresholdAlreadyClaimed)(k.redeem(card, prizes[1]))
		k.refuses(CardFullNoRepeat)(k.stamp(card, 1))
		for _, row := range []string{stamped, lower} {
			k.refuses(CannotReverseCompletedCycle)(k.reverse(row))
		}
	})
}

func TestRedeemedPrizeStays(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, prizes := k.ladder(true, 1, 2)
	card := k.card(program)
	k.ok(k.stamp(card, 1))
	k.ok(k.reverse(k.ok(k.redeem(card, prizes[0])).Transaction.ID))
	// A redeemed prize cannot be deleted, even if the redemption was reversed.
	refused(t, k.do(func(tx *Tx) error { return tx.DeletePrize(k.a, program, prizes[0]) }), Conflict)
	k.must(func(tx *Tx) error { return tx.DeletePrize(k.a, program, prizes[1]) })
}
