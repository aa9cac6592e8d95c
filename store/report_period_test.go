package store

import (
	"testing"
	"time"
)

// TestPeriod compares the sums of a period, across a change of the clocks, with the
// ledger.
func TestPeriod(t *testing.T) {
	rng := chance(t)
	f := start(t)
	rome := Zone("Europe/Rome")
	f.clock.ms.Store(time.Date(2026, 3, 26, 22, 0, 0, 0, rome).UnixMilli()) // the clocks change on the 29th
	f.inZone("Europe/Rome")
	one, two := f.till(), f.till()
	coffee, prizes := one.ladderOf(stamps("Coffee"), 1)
	gift := f.program(prepaid("Gift", 0))
	balance := f.card(gift)
	for f.clock.now().Before(time.Date(2026, 3, 31, 3, 0, 0, 0, rome)) {
		k := []till{one, two}[rng.IntN(2)]
		card := f.card(coffee)
		row := k.stamped(card, 1+rng.Int64N(3)).Transaction.ID
		switch rng.IntN(4) {
		case 0:
			k.redeemed(card, prizes[0])
		case 1:
			check(k.topUp(balance, 50))
			check(k.spend(balance, 20))
		case 2:
			k.reversed(row)
		}
		f.clock.move(time.Duration(1+rng.Int64N(120)) * time.Minute)
	}
	period := func(q PeriodQuery) PeriodReport {
		return view(f, func(v *View) (PeriodReport, error) { return v.Period(f.a.Shop, q) })
	}
	p := period(PeriodQuery{From: set("2026-03-25")})
	if p.From != "2026-03-25" || p.To != "2026-03-31" || len(p.Days) != 7 {
		t.Fatalf("%s to %s, %d days", p.From, p.To, len(p.Days))
	}
	var sum, byLocation PeriodSums
	for _, d := range p.Days {
		at := check(time.ParseInLocation(time.DateOnly, d.Date, rome))
		want := f.totalsByHand(TimeOf(at), TimeOf(at.AddDate(0, 0, 1))-1)
		if got := (DayTotals{d.Stamps, d.Redemptions, d.NewCards, d.ToppedUpCents, d.SpentCents}); got != want {
			t.Errorf("%s: %+v, want %+v", d.Date, got, want)
		}
		sum.add(d.PeriodSums)
	}
	if p.Total != sum || sum.Activity == 0 {
		t.Errorf("total %+v, of the days %+v", p.Total, sum)
	}
	for _, l := range p.Locations {
		byLocation.add(l.PeriodSums)
	}
	if byLocation.NewCards = sum.NewCards; byLocation != sum || len(p.Locations) != 2 {
		t.Errorf("%d locations: %+v, of the days %+v", len(p.Locations), byLocation, sum)
	}
	var programs PeriodSums
	for _, id := range []string{coffee, gift} {
		programs.add(period(PeriodQuery{From: set("2026-03-25"), ProgramID: set(id)}).Total)
	}
	if programs != sum {
		t.Errorf("of the programs %+v, of the days %+v", programs, sum)
	}
	for _, q := range []PeriodQuery{{From: set("2026-04-01")}, {From: set("2025-03-30")}} {
		refused(t, f.View(0, func(v *View) error { return errorOf(v.Period(f.a.Shop, q)) }), ValidationFailed)
	}
}
