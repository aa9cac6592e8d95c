package store

import "testing"

// welcoming returns a till with a repeating program of ten stamps, whose cards begin with two, and its
// prizes.
func welcoming(t *testing.T, thresholds ...int64) (k till, program string, prizes []string) {
	k = startTill(t)
	program, prizes = k.ladderOf(expiring(10), thresholds...)
	k.settings(program, ProgramSettings{WelcomeStamps: setInt(2)})
	return k, program, prizes
}

// TestWelcomeStamps checks that new cards begin with the program's stamps, however they are issued,
// and cards that others overflow into do not, and that these stamps are in no figure of stamps.
func TestWelcomeStamps(t *testing.T) {
	k, program, prizes := welcoming(t, 3, 10)
	old := k.card(program)
	counter := k.atCounter(program, CounterFields{})
	blank := must(k.fixture, func(tx *Tx) (BlankCards, error) {
		return tx.IssueBlankCards(k.a.Shop, program, BlankFields{Count: setInt(1)})
	})
	enrolled := must(k.fixture, func(tx *Tx) (IssuedCard, error) { return tx.IssueCard(k.a, program, CardFields{}, SourceWebEnrollment) })
	for _, id := range []string{old, counter.ID, blank.Cards[0].ID, enrolled.ID} {
		if n := k.get(id).StampsCount; n != 2 {
			t.Errorf("a new card has %d stamps", n)
		}
	}
	stats := k.statistics(program)
	if *stats.TotalStampsAwarded != 0 || *stats.CompletionRate != 0 || k.rows() != 0 {
		t.Errorf("the statistics are %+v, with %d rows", stats, k.rows())
	}
	if l := k.lookup(old); l.Prizes[0].Available {
		t.Error("a prize of three stamps is due with two")
	}
	if s := k.stamped(old, 11); s.Card.StampsCount != 10 || s.OverflowCard.StampsCount != 3 {
		t.Errorf("ten and three stamps are %d and %d", s.Card.StampsCount, s.OverflowCard.StampsCount)
	}
	k.settings(program, ProgramSettings{WelcomeStamps: setInt(0)})
	if n := k.get(k.card(program)).StampsCount; n != 0 {
		t.Errorf("without the setting a card begins with %d", n)
	}
	// A completed cycle takes them away too, and its rows cannot be reversed.
	s := k.stamped(counter.ID, 8)
	if done := k.redeemed(counter.ID, prizes[1]); done.Transaction.StampsDelta.V != -10 {
		t.Errorf("the cycle ends with %d stamps", done.Transaction.StampsDelta.V)
	}
	k.refuses(CannotReverseCompletedCycle)(k.reverse(s.Transaction.ID))
	k.expect(counter.ID, StatusActive, 0)
}

// TestWelcomeStampsAreBelowPrizes checks that the refusals of changes which would give a new card a prize, or fill it, name the
// setting. TestLedgerFollowsItsModel checks what is refused.
func TestWelcomeStampsAreBelowPrizes(t *testing.T) {
	k, program, prizes := welcoming(t, 4, 6)
	gift := k.program(prepaid("Gift", 0))
	welcome := func(program string, n int64) func(*Tx) error {
		return func(tx *Tx) error {
			return errorOf(tx.UpdateProgramSettings(k.a.Shop, program, ProgramSettings{WelcomeStamps: set(n)}))
		}
	}
	for _, change := range []func(*Tx) error{
		welcome(program, 4), welcome(program, 10), welcome(gift, 1),
		func(tx *Tx) error {
			return errorOf(tx.AddPrize(k.a, program, PrizeFields{Threshold: setInt(2), Name: set("Cup")}))
		},
		func(tx *Tx) error {
			return errorOf(tx.UpdatePrize(k.a, program, prizes[1], PrizeFields{Threshold: setInt(1)}))
		},
	} {
		refusedWith(t, k.do(change), Unprocessable, "welcome_stamps")
	}
}

// TestOpeningStampsEndWithTheirCycle checks that what a card began with does not expire once more after
// the cycle that it completed.
func TestOpeningStampsEndWithTheirCycle(t *testing.T) {
	k, program, prizes := welcoming(t, 10)
	card := k.card(program)
	k.stamped(card, 8)
	k.redeemed(card, prizes[0])
	k.stamped(card, 3)
	k.clock.move(days(10))
	k.stamped(card, 1)
	if got := k.history(); got != "stamp 8, redemption -10, stamp 3, expiry -3, stamp 1" {
		t.Errorf("the ledger has %s", got)
	}
	k.expect(card, StatusActive, 1)
}
