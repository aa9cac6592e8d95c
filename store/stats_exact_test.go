package store

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// TestReversedRowsLeaveTheirOwnDay checks that a reversal removes a row from the day, hour and
// location where it was counted, and that the reversal itself is not counted.
func TestReversedRowsLeaveTheirOwnDay(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, prizes := k.ladder(true, 5, 10)
	card := k.card(program)
	first := k.ok(k.stamp(card, 6)).Transaction.ID
	prize := k.ok(k.redeem(card, prizes[0])).Transaction.ID
	k.clock.move(days(3))
	kept := k.ok(k.stamp(card, 1)).Transaction.ID
	gift := k.card(k.program(prepaid("Gift", 100)))
	up, spent := k.ok(k.topUp(gift, 500)).Transaction.ID, k.ok(k.spend(gift, 50)).Transaction.ID
	k.clock.move(days(2))
	expect := func(stamps, redeemed int64, average bool, money [3]float64, activity ...DayCount) {
		t.Helper()
		st := k.statistics(program)
		if *st.TotalStampsAwarded != stamps || *st.PrizesRedeemed != redeemed || (st.AvgDaysBetweenStamps != nil) != average || average && *st.AvgDaysBetweenStamps != 3 {
			t.Errorf("%d stamps, %d prizes, %v days", *st.TotalStampsAwarded, *st.PrizesRedeemed, st.AvgDaysBetweenStamps)
		}
		var sum int64
		for _, p := range *st.StampsByLocation {
			sum += p.Count
		}
		for _, h := range *st.StampsByHourDow {
			sum += h.Count
		}
		for _, d := range *st.StampsByDay {
			sum += d.Count
		}
		if sum != 3*stamps {
			t.Errorf("locations, hours and days add up to %d, want %d each", sum, stamps)
		}
		k.view(func(v *View) error {
			h := check(v.Heatmap(k.a, HeatmapQuery{}))
			if got := someDays(&h.Days); !slices.Equal(got, activity) {
				t.Errorf("activity %v, want %v", got, activity)
			}
			kpis := check(v.CardStats(k.a, "prepaid")).KPIs
			if got := [3]float64{*kpis["balance_cents"], *kpis["topped_up_cents"], *kpis["spent_cents"]}; got != money {
				t.Errorf("balance, topped up and spent are %v, want %v", got, money)
			}
			return nil
		})
		k.checkFile()
	}
	expect(7, 1, true, [3]float64{550, 500, 50}, DayCount{"2026-01-02", 2}, DayCount{"2026-01-05", 3})
	k.ok(k.reverse(prize))
	expect(7, 0, true, [3]float64{550, 500, 50}, DayCount{"2026-01-02", 1}, DayCount{"2026-01-05", 3})
	k.ok(k.reverse(first))
	expect(1, 0, false, [3]float64{550, 500, 50}, DayCount{"2026-01-05", 3})
	k.ok(k.reverse(spent))
	expect(1, 0, false, [3]float64{600, 500, 0}, DayCount{"2026-01-05", 2})
	k.ok(k.reverse(up))
	expect(1, 0, false, [3]float64{100, 0, 0}, DayCount{"2026-01-05", 1})
	k.ok(k.reverse(kept))
	expect(0, 0, false, [3]float64{100, 0, 0})
}

// TestOverflowIsOneCard checks that the children of a chain are no new cards, whoever issues the
// first and wherever they are stamped, and that each completed cycle counts once.
func TestOverflowIsOneCard(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	elsewhere := k.till()
	program, prizes := k.ladder(true, 10)
	issued := k.card(program)
	expect := func(active, cards, placed int64, rate float64) {
		t.Helper()
		st, s := k.statistics(program), AnalyticsSummary{}
		k.view(func(v *View) (err error) {
			s, err = v.Summary(k.a)
			return err
		})
		var at int64
		for _, p := range *st.CardsByLocation {
			if at += p.Count; p.LocationID != k.location {
				t.Errorf("counted at %s", p.LocationName)
			}
		}
		if *st.ActiveCards != active || (*st.CardsByDay)[89].Count != cards || s.NewCards30d != cards || at != placed {
			t.Errorf("%d active, %d new, %d in 30 days, %d placed", *st.ActiveCards, (*st.CardsByDay)[89].Count, s.NewCards30d, at)
		}
		if rate < 0 != (st.CompletionRate == nil) || rate >= 0 && *st.CompletionRate != rate {
			t.Errorf("completion rate %v, want %v", st.CompletionRate, rate)
		}
		k.checkFile()
	}
	expect(0, 1, 0, -1) // not presented, so it has no location
	k.ok(k.stamp(issued, 8))
	expect(1, 1, 1, 0)
	elsewhere.ok(elsewhere.stamp(issued, 5)) // ten stamps and three
	expect(2, 1, 1, 0)
	k.ok(k.redeem(issued, prizes[0])) // completes and archives the first card
	expect(1, 1, 1, 0.5)
	k.ok(k.stamp(issued, 7))
	k.ok(k.redeem(issued, prizes[0])) // completes the cycle and starts the next
	expect(1, 1, 1, 1)
	_, err := k.redeem(issued, prizes[0])
	refused(t, err, Unprocessable)
	k.ok(k.stamp(issued, 1))
	expect(1, 1, 1, 2.0/3)
	must(k.fixture, func(tx *Tx) (IssuedCard, error) { return tx.IssueAtCounter(k.device, program, CounterFields{}) })
	expect(2, 2, 2, 2.0/3)
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
			k.ok(k.stamp(patched, 1))
			k.ok(k.stamp(chain, 12))
			k.ok(k.stamp(k.card(program), 1))
			invited := k.cardWith(program, CardFields{ExpiresAt: set(end)}) // expires before its first stamp
			active := func(want int64) {
				t.Helper()
				for range 2 {
					var d CardTypeDistribution
					var s CardStats
					k.view(func(v *View) error {
						d, s = check(v.Distribution(k.a)), check(v.CardStats(k.a, "standard"))
						return nil
					})
					if n := *k.statistics(program).ActiveCards; n != want || d.Distribution[0].Count != want || *s.KPIs["active_cards"] != float64(want) {
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
			k.ok(k.stamp(chain, 1))
			active(4)
			k.lock(chain, true)
			active(2)
			at(end, 2, 2) // locked, so it was not counted
			k.reissue(chain, ReissueFields{})
			k.reissue(invited, ReissueFields{})
			k.ok(k.stamp(invited, 1))
			k.ok(k.stamp(chain, 1))
			active(5)
			k.archive(chain)
			active(3)
		})
	}
}

// TestRecountInAGroup checks that a recount includes once what earlier members of its group
// wrote, that later members add to it, and that a recount that is rolled back changes nothing.
func TestRecountInAGroup(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, _ := k.ladder(true)
	card := k.card(program)
	stamp := Write{Actor: operator, Do: func(tx *Tx) error {
		return errorOf(tx.Stamp(k.device, card, StampFields{Count: set(int64(2))}))
	}}
	recount := Write{Actor: operator, Do: (*Tx).RecountStats}
	failing := Write{Actor: operator, Do: func(tx *Tx) error {
		if _, err := tx.Stamp(k.device, card, StampFields{}); err != nil {
			return err
		}
		return errors.Join(tx.RecountStats(), errors.New("taken back"))
	}}
	both := Write{Actor: operator, Do: func(tx *Tx) error { return errors.Join(stamp.Do(tx), tx.RecountStats(), stamp.Do(tx)) }}
	stamped := int64(0)
	for _, c := range []struct {
		writes []Write
		stamps int64
	}{
		{[]Write{stamp, recount}, 2}, {[]Write{recount, stamp}, 2}, {[]Write{stamp, recount, stamp}, 4}, {[]Write{stamp, failing, stamp}, 4},
		{[]Write{stamp, recount, failing, recount, stamp}, 4}, {[]Write{both, stamp, both}, 10},
	} {
		k.group(c.writes...)
		k.checkFile()
		stamped += c.stamps
		k.selects(stamped, "SELECT stamps FROM program_counts WHERE program_id=?", k.key(KindProgram, program))
	}
}
