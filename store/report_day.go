package store

import (
	"cmp"
	"slices"
	"time"
)

// DayReportQuery is the query of a report of a day.
type DayReportQuery struct {
	Date       Opt[string] `json:"date" format:"date" doc:"YYYY-MM-DD, of the shop's calendar. Default: today."`
	LocationID Opt[string] `json:"location_id" doc:"Only rows of this location."`
}

// DayReport is the ledger of a day by type, till, member of staff and program. Rows that
// were reversed, on the same day or later, count as rows and in no sum. A stamp that a
// till sent later is of the day on which it was given.
type DayReport struct {
	Date       string         `json:"date" format:"date"`
	Timezone   string         `json:"timezone"`
	From       Time           `json:"from"`
	To         Time           `json:"to" doc:"Exclusive."`
	LocationID Null[string]   `json:"location_id"`
	Rows       int64          `json:"rows"`
	Complete   bool           `json:"complete" doc:"False if the day has more than 100,000 rows: then the report is of the earliest."`
	Total      ReportSums     `json:"total"`
	ByType     []TypeReport   `json:"by_type"`
	ByDevice   []DeviceReport `json:"by_device" doc:"By location and till."`
	ByStaff    []StaffReport  `json:"by_staff" doc:"By member of staff. Empty if nobody was signed in at a till."`
	ByProgram  []NamedReport  `json:"by_program"`
	NewCards   int64          `json:"new_cards" doc:"Overflow cards left out. Of a location: those issued at its tills."`
	Prepaid    PrepaidReport  `json:"prepaid"`
}

// ReportSums are the sums of a part of a report.
type ReportSums struct {
	Rows          int64 `json:"rows"`
	ReversedRows  int64 `json:"reversed_rows"`
	Stamps        int64 `json:"stamps"`
	Redemptions   int64 `json:"redemptions"`
	Uses          int64 `json:"uses" doc:"Of access and discount cards."`
	Reversals     int64 `json:"reversals" doc:"Rows that took others back, also of earlier days."`
	ToppedUpCents int64 `json:"topped_up_cents"`
	SpentCents    int64 `json:"spent_cents"`
}

// TypeReport is the part of a report of one type of row.
type TypeReport struct {
	Type         string `json:"type" enum:"stamp,redemption,reversal,expiry,topup,spend,discount,access,adjustment"`
	Rows         int64  `json:"rows"`
	ReversedRows int64  `json:"reversed_rows"`
	Stamps       int64  `json:"stamps"`
	ValueCents   int64  `json:"value_cents"`
}

// DeviceReport is the part of a report of one till.
type DeviceReport struct {
	LocationID   string       `json:"location_id"`
	LocationName string       `json:"location_name"`
	DeviceID     Null[string] `json:"device_id" doc:"Null: rows that persons made."`
	DeviceName   Null[string] `json:"device_name"`
	ReportSums
}

// StaffReport is the part of a report of one member of staff.
type StaffReport struct {
	StaffID   Null[string] `json:"staff_id" doc:"Null: rows while nobody was signed in."`
	StaffName Null[string] `json:"staff_name"`
	ReportSums
}

// NamedReport is the part of a report of one program.
type NamedReport struct {
	ProgramID   string `json:"program_id"`
	ProgramName string `json:"program_name"`
	ReportSums
}

// PrepaidReport is the money on prepaid cards.
type PrepaidReport struct {
	SoldCents        int64 `json:"sold_cents" doc:"Top-ups, and what new cards begin with, but for imported ones and those that were archived on the same day."`
	SpentCents       int64 `json:"spent_cents"`
	OutstandingCents int64 `json:"outstanding_cents" doc:"On all cards of the shop, now."`
}

// dayRow is a row of the ledger as a report counts it.
type dayRow struct {
	kind          string
	reversed      bool
	stamps, value int64
}

func (s *ReportSums) add(t dayRow) {
	s.Rows++
	if t.reversed {
		s.ReversedRows++
		return
	}
	switch t.kind {
	case TransactionStamp:
		s.Stamps += t.stamps
	case TransactionRedemption:
		s.Redemptions++
	case TransactionDiscount, TransactionAccess:
		s.Uses++
	case TransactionReversal:
		s.Reversals++
	case TransactionTopUp:
		s.ToppedUpCents += t.value
	case TransactionSpend:
		s.SpentCents -= t.value
	}
}

// DayReport returns the report of a day of the shop's calendar.
func (v *View) DayReport(shop int64, q DayReportQuery) (d DayReport, err error) {
	v.snapshot()
	sh := v.shop(shop)
	location := int64(0)
	if q.LocationID.Set {
		if location, _, err = v.location(Access{Shop: shop}, q.LocationID.V); err != nil {
			return d, err
		}
	}
	zone := Zone(sh.Timezone)
	day := v.Now.Std().In(zone)
	if q.Date.Set {
		if day, err = time.ParseInLocation(time.DateOnly, q.Date.V, zone); err != nil {
			return d, InvalidField("date", "invalid_format", "must be a date such as 2026-01-31")
		}
	}
	d = DayReport{
		Date:       day.Format(time.DateOnly),
		Timezone:   sh.Timezone,
		From:       startOfDay(day),
		To:         startOfDay(day.AddDate(0, 0, 1)),
		LocationID: q.LocationID.Value(),
	}
	v.reportRows(&d, shop, location)
	v.reportCards(&d, shop, location)
	return d, v.failed
}

var reportCols = `type, location_id, ifnull(device_id, 0), program_id, reversed_at IS NOT NULL, ifnull(stamps_delta, 0),
	ifnull(value_delta, 0), ifnull(staff_id, 0)`

// reportRows adds the day's rows of the ledger to a report. location is 0 for all.
func (v *View) reportRows(d *DayReport, shop, location int64) {
	first, last := v.rowsBetween(shop, d.From, d.To)
	type till struct{ location, device int64 }
	var types map[string]*TypeReport
	var tills map[till]*ReportSums
	var staff, programs map[int64]*ReportSums
	cond, owner := "shop_id=?", shop
	if location != 0 {
		cond, owner = "location_id=?", location
	}
	add := func(t dayRow, at till, program, member int64) {
		d.Rows++
		d.Total.add(t)
		sumOf(&tills, at).add(t)
		sumOf(&staff, member).add(t)
		sumOf(&programs, program).add(t)
		k := sumOf(&types, t.kind)
		k.Rows++
		k.ReversedRows += oneIf(t.reversed)
		if !t.reversed {
			k.Stamps += t.stamps
			k.ValueCents += t.value
		}
	}
	d.Complete = true
	// Two statements: SQLite copies each row of a UNION, which takes as long as reading it.
	for _, q := range []struct {
		where string
		args  []any
	}{
		{cond + " AND id>=? AND id<=? AND occurred_at IS NULL ORDER BY id", []any{owner, first, last}},
		{"shop_id=? AND occurred_at>=? AND occurred_at<? AND (?=0 OR +location_id=?)", []any{shop, d.From, d.To, location, location}},
	} {
		for r := range v.each("SELECT "+reportCols+" FROM transactions WHERE "+q.where+" LIMIT ?", append(q.args, maxDayRows+1)...) {
			t := dayRow{kind: r.str()}
			at := till{r.int(), r.int()}
			program := r.int()
			t.reversed, t.stamps, t.value = r.bool(), r.int(), r.int()
			member := r.int()
			if d.Complete = d.Rows < int64(maxDayRows); !d.Complete {
				break
			}
			add(t, at, program, member)
		}
	}
	d.ByType, d.ByDevice, d.ByStaff, d.ByProgram = []TypeReport{}, []DeviceReport{}, []StaffReport{}, []NamedReport{}
	for _, kind := range []string{TransactionStamp, TransactionRedemption, TransactionTopUp, TransactionSpend,
		TransactionDiscount, TransactionAccess, TransactionExpiry, TransactionReversal, TransactionAdjustment} {
		if k := types[kind]; k != nil {
			k.Type = kind
			d.ByType = append(d.ByType, *k)
		}
	}
	names := v.namer(shop)
	for at, sums := range tills {
		location, device := names.named(KindLocation, at.location), names.named(KindDevice, at.device)
		d.ByDevice = append(d.ByDevice, DeviceReport{location.ID.V, location.Name.V, device.ID, device.Name, *sums})
	}
	slices.SortFunc(d.ByDevice, func(a, b DeviceReport) int {
		return cmp.Or(cmp.Compare(a.LocationName, b.LocationName), cmp.Compare(a.LocationID, b.LocationID),
			cmp.Compare(a.DeviceName.V, b.DeviceName.V), cmp.Compare(a.DeviceID.V, b.DeviceID.V))
	})
	for member, sums := range byName(names, KindStaff, staff) {
		if member.ID.Valid || len(staff) > 1 {
			d.ByStaff = append(d.ByStaff, StaffReport{member.ID, member.Name, *sums})
		}
	}
	for program, sums := range byName(names, KindProgram, programs) {
		d.ByProgram = append(d.ByProgram, NamedReport{program.ID.V, program.Name.V, *sums})
	}
}

// reportCards adds the day's new cards, and the money on prepaid cards, to a report.
func (v *View) reportCards(d *DayReport, shop, location int64) {
	min := v.firstKeyFrom("cards", d.From)
	after := v.firstKeyFrom("cards", d.To)
	begin := int64(0)
	v.one(into(&d.NewCards, &begin), `SELECT count(*), ifnull(sum(iif(archived_at<?6 OR source='import', 0, initial_value)), 0)
		FROM (SELECT shop_id, root_id, initial_value, archived_at, first_location_id, source FROM cards WHERE id>=?1
		AND id<?2 ORDER BY id LIMIT ?3) WHERE shop_id=?4 AND root_id IS NULL AND (?5=0 OR first_location_id=?5 AND source='counter')`,
		min, after, maxDayRows, shop, location, d.To)
	d.Prepaid = PrepaidReport{SoldCents: d.Total.ToppedUpCents + begin, SpentCents: d.Total.SpentCents}
	d.Prepaid.OutstandingCents = v.number("SELECT ifnull(sum(balance), 0) FROM program_counts WHERE "+programsOfShop, shop)
}
