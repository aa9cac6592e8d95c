package store

import (
	"fmt"
	"time"
)

// programsOfShop is the condition on rows of sums that they are of a program of
// the shop, deleted programs included.
const programsOfShop = "program_id IN (SELECT id FROM programs WHERE shop_id=?)"

// Summary returns the main figures of a shop.
func (v *View) Summary(a Access) (s AnalyticsSummary, err error) {
	if err := requireWholeShop(a); err != nil {
		return s, err
	}
	v.snapshot()
	sh := v.shop(a.Shop)
	today := v.today(sh)
	from := today - summaryDays + 1
	v.one(into(&s.ActiveLocations, &s.ActivePrograms, &s.Activity30d, &s.NewCards30d),
		`SELECT (SELECT count(*) FROM locations WHERE shop_id=?1 AND disabled_at IS NULL), (SELECT count(*) FROM programs
			WHERE shop_id=?1 AND deleted_at IS NULL AND published_at IS NOT NULL
			AND suspended_at IS NULL), ifnull(sum(activity), 0), ifnull(sum(cards), 0) FROM day_counts
			WHERE program_id IN (SELECT id FROM programs WHERE shop_id=?1) AND day>=?2 AND day<=?3`, a.Shop, from, today)
	return s, v.failed
}

// HeatmapQuery is the query of GET /analytics/heatmap.
type HeatmapQuery struct {
	From      Opt[string] `json:"from" format:"date" doc:"First day, YYYY-MM-DD, of the shop's calendar. Default: 364 days before to."`
	To        Opt[string] `json:"to" format:"date" doc:"Last day, inclusive. Default: today. The span is at most 366 days."`
	ProgramID Opt[string] `json:"program_id" doc:"Only this program."`
}

const (
	heatmapDays    = 365
	maxHeatmapDays = 366
)

// span returns the first and the last day that a query asks for, by numbers. Without the first it
// is of some days, without the last to today.
func span(first, last Opt[string], today, days int64) (from, to int64, err error) {
	to = today
	if last.Set {
		to = dayOf(last.V)
	}
	from = to - days + 1
	if first.Set {
		from = dayOf(first.V)
	}
	return from, to, checkSpan("from", from, to, "to")
}

// checkSpan refuses days of which the first is after the last, or too long before it.
func checkSpan(field string, from, to int64, last string) error {
	switch {
	case from > to:
		return InvalidField(field, "invalid_value", "must not be after "+last)
	case to-from >= maxHeatmapDays:
		return InvalidField(field, "too_large", fmt.Sprintf("must be at most %d days before %s", maxHeatmapDays-1, last))
	}
	return nil
}

// sumsOf returns the condition on rows of sums that they are of a program or, without one, of any
// program of a shop.
func (q *queries) sumsOf(shop int64, program Opt[string]) (cond string, args []any) {
	cond, args = programsOfShop, []any{shop}
	if program.Set {
		cond, args = cond+" AND program_id=?", append(args, q.keyOrNone(KindProgram, program.V))
	}
	return cond, args
}

// Heatmap returns the activity of each day of q. A restricted key gets the
// activity at its own locations.
func (v *View) Heatmap(a Access, q HeatmapQuery) (h ActivityHeatmap, err error) {
	v.snapshot()
	sh := v.shop(a.Shop)
	from, to, err := span(q.From, q.To, v.today(sh), heatmapDays)
	if err != nil {
		return h, err
	}
	cond, args := v.sumsOf(a.Shop, q.ProgramID)
	if a.Restricted {
		cond, args = cond+" AND location_id IN (SELECT value FROM json_each(?))", append(args, jsonKeys(a.Locations))
	}
	days := v.byDay("activity", cond, from, to, args...)
	return ActivityHeatmap{Date(from), Date(to), days}, v.failed
}

// typeColors gives each program type the same colour in every chart.
var typeColors = map[string]string{
	"standard": "#2563EB",
	"private":  "#7C3AED",
	"discount": "#D97706",
	"access":   "#059669",
	"prepaid":  "#DB2777",
}

// Distribution returns the numbers of the shop's active cards by program type.
func (v *View) Distribution(a Access) (d CardTypeDistribution, err error) {
	if err := requireWholeShop(a); err != nil {
		return d, err
	}
	v.snapshot()
	for _, t := range programTypes {
		n := v.activeOfType(a.Shop, t)
		d.Distribution = append(d.Distribution, CardTypeCount{t, n, "card_type." + t, typeColors[t]})
	}
	return d, nil
}

// activeOfType returns the number of active cards of a shop's programs of a type.
func (v *View) activeOfType(shop int64, programType string) (n int64) {
	for _, p := range v.keys("SELECT id FROM programs WHERE shop_id=? AND type=? AND deleted_at IS NULL", shop, programType) {
		n += v.activeCards(p)
	}
	return n
}

// CardStats returns the figures of all programs of a type.
func (v *View) CardStats(a Access, programType string) (st CardStats, err error) {
	if err := requireWholeShop(a); err != nil {
		return st, err
	}
	shown, ok := kpis[programType]
	if !ok {
		return st, notFound("card type")
	}
	v.snapshot()
	sh := v.shop(a.Shop)
	st.CardType, st.Timezone, st.KPIs = programType, sh.Timezone, map[string]*float64{}
	st.KPIs["active_cards"] = available(v, "active_cards", func() float64 { return float64(v.activeOfType(a.Shop, programType)) })
	const programs = "program_id IN (SELECT id FROM programs WHERE shop_id=? AND type=?)"
	for _, k := range shown {
		st.KPIs[k.name] = v.ratio(k.name, "SELECT "+k.numerator+", "+k.denominator+" FROM program_counts WHERE "+programs, 1, a.Shop,
			programType)
	}
	today := v.today(sh)
	st.ActivityByDay = available(v, "activity_by_day", func() (values []DayValue) {
		for _, d := range v.byDay("activity", programs, today-shownDays+1, today, a.Shop, programType) {
			values = append(values, DayValue{d.Date, d.Count})
		}
		return values
	})
	return st, v.failed
}

// kpi is a figure of CardStats: a quotient of two SQL expressions over
// program_counts.
type kpi struct{ name, numerator, denominator string }

// totalKPI returns the figure that is the sum of a column.
func totalKPI(name, column string) kpi { return kpi{name, "ifnull(sum(" + column + "), 0)", "1"} }

var stampKPIs = []kpi{totalKPI("stamps_awarded", "stamps"), totalKPI("prizes_redeemed", "redemptions"),
	{"completion_rate", "ifnull(sum(completed), 0)", "ifnull(sum(completed+open_cards), 0)"}}

var kpis = map[string][]kpi{
	"standard": stampKPIs, "private": stampKPIs, "discount": {totalKPI("uses", "uses")}, "access": {totalKPI("entries", "entries")},
	"prepaid": {totalKPI("balance_cents", "balance"), totalKPI("topped_up_cents", "topped_up"), totalKPI("spent_cents", "spent")},
}

// dayOf returns the number of a day. The date is valid: the request was
// validated.
func dayOf(date string) int64 {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return 0
	}
	return Day(t)
}
