package store

import (
	"testing"
	"time"
)

// TestTillToday checks the sums of a device's own day by the shop's calendar: without what other
// devices did, what was reversed, and cards that were archived; with a stamp that was sent later.
func TestTillToday(t *testing.T) {
	f := start(t)
	f.inZone("Europe/Rome")
	rome := Zone("Europe/Rome")
	f.clock.ms.Store(time.Date(2026, 3, 28, 23, 59, 59, 0, rome).UnixMilli()) // the next day has 23 hours
	k, other := f.till(), f.till()
	coffee, prizes := k.ladderOf(stamps("Coffee"), 2)
	gift, club := f.program(prepaid("Gift", 0)), f.program(access("Club"))
	card, money, entry := f.card(coffee), f.card(gift), f.card(club)
	issue := func(at till, cents int64) (id string) {
		t.Helper()
		err := f.Write(t.Context(), Write{Actor: Actor{Type: "device", Key: at.device.Device}, Do: func(tx *Tx) error {
			made, err := tx.IssueAtCounter(at.device, gift, CounterFields{AmountCents: set(cents)})
			id = made.ID
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	today := func() TillToday {
		return view(f, func(v *View) (TillToday, error) { return v.TillToday(k.device) })
	}
	k.stamped(card, 1)
	issue(k, 111)
	yesterday := f.clock.at()
	if got, want := today(), (TillToday{
		Date: "2026-03-28", Timezone: "Europe/Rome", Stamps: 1, NewCards: 1, IssuedCents: 111, Complete: true,
	}); got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	f.clock.move(time.Second) // midnight
	if got, want := today(), (TillToday{Date: "2026-03-29", Timezone: "Europe/Rome", Complete: true}); got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	f.clock.move(time.Hour)
	k.stamped(card, 3)
	k.redeemed(card, prizes[0])
	k.reversed(k.stamped(card, 1).Transaction.ID)
	check(k.topUp(money, 5000))
	check(k.spend(money, 1200))
	k.reversed(check(k.topUp(money, 900)).Transaction.ID)
	check(k.use(entry))
	issue(k, 2550)
	mistake := issue(k, 90_000)
	f.archive(mistake)
	f.writes(func(tx *Tx) {
		check(tx.Stamp(k.device, card, StampFields{OccurredAt: set(yesterday)}))
	})
	f.writes(func(tx *Tx) {
		check(tx.Stamp(k.device, card, StampFields{OccurredAt: set(f.clock.at() - 1000)}))
	})
	other.stamped(card, 1)
	check(other.topUp(money, 77))
	issue(other, 333)
	want := TillToday{
		Date:          "2026-03-29",
		Timezone:      "Europe/Rome",
		Stamps:        4,
		Redemptions:   1,
		Uses:          1,
		NewCards:      1,
		IssuedCents:   2550,
		ToppedUpCents: 5000,
		SpentCents:    1200,
		Complete:      true,
	}
	if got := today(); got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	f.checkFile()
}
