package main

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

const pageKind = "figures of pages"

// checkPage compares the figures of a page with what was counted.
func (f *figures) checkPage(text string) {
	if f.path == "/dashboard/statistics/money.csv" {
		f.checkMoneyTable(text)
		return
	}
	p := parsePage(text)
	before := f.r.counted[pageKind]
	switch {
	case f.path == "/dashboard":
		f.checkToday(p)
	case f.path == "/dashboard/report":
		f.checkReport(p)
	case f.path == "/dashboard/statistics":
		f.checkStatistics(p)
	case f.path == "/dashboard/statistics/types":
		f.checkTypes(p)
	case f.path == "/dashboard/statistics/money":
		f.checkMoney(p)
	case strings.HasPrefix(f.path, "/dashboard/program/") && strings.HasSuffix(f.path, "/statistics"):
		f.checkProgram(p, strings.Split(f.path, "/")[3])
	default:
		f.r.note("no count of %s", f.What)
		return
	}
	if f.r.counted[pageKind] == before {
		f.r.differ(pageKind, "%s: there are no figures on it", f.where(""))
	}
}

func (f *figures) where(what string) string {
	return strings.TrimSpace(f.Path + " at " + f.At.Format(stamp) + " " + what)
}

// same compares a number of a page.
func (f *figures) same(what, said string, counted int64) {
	n, ok := number(said)
	f.r.count(pageKind, 1)
	if !ok || n != counted {
		f.r.differ(pageKind, "%s: said %q, counted %d", f.where(what), said, counted)
	}
}

// sameRatio compares a rounded number, or a dash for one over nothing. factor is 100 for a percentage.
func (f *figures) sameRatio(what, said string, counted any, factor int64, digits int) {
	want := "–"
	if x, ok := counted.(float64); ok {
		want = rounded(x, factor, digits)
	}
	equal(f.r, pageKind, f.where(what), strings.TrimSuffix(strings.ReplaceAll(said, ",", ""), "%"), want)
}

// rounded returns a number times a factor with a number of digits behind the point. A half is rounded
// away from zero, as a person would who reads the number in decimal.
func rounded(x float64, factor int64, digits int) string {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	if !ok {
		return fmt.Sprint(x)
	}
	return r.Mul(r, big.NewRat(factor, 1)).FloatString(digits)
}

// labels are what pages call the sums of a tally.
var labels = map[string]string{
	"Stamps": "stamps", "New cards": "new_cards", "Redemptions": "redemptions", "Topped up": "topped_up_cents",
	"Spent from cards": "spent_cents", "Spent": "spent_cents", "Actions at the till": "activity", "Actions": "rows", "Uses": "uses",
	"Reversals": "reversals",
}

// checkTiles compares the tiles with labels with the sums of a period and of an earlier one. A shop without prepaid cards has no tiles
// of money.
func (f *figures) checkTiles(tiles []tile, sums, earlier tally, with ...string) {
	for _, label := range with {
		now, before := sums[labels[label]], earlier[labels[label]]
		i := slices.IndexFunc(tiles, func(t tile) bool { return t.label == label })
		if i < 0 {
			if now != 0 || before != 0 {
				f.r.differ(pageKind, "%s: no tile, counted %d and %d", f.where(label), now, before)
			}
			continue
		}
		t := tiles[i]
		f.same(label, t.value, now)
		if note, ok := strings.CutPrefix(t.note, "vs. "); ok {
			note, _, _ = strings.Cut(note, " a week")
			f.same(label+" before", note, before)
		}
		if t.change != "" {
			change := big.NewRat(100*(now-before), max(1, before)).FloatString(0) + "%"
			if now > before {
				change = "+" + change
			} else if now == before {
				change = "±0%"
			}
			equal(f.r, pageKind, f.where(label+" change"), strings.ReplaceAll(strings.ReplaceAll(t.change, "−", "-"), ",", ""), change)
		}
	}
}

// periodTiles are the labels of the tiles that compare two periods.
var periodTiles = []string{"Stamps", "New cards", "Redemptions", "Topped up", "Spent from cards"}

func (f *figures) checkToday(p page) {
	now := f.At.In(f.zone)
	week := now.AddDate(0, 0, -7)
	f.checkTiles(p.tiles, f.between(startOfDay(f.today, f.zone), now), f.between(startOfDay(dayOf(week), f.zone), week), periodTiles...)
}

// period returns the first day up to today that the filter of the statistics asks for, and that of the second period.
func (f *figures) period() (from, before int) {
	days, err := strconv.Atoi(f.q.Get("period"))
	if err != nil {
		days = 30
	}
	from, before = f.today-days+1, f.today-2*days+1
	if f.q.Get("compare") == "year" {
		before = dayOf(time.Unix(int64(from)*86400, 0).UTC().AddDate(-1, 0, 0))
	}
	return from, before
}

// weeksFrom is the number of days from which on a chart shows weeks.
const weeksFrom = 63

// checkDays compares the table of a chart by day, or by week. second is nil without a second period.
func (f *figures) checkDays(p page, id string, first, second []tally, sum string) {
	rows := p.tables[id]
	if rows == nil {
		return
	}
	every := 1
	if second != nil || strings.HasPrefix(id, "day-") {
		if len(first) >= weeksFrom {
			every = 7
		}
	}
	group := func(days []tally) (list []int64) {
		for i, d := range days {
			if i%every == 0 {
				list = append(list, 0)
			}
			list[len(list)-1] += d[sum]
		}
		return list
	}
	now, before := group(first), group(second)
	if len(rows)-1 != len(now) {
		f.r.differ(pageKind, "%s: %d rows, counted %d", f.where(id), len(rows)-1, len(now))
		return
	}
	for i, n := range now {
		row := rows[i+1]
		f.same(id+" "+row[0], row[1], n)
		if second != nil && len(row) > 2 {
			f.same(id+" "+row[0]+" before", row[2], before[i])
		}
	}
}

func (f *figures) checkStatistics(p page) {
	program := f.q.Get("program_id")
	from, before := f.period()
	first := f.of(program, nil, from, f.today)
	second := f.of(program, nil, before, before+f.today-from)
	f.checkTiles(p.tiles, sumOf(first), sumOf(second), append(periodTiles, "Actions at the till")...)
	for id, sum := range map[string]string{
		"day-stamps":      "stamps",
		"day-cards":       "new_cards",
		"day-redemptions": "redemptions",
		"day-topped-up":   "topped_up_cents",
		"day-spent":       "spent_cents",
	} {
		f.checkDays(p, id, first, second, sum)
	}
	f.checkPlaces(p, "locations", f.locations(program, from, f.today))
	f.checkHours(p, program)
	f.checkYear(p, program)
}

// checkPlaces compares a table by location: the six largest, or five and the others together.
func (f *figures) checkPlaces(p page, id string, at map[string]int64) {
	byName, all, said := map[string]int64{}, int64(0), int64(0)
	for l, n := range at {
		byName[f.p.locations[l].Name] += n
		all += n
	}
	rows := p.tables[id]
	if len(rows) == 0 {
		if all != 0 {
			f.r.differ(pageKind, "%s: no table, counted %d", f.where(id), all)
		}
		return
	}
	for _, row := range rows[1:] {
		n, _ := number(row[1])
		said += n
		if counted, known := byName[row[0]]; known && len(at) == len(byName) {
			f.same(id+" "+row[0], row[1], counted)
		}
	}
	equal(f.r, pageKind, f.where(id), said, all)
}

// checkHours compares the table of stamps by hour and weekday, which begins with Monday.
func (f *figures) checkHours(p page, program string) {
	rows := p.tables["hours"]
	if rows == nil {
		return
	}
	hours := f.hoursOf(program)
	for h := 0; h < 24 && len(rows) == 25; h++ {
		for d := range 7 {
			f.same(fmt.Sprintf("hours %d %d", d, h), rows[h+1][d+1], hours[(d+1)%7][h])
		}
	}
}

// checkYear compares the table of the last 365 days: a column for each month, a row for each day of it.
func (f *figures) checkYear(p page, program string) {
	rows := p.tables["year"]
	days := f.of(program, nil, f.today-364, f.today)
	column, month := 0, time.Month(0)
	for i, d := range days {
		at := time.Unix(int64(f.today-364+i)*86400, 0).UTC()
		if at.Month() != month {
			column, month = column+1, at.Month()
		}
		if at.Day() >= len(rows) || column >= len(rows[at.Day()]) {
			f.r.differ(pageKind, "%s: no cell", f.where("year "+at.Format(time.DateOnly)))
			return
		}
		f.same("year "+at.Format(time.DateOnly), rows[at.Day()][column], d["activity"])
	}
}

func (f *figures) checkProgram(p page, id string) {
	t := f.totals[id]
	if t == nil {
		f.r.differ(pageKind, "%s: the export has no such program", f.where(""))
		return
	}
	if len(p.tiles) > 0 {
		f.same("active cards", p.tiles[0].value, t.tally["active_cards"])
	}
	from := f.today - 89
	days := f.of(id, nil, from, f.today)
	f.checkDays(p, "cards", days, nil, "new_cards")
	f.checkPlaces(p, "cards-location", t.cardsAt)
	if rows := p.tables["platforms"]; len(rows) == 3 {
		f.same("iPhone", rows[1][1], t.tally["apple"])
		f.same("Android", rows[2][1], t.tally["google"])
	}
	if !f.p.programs[id].collectsStamps() {
		f.checkDays(p, "activity", days, nil, "activity")
		return
	}
	if len(p.tiles) == 5 {
		f.same("stamps", p.tiles[1].value, t.tally["stamps"])
		f.same("prizes redeemed", p.tiles[2].value, t.tally["redemptions"])
		f.sameRatio("completion", p.tiles[3].value, completion(t.tally), 100, 0)
		f.sameRatio("days between stamps", p.tiles[4].value, ratio(t.span, t.tally["gaps"]), 1, 1)
	}
	f.checkDays(p, "stamps", days, nil, "stamps")
	f.checkPlaces(p, "stamps-location", t.stampsAt)
	f.checkHours(p, id)
}

// checkTypes compares the page by type of card. It has a part for each type of which there are active cards.
func (f *figures) checkTypes(p page) {
	var shown []string
	total := int64(0)
	for _, t := range types {
		if n := f.ofType(t)["active_cards"]; n > 0 {
			shown, total = append(shown, t), total+n
		}
	}
	summary := f.summary()
	facts := []int64{total, f.activePrograms(), f.openLocations(), summary["activity_30d"].(int64), summary["new_cards_30d"].(int64)}
	for i, n := range facts {
		if i < len(p.facts) {
			f.same(fmt.Sprintf("fact %d", i), p.facts[i], n)
		}
	}
	equal(f.r, pageKind, f.where("types"), len(p.parts), len(shown))
	for i, t := range shown {
		if rows := p.tables["types"]; i+1 < len(rows) {
			f.same(t, rows[i+1][1], f.ofType(t)["active_cards"])
		}
		if i >= len(p.parts) {
			break
		}
		k := f.cardStats(t)["kpis"].(object)
		n := 0
		for _, name := range []string{"active_cards", "stamps_awarded", "prizes_redeemed", "completion_rate", "uses", "entries",
			"balance_cents",
			"topped_up_cents", "spent_cents"} {
			v, has := k[name]
			if !has || n >= len(p.parts[i].tiles) {
				continue
			}
			said := p.parts[i].tiles[n].value
			n++
			if name == "completion_rate" {
				f.sameRatio(t+" "+name, said, v, 100, 0)
			} else {
				f.same(t+" "+name, said, v.(int64))
			}
		}
		f.checkDays(p, "type-"+t, f.daysOfType(t), nil, "activity")
	}
}
