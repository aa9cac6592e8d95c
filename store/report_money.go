package store

import (
	"cmp"
	"encoding/csv"
	"io"
	"slices"
	"strings"
	"time"

	"punchcard/store/money"
)

// MoneyQuery is the query of a report of money.
type MoneyQuery struct {
	Month Opt[string] `json:"month" pattern:"^[0-9]{4}-(0[1-9]|1[0-2])$" words:"must be a month such as 2026-01" doc:"YYYY-MM, of the shop's calendar. Default: this month."`
}

// MoneyReport is the money on prepaid cards on each day of a month, for the books.
type MoneyReport struct {
	Month     string          `json:"month"`
	Timezone  string          `json:"timezone"`
	Currency  string          `json:"currency"`
	Total     MoneySums       `json:"total"`
	Locations []MoneyLocation `json:"locations" doc:"The same by location. The last has what is at no location."`
	Days      []MoneyDay      `json:"days" doc:"Every day of the month up to today."`
}

// MoneySums are the money that came and went in a time. What is outstanding at its end is what was
// at its beginning, plus what was sold, less what was spent, plus what was adjusted.
type MoneySums struct {
	OpeningCents     int64 `json:"opening_cents" doc:"Outstanding at the beginning."`
	SoldCents        int64 `json:"sold_cents" doc:"Top-ups, less those that were reversed, and what new cards begin with."`
	SpentCents       int64 `json:"spent_cents" doc:"Less what was reversed."`
	AdjustedCents    int64 `json:"adjusted_cents" doc:"Adjustments, what imported cards begin with, and, negative, what was on cards that were archived or erased."`
	OutstandingCents int64 `json:"outstanding_cents" doc:"At the end. Of a location, what was sold there less what was spent there: less than 0 where cards of others are spent."`
	ExpiredCents     int64 `json:"expired_cents" doc:"On cards whose validity ended. It is outstanding until they are archived, since a later expiry revives them."`
}

func (s *MoneySums) add(o MoneySums) {
	s.OpeningCents += o.OpeningCents
	s.SoldCents += o.SoldCents
	s.SpentCents += o.SpentCents
	s.AdjustedCents += o.AdjustedCents
	s.ExpiredCents += o.ExpiredCents
	s.OutstandingCents = s.OpeningCents + s.SoldCents - s.SpentCents + s.AdjustedCents
}

// MoneyDay is the money of a day.
type MoneyDay struct {
	Date string `json:"date" format:"date"`
	MoneySums
	Locations []MoneyLocation `json:"locations"`
}

// MoneyLocation is the money of a location.
type MoneyLocation struct {
	LocationID   Null[string] `json:"location_id" doc:"Null: what is at no location, such as cards that a program issued."`
	LocationName Null[string] `json:"location_name"`
	MoneySums
}

// moneyBook collects the money of a month by day and location.
type moneyBook struct {
	*View
	shop     int64
	zone     *time.Location
	from, to Time // of the month, to exclusive
	first    int64
	opening  map[int64]int64 // by location
	days     []map[int64]*MoneySums
}

// Money returns the report of a month. What a card began with is of its day and, if a till issued it,
// of its location. Archived, erased and imported cards and those that expire are at no location.
func (v *View) Money(shop int64, q MoneyQuery) (m MoneyReport, err error) {
	v.snapshot()
	sh := v.shop(shop)
	b := moneyBook{View: v, shop: shop, zone: Zone(sh.Timezone), opening: map[int64]int64{}}
	now := v.Now.Std().In(b.zone)
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, b.zone)
	if q.Month.Set {
		if month, err = time.ParseInLocation("2006-01", q.Month.V, b.zone); err != nil || month.After(now) {
			return m, Invalid(Detail{"month", "invalid_value", "must be this month or one before"})
		}
	}
	after := month.AddDate(0, 1, 0)
	b.from, b.to, b.first = startOfDay(month), startOfDay(after), Day(month)
	for day := b.first; day < Day(after) && day <= Day(now); day++ {
		b.days = append(b.days, map[int64]*MoneySums{})
	}
	b.addRows()
	b.addCards()
	m = MoneyReport{Month: month.Format("2006-01"), Timezone: sh.Timezone, Currency: sh.Currency}
	b.fill(&m)
	return m, v.failed
}

// at returns the sums of the day of a time of the month at a location.
func (b *moneyBook) at(t Time, location int64) *MoneySums {
	day := min(Day(t.Std().In(b.zone))-b.first, int64(len(b.days)-1)) // another process may have written after Now
	return sumOf(b.days[day], location)
}

// addRows adds the rows of the ledger.
func (b *moneyBook) addRows() {
	first, last := b.rowsBetween(b.shop, b.from, b.to)
	for r := range b.each(`SELECT location_id, sum(value_delta) FROM transactions WHERE shop_id=? AND value_delta IS NOT NULL AND id<?
		GROUP BY location_id`, b.shop, first) {
		location := r.int()
		b.opening[location] += r.int()
	}
	for r := range b.each(`SELECT t.created_at, t.location_id, t.value_delta, t.type, ifnull(o.type, '') FROM programs p
		CROSS JOIN transactions t ON t.program_id=p.id LEFT JOIN transactions o ON o.id=t.reverses_id
		WHERE p.shop_id=? AND p.type='prepaid' AND t.id>=? AND t.id<=? AND t.value_delta IS NOT NULL`, b.shop, first, last) {
		sums := b.at(r.time(), r.int())
		value, kind, reversed := r.int(), r.str(), r.str()
		switch cmp.Or(reversed, kind) {
		case TransactionTopUp:
			sums.SoldCents += value
		case TransactionSpend:
			sums.SpentCents -= value
		default:
			sums.AdjustedCents += value
		}
	}
}

// addCards adds what cards began with, what was on those that were archived, and what was on those
// that expired while they were not. Erased cards are archived too.
func (b *moneyBook) addCards() {
	for _, erased := range []string{"c.deleted_at IS NULL", "c.deleted_at IS NOT NULL"} { // an index for each
		for r := range b.each(`SELECT c.created_at, ifnull(iif(c.source='counter', c.first_location_id, 0), 0), c.source, c.initial_value,
			c.current_value, c.archived_at, iif(c.expires_at>=?1 AND c.expires_at<?2, c.expires_at, NULL),
			iif(c.expires_at>=?1 AND c.expires_at<?2, c.current_value-ifnull((SELECT sum(value_delta) FROM transactions
			WHERE card_id=c.id AND created_at>=c.expires_at), 0), 0) FROM programs p CROSS JOIN cards c ON c.program_id=p.id
			WHERE p.shop_id=?3 AND p.type='prepaid' AND `+erased, b.from, b.to, b.shop) {
			created, location, source, initial := r.time(), r.int(), r.str(), r.int()
			current, archived, expires, left := r.int(), r.nullTime(), r.nullTime(), r.int()
			if source == SourceImport {
				b.put(created, 0, MoneySums{AdjustedCents: initial})
			} else {
				b.put(created, location, MoneySums{SoldCents: initial})
			}
			if archived.Valid {
				b.put(archived.V, 0, MoneySums{AdjustedCents: -current})
			}
			if expires.Valid && expires.V <= b.Now && !(archived.Valid && archived.V < expires.V) {
				b.put(expires.V, 0, MoneySums{ExpiredCents: left})
			}
		}
	}
}

// put adds money that moved at a time.
func (b *moneyBook) put(at Time, location int64, s MoneySums) {
	switch s.add(MoneySums{}); {
	case at >= b.to || s == MoneySums{}:
	case at < b.from:
		b.opening[location] += s.OutstandingCents
	default:
		b.at(at, location).add(s)
	}
}

// locations returns the locations at which there was money, by name. The last is none, with key 0.
func (b *moneyBook) locations() (keys []int64, all map[int64]MoneyLocation) {
	all = map[int64]MoneyLocation{0: {}}
	names := b.namer(b.shop)
	add := func(location int64) {
		if _, ok := all[location]; !ok {
			named := names.named(KindLocation, location)
			all[location] = MoneyLocation{LocationID: named.ID, LocationName: named.Name}
			keys = append(keys, location)
		}
	}
	for location := range b.opening {
		add(location)
	}
	for _, day := range b.days {
		for location := range day {
			add(location)
		}
	}
	slices.SortFunc(keys, func(x, y int64) int {
		return cmp.Or(cmp.Compare(all[x].LocationName.V, all[y].LocationName.V), cmp.Compare(x, y))
	})
	return append(keys, 0), all
}

// fill adds the days and the locations to the report.
func (b *moneyBook) fill(m *MoneyReport) {
	keys, totals := b.locations()
	for location, cents := range b.opening {
		m.Total.add(MoneySums{OpeningCents: cents})
		total := totals[location]
		total.add(MoneySums{OpeningCents: cents})
		totals[location] = total
	}
	for n, sums := range b.days {
		day := MoneyDay{Date: Date(b.first + int64(n)), MoneySums: MoneySums{OpeningCents: m.Total.OutstandingCents}}
		for _, location := range keys {
			total := totals[location]
			ofDay := total
			ofDay.MoneySums = MoneySums{OpeningCents: total.OutstandingCents}
			if moved := sums[location]; moved != nil {
				total.add(*moved)
				m.Total.add(*moved)
				day.add(*moved)
				ofDay.add(*moved)
			}
			ofDay.add(MoneySums{})
			totals[location] = total
			day.Locations = append(day.Locations, ofDay)
		}
		day.add(MoneySums{})
		m.Days = append(m.Days, day)
	}
	for _, location := range keys {
		m.Locations = append(m.Locations, totals[location])
	}
}

// WriteCSV writes the report as a table: for each day a row of the shop, and one for each location.
func (m MoneyReport) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write(strings.Fields("date scope location_id location opening sold spent adjusted outstanding expired currency"))
	write := func(date, scope string, p MoneyLocation) {
		row := []string{date, scope, p.LocationID.V, Defuse(p.LocationName.V)}
		for _, cents := range []int64{p.OpeningCents, p.SoldCents, p.SpentCents, p.AdjustedCents, p.OutstandingCents, p.ExpiredCents} {
			row = append(row, money.Decimal(cents, m.Currency))
		}
		out.Write(append(row, m.Currency))
	}
	for _, day := range m.Days {
		write(day.Date, "shop", MoneyLocation{MoneySums: day.MoneySums})
		for _, p := range day.Locations {
			write(day.Date, "location", p)
		}
	}
	out.Flush()
	return out.Error()
}
