package store

import (
	"testing"
	"time"
)

// TestMaxStampsPerDay checks the limit of stamps for a chain on a day of the shop's
// calendar: stamps over the limit are refused, reversed stamps do not count, and the
// next day begins at the shop's midnight.
func TestMaxStampsPerDay(t *testing.T) {
	k := startTill(t)
	k.inZone("America/New_York")
	program, _ := k.ladder(true, 10)
	limit := func(f ProgramSettings) {
		t.Helper()
		k.settings(program, f)
	}
	limit(ProgramSettings{MaxStampsPerDay: setInt(12)})
	card, other := k.card(program), k.card(program)
	over := func(n int64) {
		t.Helper()
		before := k.dump()
		k.refuses(Unprocessable)(k.stamp(card, n))
		if after := k.dump(); after != before {
			t.Errorf("a refused stamp wrote %s", firstDifference(before, after))
		}
	}
	// The clock starts in the evening of the first of January in New York.
	over(13)
	k.stamped(card, 8)
	first := k.stamped(card, 4) // two of them on a second card
	if first.OverflowCard == nil {
		t.Fatal("no second card")
	}
	over(1)
	k.stamped(other, 12) // another card
	k.reversed(first.Transaction.ID)
	over(5)
	k.stamped(card, 4)
	over(1)
	midnight := time.Date(2026, 1, 2, 5, 0, 0, 0, time.UTC)
	k.clock.move(midnight.Sub(k.clock.now()) - time.Millisecond)
	over(1)
	k.clock.move(time.Millisecond)
	k.stamped(card, 6)
	over(7)

	// A change of other settings keeps the limit; null removes it.
	limit(ProgramSettings{MinSpendCents: null[int64]()})
	over(7)
	limit(ProgramSettings{MaxStampsPerDay: null[int64]()})
	k.stamped(card, 7)
	k.checkFile()
}

// TestMaxStampsOfALongDay checks a day of 25 hours, whose first stamps still count in
// its last hour.
func TestMaxStampsOfALongDay(t *testing.T) {
	k := startTill(t)
	k.inZone("Europe/Rome")
	program, _ := k.ladder(true)
	k.settings(program, ProgramSettings{MaxStampsPerDay: setInt(2)})
	card := k.card(program)
	rome := Zone("Europe/Rome")
	k.clock.move(time.Date(2026, 10, 25, 0, 0, 0, 0, rome).Sub(k.clock.now()))
	k.stamped(card, 2)
	k.clock.move(time.Date(2026, 10, 25, 23, 59, 59, 0, rome).Sub(k.clock.now()))
	k.refuses(Unprocessable)(k.stamp(card, 1))
	k.clock.move(time.Second)
	k.stamped(card, 2)
}
