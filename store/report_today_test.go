package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// today returns the Today of the fixture's shop.
func (f *fixture) today(t *testing.T) Today {
	return view(f, func(v *View) (Today, error) { return v.Today(f.a.Shop) })
}

// totalsByHand computes the totals of a time, from and to included, from the ledger and the cards,
// without the maintained sums.
func (f *fixture) totalsByHand(from, to Time) DayTotals {
	row := func(sum, kind string) int64 {
		return f.number(
			"SELECT ifnull(sum("+sum+"), 0) FROM transactions WHERE shop_id=? AND ifnull(occurred_at, created_at)>=? AND "+
				"ifnull(occurred_at, created_at)<=? AND reversed_at IS NULL AND type=?",
			f.a.Shop, from, to, kind,
		)
	}
	return DayTotals{
		Stamps:        row("stamps_delta", "stamp"),
		Redemptions:   row("1", "redemption"),
		ToppedUpCents: row("value_delta", "topup"),
		SpentCents:    -row("value_delta", "spend"),
		NewCards: f.number(
			"SELECT count(*) FROM cards WHERE shop_id=? AND root_id IS NULL AND created_at>=? AND created_at<=?",
			f.a.Shop,
			from,
			to,
		),
	}
}

// TestToday compares the sums of today and of the week before, across a change of the
// clocks, with the ledger.
func TestToday(t *testing.T) {
	t.Parallel()
	for _, zone := range sample([]string{"Europe/Rome", "Asia/Kathmandu"}) {
		t.Run(zone, func(t *testing.T) {
			rng := chance(t)
			f := start(t)
			location := Zone(zone)
			f.clock.ms.Store(time.Date(2026, 3, 23, 5, 0, 0, 0, location).UnixMilli()) // Rome's clocks change on the 29th
			f.inZone(zone)
			k := f.till()
			coffee, prizes := k.ladderOf(stamps("Coffee"), 1, 2)
			gift := f.program(prepaid("Gift", 0))
			other := f.shop(ShopFields{})
			elsewhere := f.in(other).till()
			theirs := f.in(other).program(stamps("Theirs"))
			balance := f.card(gift)
			check(k.topUp(balance, 100_000))
			for f.clock.now().Before(time.Date(2026, 3, 30, 11, 7, 0, 0, location)) {
				card := f.card(coffee)
				row := k.stamped(card, 1+rng.Int64N(9)).Transaction.ID
				if rng.IntN(3) == 0 {
					check(k.stampLater(card, time.Duration(rng.Int64N(7*24*60))*time.Minute))
				}
				elsewhere.stamped(f.in(other).card(theirs), 1)
				switch rng.IntN(5) {
				case 0:
					k.redeemed(card, prizes[0])
				case 1:
					check(k.topUp(balance, 50))
				case 2:
					check(k.spend(balance, 20))
				case 3:
					k.reversed(row)
				}
				f.clock.move(time.Duration(1+rng.Int64N(240)) * time.Minute)
			}
			now := f.clock.now().In(location)
			for range 30 {
				now = now.Add(time.Duration(rng.Int64N(int64(7 * time.Minute))))
				f.clock.ms.Store(now.UnixMilli())
				if rng.IntN(4) == 0 {
					k.stamped(f.card(coffee), 1)
					check(k.stampLater(f.card(coffee), time.Duration(rng.Int64N(20))*time.Minute))
					check(k.stampLater(f.card(coffee), longestDelay-time.Duration(rng.Int64N(20))*time.Minute))
				}
				before := now.AddDate(0, 0, -7)
				midnight := func(at time.Time) Time {
					return TimeOf(time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, location))
				}
				got := f.today(t)
				want := Today{
					Timezone:   zone,
					Date:       now.Format(time.DateOnly),
					WeekBefore: before.Format(time.DateOnly),
					Until:      TimeOf(now),
					Today:      f.totalsByHand(midnight(now), TimeOf(now)),
					Before:     f.totalsByHand(midnight(before), TimeOf(before)),
				}
				got.Begun = Begun{}
				if got.Events, got.Attention = nil, nil; fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("at %s\n%+v\nwant\n%+v", now, got, want)
				}
			}
		})
	}
}

// TestBegun checks the steps of setting up a shop that are done in a new shop, and in one that
// has done all.
func TestBegun(t *testing.T) {
	f := start(t)
	if got := f.today(t).Begun; got != (Begun{}) {
		t.Errorf("a new shop has %+v", got)
	}
	k := f.till()
	check(k.topUp(f.card(f.program(prepaid("Gift", 0))), 100))
	if got, all := f.today(t).Begun, (Begun{true, true, true, true, true, true}); got != all || !got.Done() {
		t.Errorf("a shop with all has %+v", got)
	}
}

// TestTodayEvents checks the newest rows with their names, and that there are at most 20.
func TestTodayEvents(t *testing.T) {
	k := startTill(t)
	f := k.fixture
	if got := f.today(t); len(got.Events) != 0 || got.Events == nil {
		t.Errorf("an empty shop: %+v", got)
	}
	program := f.program(stamps("Coffee"))
	card := f.cardOf(program, "Ada")
	for range 24 {
		k.stamped(f.card(program), 1)
	}
	row := k.stamped(card, 1).Transaction.Transaction
	undone := k.reversed(row.ID).Transaction.Transaction
	events := f.today(t).Events
	if len(events) != 20 {
		t.Fatalf("%d events", len(events))
	}
	row.ReversedAt = Some(f.clock.at())
	for i, want := range []LedgerEntry{{Transaction: undone, ReversesID: Some(row.ID)}, {Transaction: row}} {
		want.ProgramName, want.HolderName, want.DeviceID, want.DeviceName = "Coffee", Some("Ada"), Some(
			f.ID(KindDevice, k.device.Device),
		), Some("Till")
		if events[i] != want {
			t.Errorf("event %d is %+v\nwant %+v", i, events[i], want)
		}
	}
	if e := events[2]; e.HolderName.Valid || e.ReversesID.Valid {
		t.Errorf("%+v", e)
	}
}

// TestTodayAttention checks the webhooks and programs that Today says need attention.
func TestTodayAttention(t *testing.T) {
	k := startTill(t)
	f := k.fixture
	attention := func() string {
		var lines []string
		for _, a := range f.today(t).Attention {
			lines = append(lines, fmt.Sprintf("%s %s %d", a.Kind, a.Name, a.Failures))
		}
		slices.Sort(lines)
		return strings.Join(lines, ", ")
	}
	ok, _ := k.ladderOf(stamps("With prizes"), 5)
	f.program(prepaid("Gift", 0))
	hook := func(url string) int64 {
		return f.key(KindWebhook, f.subscribe(ok, func(w *WebhookFields) { w.URL = set(url) }).ID)
	}
	hook("https://good.invalid/")
	failing, off := hook("https://failing.invalid/secret?key=secret"), hook("https://off.invalid/")
	gone := hook("https://gone.invalid/")
	if got := attention(); got != "" {
		t.Errorf("%s need attention, want none", got)
	}
	f.sql("UPDATE webhooks SET consecutive_failures=3 WHERE id=?", failing)
	f.sql("UPDATE webhooks SET active=0, consecutive_failures=15 WHERE id=?", off)
	f.sql("UPDATE webhooks SET active=0, deleted_at=1 WHERE id=?", gone)
	f.draft(stamps("Draft"))
	f.program(stamps("No prizes"))
	deleted := f.draft(stamps("Deleted"))
	f.deleteProgram(deleted)
	f.in(f.shop(ShopFields{})).draft(stamps("Another shop's"))
	if got, want := attention(), "program_draft Draft 0, program_without_prizes No prizes 0, webhook_failing failing.invalid 3, "+
		"webhook_inactive off.invalid 15"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestFirstKeyFrom checks the search for the first key from a time on, also with a gap between
// the keys.
func TestFirstKeyFrom(t *testing.T) {
	f := start(t)
	search := func(at Time) (key int64) {
		f.view(func(v *View) error {
			key = v.firstKeyFrom("cards", at)
			return v.failed
		})
		return key
	}
	if key := search(1); key != 1 {
		t.Errorf("without cards %d", key)
	}
	program := f.program(stamps("Coffee"))
	var keys []int64
	var times []Time
	for range 40 {
		keys = append(keys, f.key(KindCard, f.card(program)))
		times = append(times, f.clock.at())
		f.clock.move(time.Minute)
		if len(keys) == 20 {
			f.sql("UPDATE cards SET id=id+(1<<40) WHERE id=?", keys[19])
			keys[19] += 1 << 40
		}
	}
	for i, at := range times {
		for _, off := range []Time{-1, 0} {
			got := search(at + off)
			f.selects(keys[i], "SELECT min(id) FROM cards WHERE id>=?", got)
		}
	}
	if key := search(times[39] + 1); key <= keys[39] {
		t.Errorf("after all cards: %d", key)
	}
}
