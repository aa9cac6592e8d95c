package store

import (
	"reflect"
	"testing"
	"time"
)

// dayReport returns the report of a day of the fixture's shop.
func (f *fixture) dayReport(t *testing.T, q DayReportQuery) DayReport {
	return view(f, func(v *View) (DayReport, error) { return v.DayReport(f.a.Shop, q) })
}

// reportedDay has what happened on a day of 23 hours at two tills of a shop, beside rows of the days
// around it and of another shop.
type reportedDay struct {
	k, second          till
	coffee, gift, club string
	other              Access
}

func startReportedDay(t *testing.T) (d reportedDay) {
	f := start(t)
	rome := Zone("Europe/Rome")
	f.inZone("Europe/Rome")
	f.clock.ms.Store(time.Date(2026, 3, 28, 23, 59, 59, 0, rome).UnixMilli()) // the next day has 23 hours
	d = reportedDay{k: f.till(), second: f.till(), other: f.shop(ShopFields{})}
	k, second := d.k, d.second
	coffee, prizes := k.ladderOf(stamps("Coffee"), 2)
	gift, club := f.program(prepaid("Gift", 300)), f.program(access("Club"))
	d.coffee, d.gift, d.club = coffee, gift, club
	theirs := f.in(d.other).till()
	card, money := f.card(coffee), f.card(gift)
	old := k.stamped(card, 1).Transaction.ID
	f.clock.move(time.Second) // midnight
	k.stamped(card, 3)
	k.redeemed(card, prizes[0])
	k.reversed(old)
	undone := check(k.topUp(money, 5000)).Transaction.ID
	k.reversed(undone)
	check(k.topUp(money, 1000))
	check(second.spend(money, 400))
	check(second.use(f.card(club)))
	f.card(gift)
	f.sql("UPDATE cards SET source='import' WHERE id=?", f.key(KindCard, f.card(gift))) // its balance was sold earlier
	second.atCounter(gift, CounterFields{})
	for i, cents := range []int64{741, 90_000} {
		made := second.atCounter(gift, CounterFields{AmountCents: set(cents)})
		if i > 0 { // a mistake
			f.archive(made.ID)
		}
	}
	byHand := second.stamped(card, 2).Transaction.ID
	f.writes(func(tx *Tx) { check(tx.ReverseByPerson(f.a.Shop, byHand, Metadata{})) })
	theirs.stamped(f.in(d.other).card(f.in(d.other).program(stamps("Theirs"))), 1)
	f.clock.ms.Store(time.Date(2026, 3, 30, 0, 0, 0, 0, rome).UnixMilli())
	k.stamped(card, 1)
	return d
}

// TestDayReport checks a report of a day with rows of most types at two locations.
func TestDayReport(t *testing.T) {
	d := startReportedDay(t)
	k, second, f, rome := d.k, d.second, d.k.fixture, Zone("Europe/Rome")
	name := func(at till) (string, string) {
		return at.location, f.lines("SELECT name FROM locations WHERE id=?", f.key(KindLocation, at.location))[0]
	}
	device := func(at till, sums ReportSums) DeviceReport {
		id, label := name(at)
		return DeviceReport{
			LocationID:   id,
			LocationName: label,
			DeviceID:     Some(f.ID(KindDevice, at.device.Device)),
			DeviceName:   Some("Till"),
			ReportSums:   sums,
		}
	}
	first := ReportSums{Rows: 6, ReversedRows: 1, Stamps: 3, Redemptions: 1, Reversals: 2, ToppedUpCents: 1000}
	there := ReportSums{Rows: 3, ReversedRows: 1, Uses: 1, SpentCents: 400}
	person := device(second, ReportSums{Rows: 1, Reversals: 1})
	person.DeviceID, person.DeviceName = Null[string]{}, Null[string]{}
	want := DayReport{
		Date:     "2026-03-29",
		Timezone: "Europe/Rome",
		From:     TimeOf(time.Date(2026, 3, 29, 0, 0, 0, 0, rome)),
		To:       f.clock.at(),
		Rows:     10,
		Complete: true,
		Total: ReportSums{
			Rows:          10,
			ReversedRows:  2,
			Stamps:        3,
			Redemptions:   1,
			Uses:          1,
			Reversals:     3,
			ToppedUpCents: 1000,
			SpentCents:    400,
		},
		ByType: []TypeReport{
			{"stamp", 2, 1, 3, 0}, {"redemption", 1, 0, 0, 0}, {"topup", 2, 1, 0, 1000}, {"spend", 1, 0, 0, -400},
			{"access", 1, 0, 0, 0}, {"reversal", 3, 0, -3, -5000},
		},
		ByDevice: []DeviceReport{device(k, first), person, device(second, there)},
		ByStaff:  []StaffReport{},
		ByProgram: []NamedReport{
			{d.club, "Club", ReportSums{Rows: 1, Uses: 1}},
			{d.coffee, "Coffee", ReportSums{Rows: 5, ReversedRows: 1, Stamps: 3, Redemptions: 1, Reversals: 2}},
			{d.gift, "Gift", ReportSums{Rows: 4, ReversedRows: 1, Reversals: 1, ToppedUpCents: 1000, SpentCents: 400}},
		},
		NewCards: 6,
		Prepaid:  PrepaidReport{SoldCents: 2341, SpentCents: 400, OutstandingCents: 2541},
	}
	got := f.dayReport(t, DayReportQuery{Date: set("2026-03-29")})
	if got.ByDevice[0].LocationID != k.location { // the locations have the same name
		got.ByDevice = append(got.ByDevice[2:], got.ByDevice[:2]...)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	here := f.dayReport(t, DayReportQuery{Date: set("2026-03-29"), LocationID: set(second.location)})
	if here.Rows != 4 || len(here.ByDevice) != 2 || here.Total.SpentCents != 400 || here.Total.ToppedUpCents != 0 || here.NewCards != 3 ||
		here.Prepaid != (PrepaidReport{1041, 400, 2541}) {
		t.Errorf("at a location: %+v", here)
	}
	if today := f.dayReport(t, DayReportQuery{}); today.Date != "2026-03-30" || today.Rows != 1 {
		t.Errorf("today: %+v", today)
	}
	if empty := f.dayReport(t, DayReportQuery{Date: set("2020-01-01")}); empty.Rows != 0 || !empty.Complete || empty.ByType == nil ||
		empty.ByDevice == nil ||
		empty.ByProgram == nil {
		t.Errorf("an empty day: %+v", empty)
	}
	refused(t, f.View(0, func(v *View) error {
		return errorOf(v.DayReport(d.other.Shop, DayReportQuery{LocationID: set(k.location)}))
	}), NotFound)
}

// TestDayReportOfManyRows checks that a report has a bounded number of rows and states whether
// they are all.
func TestDayReportOfManyRows(t *testing.T) {
	lower(t, &maxDayRows, 9)
	f := startAlone(t, Options{})
	l := f.withLedger()
	for i, more := range []int{maxDayRows, 1} {
		f.ledger(l.a, l.card, l.program, l.location, "stamp", more)
		if d := f.dayReport(t, DayReportQuery{}); d.Rows != int64(maxDayRows) || d.Complete != (i == 0) {
			t.Errorf("with %d rows more: %d, complete %t", more, d.Rows, d.Complete)
		}
	}
}
