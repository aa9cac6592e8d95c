package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
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
	if strings.HasPrefix(f.What, "page ") {
		var text string
		if json.Unmarshal(f.Body, &text) != nil {
			f.r.differ(pageKind, "%s: the body is no text", f.What)
			return
		}
		f.checkPage(text)
		return
	}
	kind, counted := "figures of the API", f.answer(f.path)
	tool, ofTool := strings.CutPrefix(f.What, "mcp ")
	if ofTool {
		kind, counted = "figures of the assistant", f.told(tool)
	}
	if counted == nil {
		f.r.note("no count of %s %s", f.What, f.Path)
		return
	}
	said, want := map[string]any{}, map[string]any{}
	text, err := json.Marshal(counted)
	if err = errors.Join(err, flatten(f.Body, said), flatten(text, want)); err != nil {
		f.r.differ(kind, "%s: %v", f.where(""), err)
		return
	}
	f.compare(kind, said, want, ofTool)
}

// flatten puts the values of an answer into a map by their paths.
func flatten(text []byte, values map[string]any) error {
	var v any
	err := json.Unmarshal(text, &v)
	put(values, "", v)
	return err
}

// put puts the values in a value of JSON. Entries of a list are named by their day, location, type or hour, so that their order does
// not matter. Locations and hours without a count are left out.
func put(values map[string]any, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			put(values, strings.TrimSpace(path+" "+k), inner)
		}
	case []any:
		for i, inner := range v {
			m, _ := inner.(map[string]any)
			name := fmt.Sprint(i)
			switch {
			case m["date"] != nil:
				name = fmt.Sprint(m["date"])
			case m["count"] == 0.0 && (m["location_id"] != nil || m["hour"] != nil):
				continue
			case m["location_id"] != nil:
				name = fmt.Sprint(m["location_id"])
			case m["type"] != nil:
				name = fmt.Sprint(m["type"])
			case m["hour"] != nil:
				name = fmt.Sprint(m["day_of_week"], "-", m["hour"])
			}
			put(values, path+" "+name, inner)
		}
	default:
		values[path] = v
	}
}

// named are fields that no sum gives.
var named = regexp.MustCompile(` (location_name|color)$`)

// compare compares the values of two answers. Fields that a tool leaves out and those that were not counted are not compared. Of those
// that it has, all numbers that are not 0 must be there.
func (f *figures) compare(kind string, said, counted map[string]any, ofTool bool) {
	fields := map[string]bool{}
	for path := range said {
		field, _, _ := strings.Cut(path, " ")
		fields[field] = true
		if _, known := counted[path]; !known && !ofTool && !named.MatchString(path) {
			f.r.differ(kind, "%s: a field that was not counted", f.where(path))
		}
	}
	for path, want := range counted {
		field, _, _ := strings.Cut(path, " ")
		is, has := said[path]
		x, isNumber := want.(float64)
		if ofTool && !has && (!fields[field] || !isNumber || x == 0) {
			continue
		}
		if n, ok := is.(float64); ok && isNumber && math.Abs(n-x) <= 1e-9*max(1, math.Abs(x)) {
			is = want
		}
		equal(f.r, kind, f.where(path), is, want)
	}
}

// object is an answer of the API.
type object map[string]any

var types = []string{"standard", "private", "discount", "access", "prepaid"}

// answer counts what an operation of the API answers; nil: it has no figures.
func (f *figures) answer(path string) object {
	part := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(part) == 3 && part[2] == "stats" && f.totals[part[1]] != nil:
		return f.programStats(part[1])
	case path == "/analytics/summary":
		return f.summary()
	case path == "/analytics/heatmap":
		return f.heatmap()
	case path == "/analytics/card-types":
		var list []object
		for _, t := range types {
			list = append(list, object{"type": t, "count": f.ofType(t)["active_cards"], "label_key": "card_type." + t})
		}
		return object{"distribution": list}
	case len(part) == 3 && part[1] == "card-types" && slices.Contains(types, part[2]):
		return f.cardStats(part[2])
	}
	return nil
}

// perDay returns a figure of each day.
func perDay(days []tally, from int, name, sum string) []object {
	list := []object{}
	for i, d := range days {
		list = append(list, object{"date": date(from + i), name: d[sum]})
	}
	return list
}

func (f *figures) programStats(id string) object {
	t := f.totals[id]
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
		"active_cards": t.tally["active_cards"], "total_stamps_awarded": t.tally["stamps"], "prizes_redeemed": t.tally["redemptions"],
		"completion_rate":         completion(t.tally),
		"cards_by_day":            perDay(days, from, "count", "new_cards"),
		"stamps_by_day":           perDay(days, from, "count", "stamps"),
		"cards_by_location":       at(t.cardsAt),
		"stamps_by_location":      at(t.stampsAt),
		"stamps_by_hour_dow":      hours,
		"platform_split":          object{"apple": t.tally["apple"], "google": t.tally["google"]},
		"avg_days_between_stamps": ratio(t.span, t.tally["gaps"]),
		"timezone":                f.zone.String(),
	}
}

func (f *figures) summary() object {
	sum := sumOf(f.of("", nil, f.today-29, f.today))
	return object{
		"active_locations": f.openLocations(), "active_programs": f.activePrograms(),
		"activity_30d": sum["activity"], "new_cards_30d": sum["new_cards"],
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
	days := f.of("", nil, from, to)
	return object{"from": date(from), "to": date(to), "days": perDay(days, from, "count", "activity")}
}

// ofType returns the totals of the programs of a type.
func (f *figures) ofType(kind string) tally {
	all := tally{}
	for id, t := range f.totals {
		if f.p.programs[id].Type == kind {
			all.add(t.tally)
		}
	}
	return all
}

// daysOfType returns the sums of the last 90 days of a type of cards.
func (f *figures) daysOfType(kind string) []tally {
	return f.of("", func(k dayKey) bool { return f.p.programs[k.program].Type == kind }, f.today-89, f.today)
}

// cardStats counts the figures of a type of cards.
func (f *figures) cardStats(kind string) object {
	all := f.ofType(kind)
	k := object{"active_cards": all["active_cards"]}
	switch kind {
	case "discount":
		k["uses"] = all["uses"]
	case "access":
		k["entries"] = all["uses"]
	case "prepaid":
		k["balance_cents"], k["topped_up_cents"], k["spent_cents"] = all["balance_cents"], all["topped_up_cents"], all["spent_cents"]
	default:
		k["stamps_awarded"], k["prizes_redeemed"], k["completion_rate"] = all["stamps"], all["redemptions"], completion(all)
	}
	return object{
		"card_type": kind, "kpis": k, "timezone": f.zone.String(),
		"activity_by_day": perDay(f.daysOfType(kind), f.today-89, "value", "activity"),
	}
}
