package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// checkAssistant compares what a tool of /mcp answered to an assistant. Tools leave out what is nothing, so
// only what they say is compared.
func (f *figures) checkAssistant() {
	var args struct {
		View    string `json:"view"`
		Program string `json:"program_id"`
		From    string `json:"from"`
		To      string `json:"to"`
		Due     bool   `json:"prize_due"`
	}
	var said map[string]any
	if err := json.Unmarshal([]byte(f.Path), &args); err == nil {
		err = json.Unmarshal(f.Body, &said)
		if err != nil {
			f.r.differ("figures of the assistant", "%s: %v", f.where(""), err)
			return
		}
	}
	switch tool := strings.TrimPrefix(f.What, "mcp "); {
	case tool == "get_analytics" && args.View == "summary":
		f.within(said, f.summary())
	case tool == "get_analytics" && args.View == "program" && f.totals[args.Program] != nil:
		f.within(said, f.programStats(args.Program))
	case tool == "get_analytics" && args.View == "card_types":
		list, _ := said["data"].([]any)
		for _, e := range list {
			m, _ := e.(map[string]any)
			kind, _ := m["type"].(string)
			f.within(m, object{"count": f.activeOf(kind)})
		}
	case tool == "get_analytics" && args.View == "heatmap":
		h := f.heatmap()
		f.within(said, object{"from": h["from"], "to": h["to"]})
		f.withinDays(said["days"], h["days"].([]object))
	case tool == "compare_periods":
		from, err1 := parseDate(args.From)
		to, err2 := parseDate(args.To)
		if err1 != nil || err2 != nil {
			f.r.note("no count of %s %s", f.What, f.Path)
			return
		}
		f.within(said, object{"period": f.periodOf(from, to), "compared_with": f.periodOf(2*from-to-1, from-1)})
	case tool == "get_overview":
		now := f.At.In(f.zone)
		week := now.AddDate(0, 0, -7)
		f.within(said, object{"figures": object{
			"summary":     f.summary(),
			"today":       sumsOf(f.between(startOfDay(f.today, f.zone), now)),
			"week_before": sumsOf(f.between(startOfDay(dayOf(week), f.zone), week)),
		}})
	case tool == "find_cards" && args.Due:
		if n := f.prizesDue(); n <= maxTotal || said["total"] != fmt.Sprint(maxTotal, "+") {
			f.within(said, object{"total": n})
		}
	default:
		f.r.note("no count of %s %s", f.What, f.Path)
	}
}

// prizesDue counts the live cards that have reached a prize that was not taken in this cycle.
func (f *figures) prizesDue() (n int64) {
	for _, c := range f.p.list[:f.p.created] {
		for _, in := range c.live() {
			for _, threshold := range c.program.thresholds {
				if _, claimed := in.claims[threshold]; !claimed && in.stamps >= threshold {
					n++
					break
				}
			}
		}
	}
	return n
}

// maxTotal is the number up to which the tools count what they find.
const maxTotal = 10_000

// sumsOf returns sums by the names that tools give them.
func sumsOf(d daySums) object {
	return object{
		"stamps":          d.stamps,
		"redemptions":     d.redemptions,
		"new_cards":       d.cards,
		"topped_up_cents": d.toppedUp,
		"spent_cents":     d.spent,
	}
}

// periodOf returns the sums of a period.
func (f *figures) periodOf(from, to int) object {
	var all daySums
	for _, d := range f.of("", nil, from, to) {
		all.add(&d)
	}
	o := sumsOf(all)
	o["activity"], o["from"], o["to"] = all.activity, date(from), date(to)
	return o
}

// within compares those fields of an answer that were counted.
func (f *figures) within(said map[string]any, counted object) {
	part := map[string]any{}
	for k := range counted {
		v, has := said[k]
		m, nested := v.(map[string]any)
		inner, same := counted[k].(object)
		switch {
		case !has:
		case nested && same:
			f.within(m, inner)
		default:
			part[k] = counted[k]
		}
	}
	for k, v := range part {
		before := f.r.counted["figures of the API"]
		f.compare(fmt.Sprintf("%s %s at %s %s", f.What, f.Path, f.At.Format(stamp), k), said[k], plain(v))
		f.r.count("figures of the assistant", f.r.counted["figures of the API"]-before)
	}
}

// withinDays compares the days that are not 0.
func (f *figures) withinDays(said any, counted []object) {
	byDate := map[string]any{}
	for _, d := range counted {
		byDate[d["date"].(string)] = d["count"]
	}
	list, _ := said.([]any)
	sum, all := 0.0, 0.0
	for _, e := range list {
		d, _ := e.(map[string]any)
		day, _ := d["date"].(string)
		f.within(d, object{"count": byDate[day]})
		n, _ := d["count"].(float64)
		sum += n
	}
	for _, n := range byDate {
		all += float64(n.(int64))
	}
	f.within(map[string]any{"sum": sum}, object{"sum": all})
}
