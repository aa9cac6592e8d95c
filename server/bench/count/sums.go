package main

import (
	"time"
)

// sums are the figures of a shop at a time, made of the ledger and of the cards.
type sums struct {
	p      *replay
	at     time.Time
	zone   *time.Location
	today  int
	days   map[dayKey]tally
	hours  map[string]*[7][24]int64 // stamps by program
	totals map[string]*totals       // by program
}

type dayKey struct {
	program, location string // no location: of cards
	day               int
}

// tally has sums by their names, which are those of the API where it has them. What was reversed is in none of them.
type tally map[string]int64

func (d tally) add(o tally) {
	for name, n := range o {
		d[name] += n
	}
}

// sumOf returns the sums of several days.
func sumOf(days []tally) tally {
	all := tally{}
	for _, d := range days {
		all.add(d)
	}
	return all
}

// addRow adds a row that was not reversed.
func (d tally) addRow(t *row) {
	if !t.presented() {
		return
	}
	d["activity"]++
	switch t.Type {
	case "stamp":
		d["stamps"] += t.stamps()
	case "redemption":
		d["redemptions"]++
	case "discount", "access":
		d["uses"]++
	case "topup":
		d["topped_up_cents"] += t.cents
	case "spend":
		d["spent_cents"] -= t.cents
	}
}

// totals are the figures of a program of all time. Beside those of a day the tally has active_cards, completed cycles, cards with a
// stamp in an open one, phones by platform, balance_cents, and gaps between stamps.
type totals struct {
	tally
	span     float64 // days from the first to the last stamp of each card; a time.Duration would overflow
	cardsAt  map[string]int64
	stampsAt map[string]int64
}

// completion returns the share of cycles that were completed.
func completion(t tally) any { return ratio(float64(t["completed"]), t["completed"]+t["open"]) }

// dayOf returns the number of the day of a time in its zone.
func dayOf(t time.Time) int {
	y, m, d := t.Date()
	return int(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

// date returns a day as YYYY-MM-DD.
func date(day int) string { return time.Unix(int64(day)*86400, 0).UTC().Format(time.DateOnly) }

// parseDate returns the number of a day.
func parseDate(text string) (int, error) {
	t, err := time.Parse(time.DateOnly, text)
	return int(t.Unix() / 86400), err
}

// liveAt reports whether a row was there at a time and not reversed yet.
func (t *row) liveAt(at time.Time) bool {
	return !t.Created.After(at) && (t.Reversed == nil || t.Reversed.After(at))
}

// newSums counts all of a shop at the time up to which the replay is.
func newSums(p *replay, at time.Time) *sums {
	s := &sums{p: p, at: at, zone: p.zoneAt(at), days: map[dayKey]tally{}, hours: map[string]*[7][24]int64{},
		totals: map[string]*totals{}}
	s.today = dayOf(at.In(s.zone))
	for _, g := range p.order {
		s.totals[g.ID] = &totals{tally: tally{}, cardsAt: map[string]int64{}, stampsAt: map[string]int64{}}
		s.hours[g.ID] = &[7][24]int64{}
	}
	s.addRows()
	for _, c := range p.list[:p.created] {
		s.addCard(c)
	}
	return s
}

func (s *sums) day(k dayKey) tally {
	if s.days[k] == nil {
		s.days[k] = tally{}
	}
	return s.days[k]
}

func (s *sums) addRows() {
	type span struct {
		program     string
		first, last time.Time
		n           int64
	}
	spans := map[string]*span{}
	for _, t := range s.p.rows {
		if t.Created.After(s.at) {
			break
		}
		all := s.totals[t.Program]
		if all == nil || !t.liveAt(s.at) || !t.presented() {
			continue
		}
		local := t.given().In(s.zone)
		s.day(dayKey{t.Program, t.Location, dayOf(local)}).addRow(t)
		all.addRow(t)
		if t.Type != "stamp" {
			continue
		}
		s.hours[t.Program][local.Weekday()][local.Hour()] += t.stamps()
		all.stampsAt[t.Location] += t.stamps()
		i := spans[t.Instance]
		if i == nil {
			i = &span{program: t.Program, first: t.Created}
			spans[t.Instance] = i
		}
		i.last, i.n = t.Created, i.n+1
	}
	for _, i := range spans {
		s.totals[i.program].span += i.last.Sub(i.first).Hours() / 24
		s.totals[i.program].tally["gaps"] += i.n - 1
	}
}

// addCard adds a chain, whatever its state is now.
func (s *sums) addCard(c *chain) {
	totals := s.totals[c.program.ID]
	all := totals.tally
	s.day(dayKey{c.program.ID, "", dayOf(c.created.In(s.zone))})["new_cards"]++
	where := c.first
	if where == "" && c.source != "counter" {
		where = c.presented
	}
	if where != "" {
		totals.cardsAt[where]++
	}
	state := c.state(s.at)
	live := c.live()
	if state == "active" {
		all["active_cards"] += int64(len(live))
	}
	if c.installed && len(live) > 0 && state != "expired" {
		all[c.platform]++
	}
	for _, in := range live {
		all["balance_cents"] += in.cents
	}
	for _, in := range c.instances {
		all["completed"] += in.completed
		switch {
		case in.done || in.stamps == 0:
		case c.full(in) && c.nothingToClaim(in):
			all["completed"]++
		default:
			all["open"]++
		}
	}
}

// of returns the sums of each day from one to another, of one program or, if it is empty, of all, as far as f returns true; f may be nil.
func (s *sums) of(program string, f func(dayKey) bool, from, to int) []tally {
	list := make([]tally, max(0, to-from+1))
	for i := range list {
		list[i] = tally{}
	}
	for k, d := range s.days {
		if k.day >= from && k.day <= to && (program == "" || k.program == program) && (f == nil || f(k)) {
			list[k.day-from].add(d)
		}
	}
	return list
}

// locations returns the activity at each location in a period.
func (s *sums) locations(program string, from, to int) map[string]int64 {
	at := map[string]int64{}
	for k, d := range s.days {
		if k.location != "" && k.day >= from && k.day <= to && (program == "" || k.program == program) && d["activity"] > 0 {
			at[k.location] += d["activity"]
		}
	}
	return at
}

// hoursOf returns the stamps by weekday and hour, of one program or of all.
func (s *sums) hoursOf(program string) (all [7][24]int64) {
	for id, h := range s.hours {
		for d := range h {
			for hour, n := range h[d] {
				if program == "" || id == program {
					all[d][hour] += n
				}
			}
		}
	}
	return all
}

// between returns the sums from one time up to and with another.
func (s *sums) between(from, to time.Time) tally {
	d := tally{}
	within := func(t time.Time) bool { return !t.Before(from) && !t.After(to) }
	for _, t := range s.p.rows {
		if t.liveAt(s.at) && within(t.given()) {
			d.addRow(t)
		}
	}
	for _, c := range s.p.list[:s.p.created] {
		if within(c.created) {
			d["new_cards"]++
		}
	}
	return d
}

// ratio returns a quotient, nil over nothing.
func ratio(numerator float64, denominator int64) any {
	if denominator == 0 {
		return nil
	}
	return numerator / float64(denominator)
}

// startOfDay returns the beginning of a day in a zone.
func startOfDay(day int, zone *time.Location) time.Time {
	y, m, d := time.Unix(int64(day)*86400, 0).UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, zone)
}
