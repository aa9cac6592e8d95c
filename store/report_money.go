package store

import (
	"cmp"
	"encoding/csv"
	"io"
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
	AdjustedCents    int64 `json:"adjusted_cents" doc:"Adjustments, what imported cards begin with (on the day of their import, as the newest file says), and, negative, what was on cards that were archived or erased."`
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

// Amounts returns the sums in the order in which tables show them.
func (s MoneySums) Amounts() []int64 {
	return []int64{s.OpeningCents, s.SoldCents, s.SpentCents, s.AdjustedCents, s.OutstandingCents, s.ExpiredCents}
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
	days     int64                // of the month, up to today
	lines    map[int64]*moneyLine // by location; 0: none
}

// moneyLine is the money of a location: what was outstanding before the month, and what moved on each of its days.
type moneyLine struct {
	MoneyLocation
	days []MoneySums
}

// Money returns the report of a month. What a card began with is of its day and, if a till issued it,
// of its location. Archived, erased and imported cards and those that expire are at no location.
func (v *View) Money(shop int64, q MoneyQuery) (m MoneyReport, err error) {
	v.snapshot()
	sh := v.shop(shop)
	b := moneyBook{View: v, shop: shop, zone: Zone(sh.Timezone)}
	now := v.Now.Std().In(b.zone)
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, b.zone)
	if q.Month.Set {
		if month, err = time.ParseInLocation("2006-01", q.Month.V, b.zone); err != nil || month.After(now) {
			return m, InvalidField("month", "invalid_value", "must be this month or one before")
		}
	}
	after := month.AddDate(0, 1, 0)
	b.from, b.to, b.first = startOfDay(month), startOfDay(after), Day(month)
	b.days = min(Day(after), Day(now)+1) - b.first
	b.addRows()
	b.addCards()
	m = MoneyReport{Month: month.Format("2006-01"), Timezone: sh.Timezone, Currency: sh.Currency}
	b.fill(&m)
	return m, v.failed
}

// line returns the money of a location, which is none at first.
func (b *moneyBook) line(location int64) *moneyLine {
	l := sumOf(&b.lines, location)
	if l.days == nil {
		l.days = make([]MoneySums, b.days)
	}
	return l
}

// put adds money that moved at a time.
func (b *moneyBook) put(at Time, location int64, s MoneySums) {
	switch s.add(MoneySums{}); {
	case at >= b.to || s == MoneySums{}:
	case at < b.from:
		b.line(location).OpeningCents += s.OutstandingCents
	default:
		day := min(Day(at.Std().In(b.zone))-b.first, b.days-1) // another process may have written after Now
		b.line(location).days[day].add(s)
	}
}

// addRows adds the rows of the ledger.
func (b *moneyBook) addRows() {
	first, last := b.rowsBetween(b.shop, b.from, b.to)
	for r := range b.each(`SELECT location_id, sum(value_delta) FROM transactions WHERE shop_id=? AND value_delta IS NOT NULL AND id<?
		GROUP BY location_id`, b.shop, first) {
		location := r.int()
		b.line(location).OpeningCents += r.int()
	}
	for r := range b.each(`SELECT t.created_at, t.location_id, t.value_delta, t.type, ifnull(o.type, '') FROM programs p
		CROSS JOIN transactions t ON t.program_id=p.id LEFT JOIN transactions o ON o.id=t.reverses_id
		WHERE p.shop_id=? AND p.type='prepaid' AND t.id>=? AND t.id<=? AND t.value_delta IS NOT NULL`, b.shop, first, last) {
		at, location := r.time(), r.int()
		value, kind, reversed := r.int(), r.str(), r.str()
		switch cmp.Or(reversed, kind) {
		case TransactionTopUp:
			b.put(at, location, MoneySums{SoldCents: value})
		case TransactionSpend:
			b.put(at, location, MoneySums{SpentCents: -value})
		default:
			b.put(at, location, MoneySums{AdjustedCents: value})
		}
	}
}

// addCards adds what cards began with, what was on those that were archived, and what was on those
// that expired while they were not. Erased cards are archived too.
func (b *moneyBook) addCards() {
	for _, part := range []string{"c.deleted_at IS NULL", "c.deleted_at IS NOT NULL"} { // an index for each
		for r := range b.each(`SELECT c.created_at, ifnull(iif(c.source='counter', c.first_location_id, 0), 0), c.source, c.initial_value,
			c.current_value, c.archived_at, iif(c.expires_at>=?1 AND c.expires_at<?2, c.expires_at, NULL),
			iif(c.expires_at>=?1 AND c.expires_at<?2, c.current_value-ifnull((SELECT sum(value_delta) FROM transactions
			WHERE card_id=c.id AND created_at>=c.expires_at), 0), 0) FROM programs p CROSS JOIN cards c ON c.program_id=p.id
			WHERE p.shop_id=?3 AND p.type='prepaid' AND `+part, b.from, b.to, b.shop) {
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

// fill adds the days and the locations to the report: those at which there was money, by name, and at last none.
func (b *moneyBook) fill(m *MoneyReport) {
	for n := range b.days {
		m.Days = append(m.Days, MoneyDay{Date: Date(b.first + n)})
	}
	b.line(0)
	for location, l := range byName(b.namer(b.shop), KindLocation, b.lines) {
		l.LocationID, l.LocationName = location.ID, location.Name
		l.add(MoneySums{})
		for n, moved := range l.days {
			day := l.MoneyLocation
			day.MoneySums = MoneySums{OpeningCents: l.OutstandingCents}
			day.add(moved)
			l.add(moved)
			m.Days[n].add(day.MoneySums)
			m.Days[n].Locations = append(m.Days[n].Locations, day)
		}
		m.Total.add(l.MoneySums)
		m.Locations = append(m.Locations, l.MoneyLocation)
	}
}

// WriteCSV writes the report as a table: for each day a row of the shop, and one for each location.
func (m MoneyReport) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write(strings.Fields("date scope location_id location opening sold spent adjusted outstanding expired currency"))
	write := func(date, scope string, p MoneyLocation) {
		row := []string{date, scope, p.LocationID.V, Defuse(p.LocationName.V)}
		for _, cents := range p.Amounts() {
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
