package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"
)

// figures checks one answer or page.
type figures struct {
	figure
	*sums
	r    *report
	path string
	q    url.Values
}

// newFigures returns the check of a figure. Figures of one state share their sums.
func newFigures(p *replay, f figure, r *report) *figures {
	zone := p.zoneAt(f.At)
	if s := p.last; s == nil || p.lastNext != p.next || p.lastCreated != p.created || s.zone != zone ||
		s.today != dayOf(f.At.In(zone)) || p.expiredBetween(s.at, f.At) {
		p.last, p.lastNext, p.lastCreated = newSums(p, f.At), p.next, p.created
	}
	shared := *p.last
	shared.at = f.At
	u, err := url.Parse(f.Path)
	if err != nil {
		u = &url.URL{Path: f.Path}
	}
	return &figures{figure: f, sums: &shared, r: r, path: u.Path, q: u.Query()}
}

// expiredBetween reports whether a card expired after one time and up to another.
func (p *replay) expiredBetween(from, to time.Time) bool {
	return slices.ContainsFunc(p.list[:p.created], func(c *chain) bool {
		until := c.validUntil(to)
		return until != nil && until.After(from) && !until.After(to)
	})
}

// check compares what was answered with what was counted.
func (f *figures) check() {
	if strings.HasPrefix(f.What, "page ") || strings.HasPrefix(f.path, "/dashboard") {
		var text string
		if json.Unmarshal(f.Body, &text) != nil {
			f.r.differ("figures of pages", "%s: the body is no text", f.What)
			return
		}
		f.checkPage(text)
		return
	}
	if strings.HasPrefix(f.What, "mcp ") {
		f.checkAssistant()
		return
	}
	counted, known := f.answer()
	if !known {
		f.r.note("no count of %s", f.What)
		return
	}
	var said any
	if err := json.Unmarshal(f.Body, &said); err != nil {
		f.r.differ("figures of the API", "%s at %s: %v", f.Path, f.At.Format(stamp), err)
		return
	}
	f.compare(f.Path+" at "+f.At.Format(stamp), said, plain(counted))
}

// plain returns a value as JSON has it.
func plain(v any) (out any) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// named are fields that no sum gives.
var named = map[string]bool{"location_name": true, "color": true}

// compare compares two values of JSON. Cells and locations without a count are left out, and their order
// does not matter.
func (f *figures) compare(where string, said, counted any) {
	const kind = "figures of the API"
	switch counted := counted.(type) {
	case map[string]any:
		m, _ := said.(map[string]any)
		for k, v := range counted {
			f.compare(where+" "+k, m[k], v)
		}
		for k := range m {
			if _, known := counted[k]; !known && !named[k] {
				f.r.differ(kind, "%s: a field %q that was not counted", where, k)
			}
		}
	case []any:
		list, _ := said.([]any)
		list, counted = ordered(list), ordered(counted)
		if len(list) != len(counted) {
			f.r.differ(kind, "%s: said %d entries, counted %d", where, len(list), len(counted))
			return
		}
		for i := range counted {
			f.compare(fmt.Sprintf("%s.%d", where, i), list[i], counted[i])
		}
	case float64:
		f.r.count(kind, 1)
		if n, ok := said.(float64); !ok || math.Abs(n-counted) > 1e-9*max(1, math.Abs(counted)) {
			f.r.differ(kind, "%s: said %v, counted %v", where, said, counted)
		}
	default:
		equal(f.r, kind, where, said, counted)
	}
}

// ordered returns entries by location, or by hour of the week, without those of which there are none.
func ordered(list []any) []any {
	key := func(e any) string {
		m, _ := e.(map[string]any)
		switch {
		case m["location_id"] != nil:
			return m["location_id"].(string)
		case m["hour"] != nil:
			return fmt.Sprintf("%v %02.0f", m["day_of_week"], m["hour"])
		}
		return ""
	}
	list = slices.DeleteFunc(slices.Clone(list), func(e any) bool {
		return key(e) != "" && e.(map[string]any)["count"] == 0.0
	})
	slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(key(a), key(b)) })
	return list
}

// object is an answer of the API.
type object map[string]any

var types = []string{"standard", "private", "discount", "access", "prepaid"}

// answer counts what an operation of the API answers.
func (f *figures) answer() (answer any, known bool) {
	_, path, _ := strings.Cut(f.path, "/api/public/v1")
	if path == "" {
		path = f.path
	}
	part := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(part) == 3 && part[0] == "programs" && part[2] == "stats":
		return f.programStats(part[1]), f.totals[part[1]] != nil
	case path == "/analytics/summary":
		return f.summary(), true
	case path == "/analytics/heatmap":
		return f.heatmap(), true
	case path == "/analytics/card-types":
		var list []object
		for _, t := range types {
			list = append(list, object{"type": t, "count": f.activeOf(t), "label_key": "card_type." + t})
		}
		return object{"distribution": list}, true
	case len(part) == 3 && part[1] == "card-types":
		return f.cardStats(part[2]), slices.Contains(types, part[2])
	}
	return nil, false
}

// perDay returns a figure of each day.
func perDay(days []daySums, from int, name string, of func(daySums) int64) []object {
	list := []object{}
	for i, d := range days {
		list = append(list, object{"date": date(from + i), name: of(d)})
	}
	return list
}

func (f *figures) programStats(id string) object {
	t := f.totals[id]
	if t == nil {
		return nil
	}
	from := f.today - 89
	days := f.of(id, nil, from, f.today)
	at := func(counts map[string]int64) []object {
		list := []object{}
		for l, n := range counts {
			list = append(list, object{"location_id": l, "count": n})
		}
		return list
	}
	hours := []object{}
	for d, day := range f.hoursOf(id) {
		for h, n := range day {
			if n != 0 {
				hours = append(hours, object{"day_of_week": d, "hour": h, "count": n})
			}
		}
	}
	return object{
		"active_cards": t.active, "total_stamps_awarded": t.stamps, "prizes_redeemed": t.redemptions,
		"completion_rate":         ratio(float64(t.completed), float64(t.completed+t.open)),
		"cards_by_day":            perDay(days, from, "count", func(d daySums) int64 { return d.cards }),
		"stamps_by_day":           perDay(days, from, "count", func(d daySums) int64 { return d.stamps }),
		"cards_by_location":       at(t.cardsAt),
		"stamps_by_location":      at(t.stampsAt),
		"stamps_by_hour_dow":      hours,
		"platform_split":          object{"apple": t.apple, "google": t.google},
		"avg_days_between_stamps": ratio(t.span, float64(t.gaps)),
		"timezone":                f.zone.String(),
	}
}

func (f *figures) summary() object {
	var sum daySums
	for _, d := range f.of("", nil, f.today-29, f.today) {
		sum.add(&d)
	}
	return object{
		"active_locations": f.openLocations(), "active_programs": f.activePrograms(),
		"activity_30d": sum.activity, "new_cards_30d": sum.cards,
	}
}

func (f *figures) openLocations() (n int64) {
	for _, open := range f.p.open {
		if open {
			n++
		}
	}
	return n
}

func (f *figures) activePrograms() (n int64) {
	for id, published := range f.p.published {
		if published && !f.p.suspended[id] && !f.p.deleted[id] {
			n++
		}
	}
	return n
}

func (f *figures) heatmap() object {
	to := f.today
	if d, err := parseDate(f.q.Get("to")); err == nil {
		to = d
	}
	from := to - 364
	if d, err := parseDate(f.q.Get("from")); err == nil {
		from = d
	}
	days := make([]daySums, max(0, to-from+1))
	program := f.q.Get("program_id")
	for k, d := range f.days {
		if k.day >= from && k.day <= to && (program == "" || k.program == program) &&
			(len(f.Locations) == 0 || slices.Contains(f.Locations, k.location)) {
			days[k.day-from].add(d)
		}
	}
	return object{"from": date(from), "to": date(to), "days": perDay(days, from, "count", func(d daySums) int64 { return d.activity })}
}

func (f *figures) activeOf(kind string) (n int64) {
	for id, t := range f.totals {
		if f.p.programs[id].Type == kind {
			n += t.active
		}
	}
	return n
}

// cardStats counts the figures of a type of cards.
func (f *figures) cardStats(kind string) object {
	var all totals
	for id, t := range f.totals {
		if f.p.programs[id].Type == kind {
			all.add(&t.daySums)
			all.uses, all.entries, all.balance = all.uses+t.uses, all.entries+t.entries, all.balance+t.balance
			all.completed, all.open = all.completed+t.completed, all.open+t.open
		}
	}
	k := object{"active_cards": f.activeOf(kind)}
	switch kind {
	case "discount":
		k["uses"] = all.uses
	case "access":
		k["entries"] = all.entries
	case "prepaid":
		k["balance_cents"], k["topped_up_cents"], k["spent_cents"] = all.balance, all.toppedUp, all.spent
	default:
		k["stamps_awarded"], k["prizes_redeemed"] = all.stamps, all.redemptions
		k["completion_rate"] = ratio(float64(all.completed), float64(all.completed+all.open))
	}
	days := f.of("", func(p *program) bool { return p.Type == kind }, f.today-89, f.today)
	return object{
		"card_type": kind, "kpis": k, "timezone": f.zone.String(),
		"activity_by_day": perDay(days, f.today-89, "value", func(d daySums) int64 { return d.activity }),
	}
}
