package store

import (
	"testing"
	"time"
)

// startWeeks returns a till with a ledger of two weeks and a Monday: a new card with one stamp a day,
// reversed on Tuesdays.
func startWeeks(t *testing.T) till {
	k := startIn(t, "Europe/Rome", "2026-03-02T12:00:00Z") // a Monday
	program := k.program(stamps("Ten"))
	k.card(program)
	for day := range 15 {
		row := k.stamped(k.card(program), 1)
		if day%7 == 1 {
			k.reversed(row.Transaction.ID)
		}
		k.clock.move(24 * time.Hour)
	}
	k.clock.move(-24 * time.Hour) // back to the last Monday
	return k
}

func (k till) compare(a Access, q CompareQuery) (c Comparison, err error) {
	err = k.View(0, func(v *View) (err error) {
		c, err = v.ComparePeriods(a, q)
		return err
	})
	return c, err
}

// TestComparePeriods compares periods of a small ledger with figures counted by hand.
func TestComparePeriods(t *testing.T) {
	k := startWeeks(t)
	for what, c := range map[string]struct {
		q                              CompareQuery
		from, to                       string
		stamps, before, days, newCards int64
		today                          bool
	}{
		"a week": {
			CompareQuery{From: set("2026-03-09"), To: set("2026-03-15")}, "2026-03-02", "2026-03-08", 6, 6, 7, 7,
			false,
		},
		"a day": {
			CompareQuery{From: set("2026-03-10"), To: set("2026-03-10")}, "2026-03-03", "2026-03-03", 0, 0, 1, 1,
			false,
		},
		"eight days": {
			CompareQuery{From: set("2026-03-09"), To: set("2026-03-16")}, "2026-02-23", "2026-03-02", 7, 1, 8, 8,
			true,
		},
		"Mondays": {
			CompareQuery{From: set("2026-03-09"), To: set("2026-03-16"), Weekday: setInt(1)}, "2026-02-23",
			"2026-03-02", 2, 1, 2, 2, true,
		},
		"a period that begins": {
			CompareQuery{From: set("2026-03-09"), To: set("2026-03-10"), CompareFrom: set("2026-03-04")},
			"2026-03-04", "2026-03-05", 1, 2, 2, 2, false,
		},
		"two given ones": {
			CompareQuery{From: set("2026-03-09"), To: set("2026-03-10"), CompareFrom: set("2026-03-02"), CompareTo: set("2026-03-08")},
			"2026-03-02", "2026-03-08", 1, 6, 2, 2, false,
		},
		"another program": {
			CompareQuery{From: set("2026-03-09"), To: set("2026-03-15"), ProgramID: set("prg_none")}, "2026-03-02",
			"2026-03-08", 0, 0, 7, 0, false,
		},
	} {
		got, err := k.compare(k.a, c.q)
		if err != nil || got.With.From != c.from || got.With.To != c.to || got.Period.Stamps != c.stamps || got.With.Stamps != c.before ||
			got.Period.Days != c.days ||
			got.Period.NewCards != Some(c.newCards) ||
			got.Period.IncludesToday != c.today {
			t.Errorf("%s: %+v %v", what, got, err)
		}
		if d := got.Change["stamps"]; d.Absolute != c.stamps-c.before || d.Percent.Valid != (c.before != 0) {
			t.Errorf("%s: change %+v", what, d)
		}
	}
}

// TestComparePeriodsOfALocation checks the comparison of two weeks of a location, also by a restricted
// key, and which periods are refused.
func TestComparePeriodsOfALocation(t *testing.T) {
	k := startWeeks(t)
	other := k.fixture.till()
	week := CompareQuery{From: set("2026-03-09"), To: set("2026-03-15")}
	for _, a := range []Access{k.restrictedTo(other.location), k.restrictedTo(k.location)} {
		got, err := k.compare(a, week)
		if err != nil || got.Period.NewCards.Valid || (got.Period.Stamps == 6) != (a.Locations[0] == k.device.Location) {
			t.Errorf("restricted to %v: %+v %v", a.Locations, got.Period, err)
		}
	}
	week.LocationID = set(k.location)
	if got, err := k.compare(k.a, week); err != nil || got.Period.Stamps != 6 || got.Period.NewCards.Valid {
		t.Errorf("at a location: %+v %v", got.Period, err)
	}
	refused(t, errorOf(k.compare(k.restrictedTo(other.location), week)), Unauthorized)
	for _, q := range []CompareQuery{
		{From: set("2026-03-02"), To: set("2026-03-01")}, {From: set("2025-03-01"), To: set("2026-03-02")},
		{From: set("2026-03-01"), To: set("2026-03-01"), CompareFrom: set("2026-02-03"), CompareTo: set("2026-02-02")},
	} {
		refused(t, errorOf(k.compare(k.a, q)), ValidationFailed)
	}
}

// TestDraftWebhook checks that nothing is sent to a draft before a person has activated it
// with a new secret.
func TestDraftWebhook(t *testing.T) {
	k := startTill(t)
	program := k.program(stamps("Ten"))
	const url = "https://hooks.example.com/in"
	hook := must(k.fixture, func(tx *Tx) (Webhook, error) {
		tx.CheckedTarget = url
		return tx.DraftWebhook(k.a, program, DraftFields{URL: set(url), Events: set([]string{"*"})})
	})
	secret := k.lines("SELECT secret FROM webhooks")[0]
	k.stamped(k.card(program), 1)
	activate := func(actor string, rotate bool) error {
		return k.do(func(tx *Tx) error {
			tx.Actor.Type = actor
			patch := WebhookPatch{WebhookFields: WebhookFields{Active: set(true)}, RotateSecret: set(rotate)}
			return errorOf(tx.UpdateWebhook(k.a, program, hook.ID, patch))
		})
	}
	test := func() error {
		return k.do(func(tx *Tx) error { return errorOf(tx.TestActiveWebhook(k.a, hook.ID)) })
	}
	refused(t, k.do(func(tx *Tx) error { return errorOf(tx.TestWebhook(k.a, program, hook.ID)) }), Unprocessable)
	refused(t, test(), Unprocessable)
	for _, rotate := range []bool{false, true} {
		refused(t, activate("api_key", rotate), Unprocessable)
	}
	refused(t, activate("user", false), Unprocessable)
	if hook.Active {
		t.Fatalf("%+v", hook)
	}
	k.selects(0, "SELECT count(*) FROM deliveries")
	succeed(activate("user", true))
	if k.lines("SELECT secret FROM webhooks")[0] == secret {
		t.Fatal("it has the old secret")
	}
	k.writes(func(tx *Tx) { check(tx.PauseWebhook(k.a, hook.ID)) })
	refused(t, test(), Unprocessable)
	succeed(activate("api_key", false), test()) // it is no longer a draft
}

// TestNoteCalls checks that NoteCalls never lowers a count, that it deletes counts that are
// more than a month old, and that it ignores those of a shop that was deleted meanwhile.
func TestNoteCalls(t *testing.T) {
	f := start(t)
	n := f.key(KindKey, f.apiKey(KeyFields{Class: set("mcp")}))
	today := UTCDay(f.clock.at())
	note := func(day, calls int64) {
		f.must(func(tx *Tx) error { return tx.NoteCalls(map[KeyDay]int64{{n, day}: calls}) })
	}
	note(today-40, 1)
	note(today-29, 10)
	note(today, 5)
	note(today, 3)
	f.view(func(v *View) error {
		infos, err := v.KeyInfos(f.a.Shop)
		if len(infos) != 1 || infos[0].CallsToday != 5 || infos[0].Calls30d != 15 {
			t.Errorf("%+v", infos)
		}
		if calls, _ := v.CallsOf(n, today-40); calls != 0 {
			t.Errorf("%d calls 40 days ago are still stored", calls)
		}
		return err
	})
	other := f.in(f.shop(ShopFields{Name: set("Other")}))
	f.writes(func(tx *Tx) { check(tx.DeleteShop(f.a.Shop, "My shop")) })
	note(today+1, 1)
	f.selects(0, "SELECT count(*) FROM key_calls WHERE day=?", today+1)
	succeed(f.EraseShop(t.Context(), f.a.Shop, 100, func(time.Duration) {}))
	note(today, 6)
	other.checkFile()
}
