package store

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"punchcard/store/money"
)

// bookedMoney is a movement of money as the test made it.
type bookedMoney struct {
	at       Time
	location string // empty: none
	MoneySums
}

// moneyMonths lives through three months of a shop in Rome at two locations, by chance, and returns
// what moved.
func moneyMonths(t *testing.T) (k till, moved []bookedMoney) {
	random := chance(t)
	k = startTill(t)
	k.inZone("Europe/Rome")
	tills := []till{k, k.fixture.till()}
	gift := k.program(prepaid("=Gift", 300))
	k.clock.ms.Store(time.Date(2026, 2, 10, 8, 0, 0, 0, Zone("Europe/Rome")).UnixMilli())
	book := func(location string, s MoneySums) { moved = append(moved, bookedMoney{k.clock.at(), location, s}) }
	type row struct {
		id    string
		till  int
		cents int64
		spent bool
	}
	var cards []string
	var rows []row
	for k.clock.now().Before(time.Date(2026, 4, 20, 0, 0, 0, 0, time.UTC)) {
		k.clock.move(time.Duration(random.IntN(8*60)) * time.Minute)
		n := random.IntN(len(tills))
		at, cents := tills[n], int64(1+random.IntN(500))
		card := ""
		if len(cards) > 0 {
			card = cards[random.IntN(len(cards))]
		}
		switch action := random.IntN(16); {
		case card == "" || action == 0:
			c := k.cardWith(gift, CardFields{ExpiresAt: set(k.clock.at().Add(days(1 + random.IntN(40))))})
			cards = append(cards, c)
			book("", MoneySums{SoldCents: 300})
		case action == 1:
			cards = append(cards, at.atCounter(gift, CounterFields{AmountCents: set(cents)}).ID)
			book(at.location, MoneySums{SoldCents: cents})
		case action == 2:
			c := k.card(gift)
			k.sql("UPDATE cards SET source='import' WHERE id=?", k.key(KindCard, c))
			cards = append(cards, c)
			book("", MoneySums{AdjustedCents: 300})
		case action == 3 && random.IntN(3) == 0:
			if d, err := k.read(card); err == nil && d.Status != StatusArchived {
				book("", MoneySums{AdjustedCents: -d.CurrentValue.V})
				k.archive(card)
			}
		case action == 4 && random.IntN(3) == 0:
			d, err := k.read(card)
			if err != nil {
				break
			}
			if d.Status != StatusArchived {
				book("", MoneySums{AdjustedCents: -d.CurrentValue.V})
			}
			k.erase(card)
		case action < 7:
			cents -= 250
			if _, err := attempt(k.fixture, func(tx *Tx) (Adjusted, error) {
				return tx.AdjustCard(k.a.Shop, card, AdjustFields{
					AmountCents: set(cents), LocationID: set(at.location), Reason: set("Goodwill"),
				})
			}); err == nil {
				book(at.location, MoneySums{AdjustedCents: cents})
			}
		case action < 10 && len(rows) > 0:
			r := rows[random.IntN(len(rows))]
			if _, err := tills[r.till].reverse(r.id); err != nil {
				break
			}
			if r.spent {
				book(tills[r.till].location, MoneySums{SpentCents: -r.cents})
			} else {
				book(tills[r.till].location, MoneySums{SoldCents: -r.cents})
			}
		case action < 13:
			if s, err := at.topUp(card, cents); err == nil {
				rows = append(rows, row{s.Transaction.ID, n, cents, false})
				book(at.location, MoneySums{SoldCents: cents})
			}
		default:
			if s, err := at.spend(card, cents); err == nil {
				rows = append(rows, row{s.Transaction.ID, n, cents, true})
				book(at.location, MoneySums{SpentCents: cents})
			}
		}
	}
	return k, moved
}

// balanceAt adds up what was on all cards before a time, from the ledger.
func (f *fixture) balanceAt(at Time) int64 {
	return f.number(`SELECT ifnull(sum(initial_value+(SELECT ifnull(sum(value_delta), 0) FROM transactions WHERE card_id=c.id
		AND created_at<?1)), 0) FROM cards c WHERE shop_id=?2 AND created_at<?1 AND (archived_at IS NULL OR archived_at>=?1)`, at, f.a.Shop)
}

// TestMoneyReport compares the reports of three months, one of which has a day of 23 hours, with what
// was done, day by day and location by location, and with the balances that the ledger gives.
func TestMoneyReport(t *testing.T) {
	k, moved := moneyMonths(t)
	rome := Zone("Europe/Rome")
	var all MoneySums
	for _, month := range []string{"2026-02", "2026-03", "2026-04"} {
		m := view(k.fixture, func(v *View) (MoneyReport, error) { return v.Money(k.a.Shop, MoneyQuery{set(month)}) })
		first := check(time.ParseInLocation("2006-01", month, rome))
		total := MoneySums{OpeningCents: k.balanceAt(TimeOf(first))}
		for n, day := range m.Days {
			from, to := first.AddDate(0, 0, n), first.AddDate(0, 0, n+1)
			want := map[string]*MoneySums{}
			for _, b := range moved {
				sums := sumOf(&want, b.location)
				switch {
				case b.at < TimeOf(from):
					sums.OpeningCents += b.SoldCents - b.SpentCents + b.AdjustedCents
				case b.at < TimeOf(to):
					sums.add(b.MoneySums)
				}
			}
			sumOf(&want, "").ExpiredCents = k.number(`SELECT ifnull(sum(initial_value+(SELECT ifnull(sum(value_delta), 0) FROM transactions
				WHERE card_id=c.id AND created_at<c.expires_at)), 0) FROM cards c WHERE shop_id=? AND expires_at>=? AND expires_at<?
				AND expires_at<=? AND (archived_at IS NULL OR archived_at>=expires_at)`,
				k.a.Shop, TimeOf(from), TimeOf(to), k.clock.at())
			var sum MoneySums
			for _, at := range day.Locations {
				expected := *sumOf(&want, at.LocationID.V)
				expected.add(MoneySums{})
				if at.MoneySums != expected {
					t.Fatalf("%s at %q: %+v, want %+v", day.Date, at.LocationName.V, at.MoneySums, expected)
				}
				sum.add(at.MoneySums)
			}
			if day.Date != from.Format(time.DateOnly) || day.MoneySums != sum || day.OutstandingCents != k.balanceAt(TimeOf(to)) {
				t.Fatalf("day %d: %+v, want the sum %+v with %d", n, day.MoneySums, sum, k.balanceAt(TimeOf(to)))
			}
			sum.OpeningCents = 0
			total.add(sum)
		}
		if m.Total != total {
			t.Errorf("%s: %+v, want %+v", month, m.Total, total)
		}
		checkMoneyTable(t, m)
		all.add(total)
	}
	adjusted := func(b bookedMoney) bool { return b.AdjustedCents != 0 } // their sum may be 0
	if all.SoldCents == 0 || all.SpentCents == 0 || !slices.ContainsFunc(moved, adjusted) {
		t.Errorf("too little happened: %+v", all)
	}
	last := view(k.fixture, func(v *View) (MoneyReport, error) { return v.Money(k.a.Shop, MoneyQuery{}) })
	if now := k.number("SELECT sum(balance) FROM program_counts"); last.Month != "2026-04" || last.Total.OutstandingCents != now {
		t.Errorf("outstanding in %s: %d, want %d", last.Month, last.Total.OutstandingCents, now)
	}
	refused(t, k.View(0, func(v *View) error { return errorOf(v.Money(k.a.Shop, MoneyQuery{set("2026-05")})) }), ValidationFailed)
	other := k.shop(ShopFields{})
	empty := view(k.fixture, func(v *View) (MoneyReport, error) { return v.Money(other.Shop, MoneyQuery{set("2026-02")}) })
	if len(empty.Days) != 28 || empty.Total != (MoneySums{}) || len(empty.Locations) != 1 {
		t.Errorf("of a shop without cards: %+v", empty.Total)
	}
}

// checkMoneyTable checks that the table adds up: each row, and the rows of each day.
func checkMoneyTable(t *testing.T, m MoneyReport) {
	t.Helper()
	var b bytes.Buffer
	check(0, m.WriteCSV(&b))
	rows := check(csv.NewReader(&b).ReadAll())
	if len(rows) != 1+len(m.Days)*(1+len(m.Locations)) {
		t.Errorf("%d rows", len(rows))
	}
	cents := func(text string) int64 {
		n := check(strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64))
		if money.Decimal(n, "EUR") != text {
			t.Errorf("%s is no amount", text)
		}
		return n
	}
	var sum, want int64
	for _, row := range rows[1:] {
		if cents(row[4])+cents(row[5])-cents(row[6])+cents(row[7]) != cents(row[8]) {
			t.Errorf("does not add up: %v", row)
		}
		if row[1] == "shop" {
			if sum != want {
				t.Errorf("locations before %v: %d, want %d", row, sum, want)
			}
			sum, want = 0, cents(row[8])
		} else {
			sum += cents(row[8])
		}
	}
}
