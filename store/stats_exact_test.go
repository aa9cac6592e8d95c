package store

import (
	"errors"
	"testing"
	"time"
)

// TestLedgerFollowsItsModel compares the statistics with a model. These tests check what its random
// operations reach too rarely.

// TestCompletionRateOfAFreedClaim checks that a full card counts as completed if its highest threshold
// was claimed before it was full, until the claim is reversed.
func TestCompletionRateOfAFreedClaim(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 3, 5)
	expect := func(what string, rate float64) {
		t.Helper()
		if got := k.statistics(program).CompletionRate; got == nil || *got != rate {
			t.Errorf("%s: the rate is not %v", what, rate)
		}
		k.checkFile()
	}
	card := k.card(program)
	k.stamped(card, 5)
	claim := k.redeemed(card, prizes[1]).Transaction.ID
	expect("half full", 0)
	k.stamped(card, 5)
	expect("full", 1)
	k.reversed(claim)
	expect("the claim is free", 0)
	k.redeemed(card, prizes[1]) // completes the cycle and starts the next
	expect("completed", 1)
	k.stamped(card, 1)
	expect("the next cycle", 0.5)
}

// TestExpiredByTimeAlone checks that the number of active cards is exact at every millisecond, with
// or without housekeeping, also after a card became live again.
func TestExpiredByTimeAlone(t *testing.T) {
	t.Parallel()
	for name, lapse := range map[string]bool{"without housekeeping": false, "with housekeeping": true} {
		t.Run(name, func(t *testing.T) {
			k := startTill(t)
			program, _ := k.ladder(true, 10)
			end := k.clock.at().Add(time.Hour)
			// patched and chain expire, and so does the card that overflows from chain; a third one does not.
			patched := k.cardWith(program, CardFields{ExpiresAt: set(end)})
			chain := k.cardWith(program, CardFields{ExpiresAt: set(end)})
			k.stamped(patched, 1)
			k.stamped(chain, 12)
			k.stamped(k.card(program), 1)
			invited := k.cardWith(program, CardFields{ExpiresAt: set(end)}) // expires before its first stamp
			active := func(want int64) {
				t.Helper()
				for range 2 {
					var d CardTypeDistribution
					var s CardStats
					k.reads(func(v *View) {
						d, s = check(v.Distribution(k.a)), check(v.CardStats(k.a, "standard"))
					})
					if n := *k.statistics(program).ActiveCards; n != want || d.Distribution[0].Count != want ||
						*s.KPIs["active_cards"] != float64(want) {
						t.Errorf("%d active, want %d", n, want)
					}
					k.checkFile()
					if lapse {
						k.markExpired()
					}
				}
			}
			at := func(end Time, before, after int64) {
				t.Helper()
				k.clock.ms.Store(int64(end) - 1)
				active(before)
				k.clock.move(time.Millisecond)
				active(after)
			}
			active(4)
			at(end, 4, 1)
			end = end.Add(time.Hour)
			k.update(patched, CardPatch{ExpiresAt: set(end)})
			active(2)
			at(end, 2, 1)
			k.update(patched, CardPatch{ExpiresAt: null[Time]()})
			active(2)
			end = end.Add(time.Hour)
			k.reissue(chain, ReissueFields{ExpiresAt: set(end)})
			active(2) // invited again
			k.stamped(chain, 1)
			active(4)
			k.lock(chain, true)
			active(2)
			at(end, 2, 2) // locked, so it was not counted
			k.reissue(chain, ReissueFields{})
			k.reissue(invited, ReissueFields{})
			k.stamped(invited, 1)
			k.stamped(chain, 1)
			active(5)
			k.archive(chain)
			active(3)
		})
	}
}

// TestRecountInAGroup checks that a recount includes once what earlier members of its group
// wrote, that later members add to it, and that a recount that is rolled back changes nothing.
func TestRecountInAGroup(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	card := k.card(program)
	stamp := Write{Actor: operator, Do: func(tx *Tx) error {
		return errorOf(tx.Stamp(k.device, card, StampFields{Count: setInt(2)}))
	}}
	recount := write((*Tx).RecountStats)
	failing := Write{Actor: operator, Do: func(tx *Tx) error {
		if _, err := tx.Stamp(k.device, card, StampFields{}); err != nil {
			return err
		}
		return errors.Join(tx.RecountStats(), errors.New("taken back"))
	}}
	both := write(func(tx *Tx) error { return errors.Join(stamp.Do(tx), tx.RecountStats(), stamp.Do(tx)) })
	stamped := int64(0)
	for _, c := range []struct {
		writes []Write
		stamps int64
	}{
		{[]Write{stamp, recount}, 2}, {[]Write{recount, stamp}, 2}, {[]Write{stamp, recount, stamp}, 4},
		{[]Write{stamp, failing, stamp}, 4},
		{[]Write{stamp, recount, failing, recount, stamp}, 4}, {[]Write{both, stamp, both}, 10},
	} {
		k.group(c.writes...)
		k.checkFile()
		stamped += c.stamps
		k.selects(stamped, "SELECT stamps FROM program_counts WHERE program_id=?", k.key(KindProgram, program))
	}
}
