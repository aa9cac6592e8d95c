package dashboard

import (
	"cmp"
	"html/template"
	"slices"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// periodFigure is a figure of a period.
type periodFigure struct {
	id            string
	label         web.Text
	byDay, byWeek web.Text // titles of its charts; empty: it has none
	of            func(store.PeriodSums) int64
	cents         bool
}

// periodFigures are those of a period, in the order of the page.
var periodFigures = []periodFigure{
	{"stamps", "Stamps", "Stamps by day", "Stamps by week", func(s store.PeriodSums) int64 { return s.Stamps }, false},
	{"cards", "New cards", "New cards by day", "New cards by week", func(s store.PeriodSums) int64 { return s.NewCards }, false},
	{"redemptions", "Redemptions", "Redemptions by day", "Redemptions by week",
		func(s store.PeriodSums) int64 { return s.Redemptions }, false},
	{"activity", "Actions at the till", "", "", func(s store.PeriodSums) int64 { return s.Activity }, false},
	{"topped-up", "Topped up", "Topped up by day", "Topped up by week", func(s store.PeriodSums) int64 { return s.ToppedUpCents }, true},
	{"spent", "Spent from cards", "Spent by day", "Spent by week", func(s store.PeriodSums) int64 { return s.SpentCents }, true},
}

// format returns how a figure is shown.
func (v *visit) format(f periodFigure) func(int64) string {
	if f.cents {
		return v.money
	}
	return v.Number
}

// addFigures adds the sums of a period, beside those of the second one, and their charts.
// Money is left out where none was moved.
func (v *visit) addFigures(p *statisticsPage, now store.PeriodReport, before *store.PeriodReport) {
	for _, f := range periodFigures {
		sum, earlier := f.of(now.Total), int64(0)
		t := v.tile(f.label, v.format(f)(sum))
		if before != nil {
			earlier = f.of(before.Total)
			t.Note = v.T("vs. {0}", v.format(f)(earlier))
			t.Change = v.change(sum, earlier)
		}
		if f.cents && sum == 0 && earlier == 0 {
			continue
		}
		chart := v.dayChart(f, now, before)
		switch {
		case f.cents:
			p.Money = append(p.Money, t)
			if chart != "" {
				p.ByMoney = append(p.ByMoney, chart)
			}
			continue
		case chart == "":
		case p.First == "":
			p.First = chart
		default:
			p.Beside = append(p.Beside, chart)
		}
		p.Tiles = append(p.Tiles, t)
	}
}

// change returns how a figure differs from an earlier one. It is empty for a figure of more
// than ten times the earlier one, since such a percentage says nothing.
func (v *visit) change(now, before int64) web.Change {
	if now == 0 && before == 0 || now/10 > before {
		return web.Change{}
	}
	return v.ChangeOf(now, before)
}

// longPeriod is the number of days from which on a chart shows weeks.
const longPeriod = 62

// dayChart returns the chart of a figure by day, or by week: two lines beside each other,
// or bars without a second period. A figure of one day has none.
func (v *visit) dayChart(f periodFigure, now store.PeriodReport, before *store.PeriodReport) template.HTML {
	if len(now.Days) < 2 || f.byDay == "" {
		return ""
	}
	c := v.chart("day-"+f.id, f.byDay, "Day", f.label)
	every := 1
	if len(now.Days) > longPeriod {
		c.Title, c.Key, every = v.T(f.byWeek), v.T("Week from"), 7
	}
	if f.cents {
		c.Format, c.Axis = v.money, func(n int64) string { return v.ShortMoney(n, v.shop().Currency) }
	}
	points := v.points(now.Days, f, every)
	if before == nil {
		return web.BarChart(v.calendar(), c, points)
	}
	labels, longs, values := columns(points)
	best := slices.Index(values, slices.Max(values))
	if c.Desc = v.T("Nothing in this period"); values[best] > 0 {
		c.Desc = v.T("Highest: {0} ({1}).", v.format(f)(values[best]), longs[best])
	}
	_, _, earlier := columns(v.points(before.Days, f, every))
	return web.LineChart(
		v.calendar(),
		c,
		labels,
		longs,
		web.Series{Name: v.span(now), Values: values},
		web.Series{Name: v.span(*before), Values: earlier},
	)
}

// columns returns the labels and the values of points.
func columns(points []web.Point) (labels, longs []string, values []int64) {
	for _, p := range points {
		labels, longs, values = append(labels, p.Label), append(longs, p.Long), append(values, p.Value)
	}
	return labels, longs, values
}

// chart returns a chart without its figures. key is what the first column of its table is.
func (v *visit) chart(id string, title, key, value web.Text) web.Chart {
	return web.Chart{ID: id, Title: v.T(title), Key: v.T(key), Value: v.T(value)}
}

// tile returns a figure.
func (v *visit) tile(label web.Text, value string) tile { return tile{Label: v.T(label), Value: value} }

// point returns the figure of a day.
func (v *visit) point(date string, value int64) web.Point {
	c, at := v.calendar(), dayAt(date)
	return web.Point{Label: c.DayMonth(at), Long: c.Date(at), Value: value}
}

// points returns a figure of each day, or of as many days together.
func (v *visit) points(days []store.PeriodDay, f periodFigure, every int) (list []web.Point) {
	for i, d := range days {
		if i%every == 0 {
			list = append(list, v.point(d.Date, 0))
		}
		list[len(list)-1].Value += f.of(d.PeriodSums)
	}
	return list
}

// maxParts is the number of parts of a split bar; further ones are drawn as one.
const maxParts = 6

// locationChart returns how a period divides between the locations.
func (v *visit) locationChart(now store.PeriodReport) template.HTML {
	var parts []web.Part
	for _, l := range now.Locations {
		parts = append(parts, web.Part{Label: v.locationName(l.LocationName), Value: l.Activity})
	}
	c := v.chart("locations", "Actions by location", "Location", "Actions at the till")
	return web.SplitBar(v.Printer, c, v.largest(parts))
}

// largest returns the largest parts, and the others as one.
func (v *visit) largest(parts []web.Part) []web.Part {
	slices.SortStableFunc(parts, func(a, b web.Part) int { return int(b.Value - a.Value) })
	if len(parts) <= maxParts {
		return parts
	}
	others := web.Part{Label: v.T("{0} other|{0} others", len(parts)-maxParts+1)}
	for _, p := range parts[maxParts-1:] {
		others.Value += p.Value
	}
	return append(parts[:maxParts-1:maxParts-1], others)
}

// locationName returns how a location is called.
func (v *visit) locationName(name string) string { return cmp.Or(name, v.T("Location without a name")) }

// hourChart returns the stamps by weekday and hour.
func (v *visit) hourChart(hours []store.HourCount) template.HTML {
	var counts [7][24]int64
	for _, h := range hours {
		counts[h.DayOfWeek%7][h.Hour%24] = h.Count
	}
	c := v.chart("hours", "Stamps by weekday and hour, since the beginning", "", "Stamps")
	if len(hours) == 0 {
		c.Desc = v.T("No stamp yet.")
	}
	return web.Heatmap(v.Printer, c, counts)
}

// yearChart returns the activity of each day of the last year, of a program or of all.
func (v *visit) yearChart(f *web.Form) (template.HTML, error) {
	year, err := read[store.ActivityHeatmap](v, operation.GetHeatmap, v.with(store.HeatmapQuery{ProgramID: given(f, "program_id")}))
	if err != nil {
		return "", err
	}
	var counts []int64
	for _, d := range year.Days {
		counts = append(counts, d.Count)
	}
	c := v.chart("year", "Actions by day, the last year", "", "Actions at the till")
	return web.YearHeatmap(v.calendar(), c, dayAt(year.From), counts), nil
}
