package main

import (
	"cmp"
	"time"
)

// moneySums are the money on prepaid cards that came and went in a time.
type moneySums struct{ opening, sold, spent, adjusted, expired int64 }

func (m moneySums) outstanding() int64 { return m.opening + m.sold - m.spent + m.adjusted }

func (m *moneySums) add(o moneySums) {
	m.opening, m.sold, m.spent = m.opening+o.opening, m.sold+o.sold, m.spent+o.spent
	m.adjusted, m.expired = m.adjusted+o.adjusted, m.expired+o.expired
}

// columns are the amounts in the order in which the page and its table have them.
func (m moneySums) columns() []int64 {
	return []int64{m.opening, m.sold, m.spent, m.adjusted, m.outstanding(), m.expired}
}

// book is the money of a month by day and location; no location: "".
type book struct {
	first, days int
	at          map[int]map[string]moneySums // by day from the first; of each location with its opening
	total       map[string]moneySums
}

// moneyOf counts the money of a month, such as 2026-01, up to the time of the figures.
func (f *figures) moneyOf(month string) (*book, error) {
	begin, err := time.ParseInLocation("2006-01", cmp.Or(month, f.At.In(f.zone).Format("2006-01")), f.zone)
	if err != nil {
		return nil, err
	}
	b := &book{first: dayOf(begin), at: map[int]map[string]moneySums{}, total: map[string]moneySums{}}
	b.days = min(dayOf(begin.AddDate(0, 1, 0)), f.today+1) - b.first
	moved := map[int]map[string]moneySums{}
	put := func(at time.Time, location string, m moneySums) {
		day := dayOf(at.In(f.zone)) - b.first
		if at.After(f.At) || day >= b.days || m == (moneySums{}) {
			return
		}
		if day < 0 {
			m = moneySums{opening: m.outstanding()}
			if m.opening != 0 {
				t := b.total[location]
				t.add(m)
				b.total[location] = t
			}
			return
		}
		if moved[day] == nil {
			moved[day] = map[string]moneySums{}
		}
		t := moved[day][location]
		t.add(m)
		moved[day][location] = t
	}
	f.putRows(put)
	for _, c := range f.p.list[:f.p.created] {
		f.putCard(c, put)
	}
	balance := map[string]int64{}
	for l, m := range b.total {
		balance[l] = m.opening
	}
	for day := range b.days {
		b.at[day] = map[string]moneySums{}
		for l := range moved[day] {
			balance[l] += 0 // the location has a row from now on
		}
		for l, opening := range balance {
			m := moved[day][l]
			m.opening = opening
			b.at[day][l] = m
			balance[l] = m.outstanding()
			t := b.total[l]
			m.opening = 0
			t.add(m)
			b.total[l] = t
		}
	}
	return b, nil
}

// putRows puts the rows of the ledger. A reversal is of the kind of what it reverses, on its own day.
func (f *figures) putRows(put func(time.Time, string, moneySums)) {
	for _, t := range f.p.rows {
		if !t.hasCents || t.Created.After(f.At) {
			continue
		}
		kind := t.Type
		if t.Reverses != nil && f.p.rowByID[*t.Reverses] != nil {
			kind = f.p.rowByID[*t.Reverses].Type
		}
		switch kind {
		case "topup":
			put(t.Created, t.Location, moneySums{sold: t.cents})
		case "spend":
			put(t.Created, t.Location, moneySums{spent: -t.cents})
		default:
			put(t.Created, t.Location, moneySums{adjusted: t.cents})
		}
	}
}

// putCard puts what a card began with, what was on it when it was archived or erased, and what
// was on it when its validity ended.
func (f *figures) putCard(c *chain, put func(time.Time, string, moneySums)) {
	if c.program.Type != "prepaid" {
		return
	}
	if c.source == "import" {
		put(c.created, "", moneySums{adjusted: c.initial})
	} else {
		put(c.created, c.first, moneySums{sold: c.initial})
	}
	in := c.instances[0]
	if !in.archived.IsZero() {
		put(in.archived, "", moneySums{adjusted: -in.cents})
	}
	until := c.validUntil(f.At)
	if until == nil || until.After(f.At) || !in.archived.IsZero() && in.archived.Before(*until) {
		return
	}
	left := c.initial
	for _, t := range f.p.money[c.id] {
		if t.Created.Before(*until) {
			left += t.cents
		}
	}
	put(*until, "", moneySums{expired: left})
}

// sum returns the sums of all locations.
func sum(m map[string]moneySums) (all moneySums) {
	for _, s := range m {
		all.add(s)
	}
	return all
}
