package store

import (
	"strings"
	"testing"
)

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

// TestWelcomeStampsAreBelowPrizes checks that no change gives a new card a prize, or fills it.
func TestWelcomeStampsAreBelowPrizes(t *testing.T) {
	k, program, prizes := welcoming(t, 4, 6)
	bare := k.program(stamps("Bare"))
	set1 := func(program string, n int64) error {
		_, err := attempt(k.fixture, func(tx *Tx) (ProgramDetail, error) {
			return tx.UpdateProgramSettings(k.a.Shop, program, ProgramSettings{WelcomeStamps: set(n)})
		})
		return err
	}
	prize := func(id string, threshold int64) error {
		return k.do(func(tx *Tx) error {
			f := PrizeFields{Threshold: set(threshold), Name: set("Cup")}
			if id != "" {
				return errorOf(tx.UpdatePrize(k.a, program, id, f))
			}
			return errorOf(tx.AddPrize(k.a, program, f))
		})
	}
	total := func(n int64) error {
		return k.do(func(tx *Tx) error { return errorOf(tx.UpdateProgram(k.a, bare, ProgramFields{TotalStamps: set(n)})) })
	}
	for _, err := range []error{
		set1(program, 4), set1(bare, 10), set1(k.program(prepaid("Gift", 0)), 1), prize("", 2), prize("", 0), prize(prizes[1], 1),
	} {
		refused(t, err, Unprocessable)
		if err != nil && !strings.Contains(err.Error(), "welcome_stamps") {
			t.Errorf("%v does not name the setting", err)
		}
	}
	for _, err := range []error{set1(program, 3), set1(program, 2), set1(bare, 9), prize(prizes[0], 3), prize("", 3)} {
		if err != nil {
			t.Error(err)
		}
	}
	refused(t, total(9), Unprocessable)
	// A card that began with stamps is full when the program needs no more of them.
	k.card(bare)
	succeed(set1(bare, 0))
	succeed(total(9))
	k.checkFile()
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
