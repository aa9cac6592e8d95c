package main

import (
	"encoding/json"
	"fmt"
)

// told counts what a tool of /mcp answers to an assistant; nil: nothing is counted.
func (f *figures) told(tool string) object {
	var args struct {
		View    string `json:"view"`
		Program string `json:"program_id"`
		From    string `json:"from"`
		To      string `json:"to"`
		Due     bool   `json:"prize_due"`
	}
	if json.Unmarshal([]byte(f.Path), &args) != nil {
		return nil
	}
	switch {
	case tool == "get_analytics" && args.View == "program":
		return f.answer("/programs/" + args.Program + "/stats")
	case tool == "get_analytics" && args.View == "card_types":
		var list []object
		for _, t := range types {
			list = append(list, object{"type": t, "active_cards": f.ofType(t)["active_cards"]})
		}
		return object{"data": list}
	case tool == "get_analytics":
		return f.answer("/analytics/" + args.View)
	case tool == "compare_periods":
		from, err1 := parseDate(args.From)
		to, err2 := parseDate(args.To)
		if err1 == nil && err2 == nil {
			return object{"period": f.periodOf(from, to), "compared_with": f.periodOf(2*from-to-1, from-1)}
		}
	case tool == "get_overview":
		now := f.At.In(f.zone)
		week := now.AddDate(0, 0, -7)
		return object{"figures": object{
			"summary":     f.summary(),
			"today":       sumsOf(f.between(startOfDay(f.today, f.zone), now)),
			"week_before": sumsOf(f.between(startOfDay(dayOf(week), f.zone), week)),
		}}
	case tool == "find_cards" && args.Due:
		n := f.prizesDue()
		if n > maxTotal {
			return object{"total": fmt.Sprint(maxTotal, "+")}
		}
		return object{"total": n}
	}
	return nil
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
func sumsOf(d tally) object {
	o := object{}
	for _, name := range []string{"stamps", "redemptions", "new_cards", "topped_up_cents", "spent_cents"} {
		o[name] = d[name]
	}
	return o
}

// periodOf returns the sums of a period.
func (f *figures) periodOf(from, to int) object {
	all := sumOf(f.of("", nil, from, to))
	o := sumsOf(all)
	o["activity"], o["from"], o["to"] = all["activity"], date(from), date(to)
	return o
}
