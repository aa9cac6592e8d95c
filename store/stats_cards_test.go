package store

import (
	"path"
	"testing"
	"time"
)

// TestPlatformSplitFollowsTheChain checks that a chain with a live installed card counts once, by
// the platform of its latest installation, through every change of its state.
func TestPlatformSplitFollowsTheChain(t *testing.T) {
	t.Parallel()
	for name, lapse := range map[string]bool{"without housekeeping": false, "with housekeeping": true} {
		t.Run(name, func(t *testing.T) {
			k := startTill(t)
			program, prizes := k.ladder(true, 10)
			expect := func(what string, apple, google int64) {
				t.Helper()
				if lapse {
					k.markExpired()
				}
				if got := *k.statistics(program).PlatformSplit; got != (Platforms{apple, google}) {
					t.Errorf("%s: %+v, want %d and %d", what, got, apple, google)
				}
				k.checkFile()
			}
			install := func(link, platform string) {
				t.Helper()
				must(k.fixture, func(tx *Tx) (Installation, error) {
					return tx.Install(path.Base(link), InstallFields{Platform: set(platform)})
				})
			}
			reissue := func(card string, f ReissueFields) string {
				t.Helper()
				return k.reissue(card, f).InstallURL
			}
			issued := k.issue(program, CardFields{})
			card := issued.ID
			expect("issued", 0, 0)
			install(issued.InstallURL, "apple")
			install(issued.InstallURL, "google") // it is installed already
			expect("installed", 1, 0)
			child := k.ok(k.stamp(card, 15)).OverflowCard.ID
			expect("overflowed", 1, 0)
			k.ok(k.redeem(card, prizes[0])) // archives the first card
			expect("the first card is archived", 1, 0)
			install(reissue(child, ReissueFields{}), "google")
			expect("installed on another platform", 0, 1)
			reversed := k.ok(k.stamp(card, 8)) // ten and three
			expect("overflowed again", 0, 1)
			k.ok(k.reverse(reversed.Transaction.ID))
			expect("the third card is archived by a reversal", 0, 1)
			k.ok(k.stamp(card, 8))
			k.lock(child, true)
			expect("locked", 0, 1)
			k.lock(child, false)

			link := reissue(child, ReissueFields{ExpiresAt: set(k.clock.at().Add(time.Hour))})
			expect("reissued", 0, 0)
			install(link, "apple")
			expect("installed until it expires", 1, 0)
			k.lock(child, true)
			k.clock.move(time.Hour - time.Millisecond)
			expect("before its end", 1, 0)
			k.clock.move(time.Millisecond)
			expect("expired while locked", 0, 0)
			install(reissue(child, ReissueFields{ExpiresAt: set(k.clock.at().Add(time.Hour))}), "google")
			expect("revived", 0, 1)
			k.clock.move(time.Hour)
			expect("expired", 0, 0)
			install(reissue(child, ReissueFields{}), "google")
			expect("revived without an end", 0, 1)
			k.archive(child)
			expect("archived", 0, 0)

			second := k.issue(program, CardFields{})
			install(second.InstallURL, "apple")
			k.ok(k.stamp(second.ID, 13))
			expect("another card", 1, 0)
			k.erase(second.ID)
			expect("erased", 0, 0)
		})
	}
}

// expectCompletion returns a function that compares the completion rate of a program. A rate below 0 is
// null.
func (k till) expectCompletion(program string) func(what string, rate float64) {
	return func(what string, rate float64) {
		k.t.Helper()
		got := k.statistics(program).CompletionRate
		if rate < 0 != (got == nil) || got != nil && *got != rate {
			if got != nil {
				k.t.Errorf("%s: %v, want %v", what, *got, rate)
			} else {
				k.t.Errorf("%s: null, want %v", what, rate)
			}
		}
		k.checkFile()
	}
}

// TestFullCardsWithNothingToClaim checks that the completion rate counts a full card on which
// nothing is left to claim as completed, until that changes.
func TestFullCardsWithNothingToClaim(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	t.Run("no prizes", func(t *testing.T) {
		for _, repeat := range []bool{false, true} {
			program, _ := k.ladder(repeat)
			expect := k.expectCompletion(program)
			card := k.card(program)
			k.ok(k.stamp(card, 9))
			expect("nine stamps", 0)
			tenth := k.ok(k.stamp(card, 1)).Transaction.ID
			expect("full", 1)
			k.ok(k.reverse(tenth))
			expect("not full any more", 0)
			k.ok(k.stamp(card, 1))
			if repeat {
				k.ok(k.stamp(card, 1)) // completes the first card
				expect("overflowed", 0.5)
			}
		}
	})
	t.Run("highest threshold claimed before the card is full", func(t *testing.T) {
		program, prizes := k.ladder(true, 3, 5)
		expect := k.expectCompletion(program)
		card := k.card(program)
		k.ok(k.stamp(card, 5))
		claim := k.ok(k.redeem(card, prizes[1])).Transaction.ID
		expect("half full", 0)
		k.ok(k.stamp(card, 5))
		expect("full", 1)
		k.ok(k.reverse(claim))
		expect("the claim is free", 0)
		k.ok(k.redeem(card, prizes[1])) // completes the cycle and starts the next
		expect("completed", 1)
		k.ok(k.stamp(card, 1))
		expect("the next cycle", 0.5)
	})
	t.Run("the ladder and total_stamps change", func(t *testing.T) {
		program, _ := k.ladder(false)
		expect := k.expectCompletion(program)
		card, erased := k.card(program), k.card(program)
		k.ok(k.stamp(card, 8))
		k.ok(k.stamp(erased, 8))
		k.erase(erased)
		expect("eight of ten", 0)
		total := func(n int64) {
			k.updateProgram(program, ProgramFields{TotalStamps: set(n)})
		}
		total(8)
		expect("eight of eight", 1)
		z := k.addPrize(program, PrizeFields{Threshold: set(int64(4)), Name: set("Prize")})
		expect("a prize is left", 0)
		k.must(func(tx *Tx) error { return tx.DeletePrize(k.a, program, z.ID) })
		expect("it is gone", 1)
		total(9)
		expect("eight of nine", 0)
	})
	t.Run("stamps expire", func(t *testing.T) {
		fields := stamps("Short")
		fields.StampsExpireAfterDays = set(int64(2))
		program, _ := k.ladderOf(fields)
		expect := k.expectCompletion(program)
		card := k.card(program)
		k.ok(k.stamp(card, 4))
		k.clock.move(days(1))
		k.ok(k.stamp(card, 6))
		expect("full", 1)
		k.clock.move(days(1))
		k.ok(k.stamp(card, 1))
		expect("four are gone and one is new", 0)
		k.clock.move(days(5))
		k.ok(k.stamp(card, 10))
		expect("full again", 1)
	})
}

// TestCardsCountWhereAccepted checks that a card counts at the location of its first presentation
// that was accepted, and not at one that refused it.
func TestCardsCountWhereAccepted(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	elsewhere := k.till()
	program, _ := k.ladder(true, 10)
	card := k.cardWith(program, CardFields{ExpiresAt: set(k.clock.at().Add(time.Hour))})
	expect := func(what string, want ...PlaceCount) {
		t.Helper()
		got := *k.statistics(program).CardsByLocation
		if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
		k.checkFile()
	}
	expect("never presented")
	k.clock.move(time.Hour)
	_, err := k.stamp(card, 1) // writes a row, and is refused
	refused(t, err, CardExpired)
	expect("refused")
	k.update(card, CardPatch{ExpiresAt: null[Time]()})
	k.lock(card, true)
	_, err = k.stamp(card, 1)
	refused(t, err, CardSuspended)
	expect("refused again")
	k.lock(card, false)
	stamped := elsewhere.ok(elsewhere.stamp(card, 1))
	expect("accepted", PlaceCount{elsewhere.location, "", 1})
	elsewhere.ok(elsewhere.reverse(stamped.Transaction.ID))
	k.ok(k.stamp(card, 1))
	expect("accepted here later", PlaceCount{elsewhere.location, "", 1})
}
