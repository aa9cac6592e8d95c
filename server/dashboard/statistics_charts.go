package dashboard

import (
	"html/template"
	"slices"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// periodFigure is a figure of a period.
type periodFigure struct {
	id, label string
	of        func(store.PeriodSums) int64
	cents     bool
	byDay     bool // it has a chart by day
}

// periodFigures are those of a period, in the order of the page.
var periodFigures = []periodFigure{
	{"stamps", web.Text("Stamps"), func(s store.PeriodSums) int64 { return s.Stamps }, false, true},
	{"cards", web.Text("New cards"), func(s store.PeriodSums) int64 { return s.NewCards }, false, true},
	{"redemptions", web.Text("Redemptions"), func(s store.PeriodSums) int64 { return s.Redemptions }, false, true},
	{"activity", web.Text("Actions at the till"), func(s store.PeriodSums) int64 { return s.Activity }, false, false},
	{"topped-up", web.Text("Topped up"), func(s store.PeriodSums) int64 { return s.ToppedUpCents }, true, true},
	{"spent", web.Text("Spent from cards"), func(s store.PeriodSums) int64 { return s.SpentCents }, true, true},
}

// format returns how a figure is shown.
func (v *visit) format(f periodFigure) func(int64) string {
	if f.cents {
		return v.money
	}
	return v.print.Number
}

// addFigures adds the sums of a period, beside those of the second one, and their charts.
// Money is left out where none was moved.
func (v *visit) addFigures(p *statisticsPage, now store.PeriodReport, before *store.PeriodReport) {
	for _, f := range periodFigures {
		sum, earlier := f.of(now.Total), int64(0)
		t := tile{Label: v.print.T(f.label), Value: v.format(f)(sum)}
		if before != nil {
			earlier = f.of(before.Total)
			t.Note = v.print.T("vs. {0}", v.format(f)(earlier))
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
		case chart != "" && p.First == "":
			p.First = chart
		case chart != "" && f.byDay:
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
	return v.print.ChangeOf(now, before)
}

// longPeriod is the number of days from which on a chart shows weeks.
const longPeriod = 62

// dayChart returns the chart of a figure by day, or by week: two lines beside each other,
// or bars without a second period. A figure of one day has none.
func (v *visit) dayChart(f periodFigure, now store.PeriodReport, before *store.PeriodReport) template.HTML {
	if len(now.Days) < 2 || !f.byDay {
		return ""
	}
	c := web.Chart{ID: "day-" + f.id, Title: v.print.T(dayTitles[f.id]), Key: v.print.T("Day"), Value: v.print.T(f.label)}
	every := 1
	if len(now.Days) > longPeriod {
		c.Title, c.Key, every = v.print.T(weekTitles[f.id]), v.print.T("Week from"), 7
	}
	if f.cents {
		c.Format, c.Axis = v.money, func(n int64) string { return v.print.ShortMoney(n, v.shop().Currency) }
	}
	points := v.points(now.Days, f, every)
	if before == nil {
		return web.BarChart(v.calendar(), c, points)
	}
	labels, longs, values := columns(points)
	best := slices.Index(values, slices.Max(values))
	if c.Desc = v.print.T("Nothing in this period"); values[best] > 0 {
		c.Desc = v.print.T("Highest: {0} ({1}).", v.format(f)(values[best]), longs[best])
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

var dayTitles = map[string]string{
	"stamps":      web.Text("Stamps by day"),
	"cards":       web.Text("New cards by day"),
	"redemptions": web.Text("Redemptions by day"),
	"activity":    web.Text("Actions by day"),
	"topped-up":   web.Text("Topped up by day"),
	"spent":       web.Text("Spent by day"),
}

// points returns a figure of each day, or of as many days together.
func (v *visit) points(days []store.PeriodDay, f periodFigure, every int) (list []web.Point) {
	p := v.calendar()
	for i, d := range days {
		if i%every == 0 {
			list = append(list, web.Point{Label: p.DayMonth(dayAt(d.Date)), Long: p.Date(dayAt(d.Date))})
		}
		list[len(list)-1].Value += f.of(d.PeriodSums)
	}
	return list
}

var weekTitles = map[string]string{
	"stamps":      web.Text("Stamps by week"),
	"cards":       web.Text("New cards by week"),
	"redemptions": web.Text("Redemptions by week"),
	"activity":    web.Text("Actions by week"),
	"topped-up":   web.Text("Topped up by week"),
	"spent":       web.Text("Spent by week"),
}

// mostParts is the number of parts of a split bar; further ones are drawn as one.
const mostParts = 6

// locationChart returns how a period divides between the locations.
func (v *visit) locationChart(now store.PeriodReport) template.HTML {
	var parts []web.Part
	for _, l := range now.Locations {
		parts = append(parts, web.Part{Label: v.locationName(l.LocationName), Value: l.Activity})
	}
	c := web.Chart{
		ID:    "locations",
		Title: v.print.T("Actions by location"),
		Key:   v.print.T("Location"),
		Value: v.print.T("Actions at the till"),
	}
	return web.SplitBar(v.print, c, v.largest(parts))
}

// largest returns the largest parts, and the others as one.
func (v *visit) largest(parts []web.Part) []web.Part {
	slices.SortStableFunc(parts, func(a, b web.Part) int { return int(b.Value - a.Value) })
	if len(parts) <= mostParts {
		return parts
	}
	others := web.Part{Label: v.print.T("{0} other|{0} others", len(parts)-mostParts+1)}
	for _, p := range parts[mostParts-1:] {
		others.Value += p.Value
	}
	return append(parts[:mostParts-1:mostParts-1], others)
}

// locationName returns how a location is called.
func (v *visit) locationName(name string) string {
	if name == "" {
		return v.print.T("Location without a name")
	}
	return name
}

// hourChart returns the stamps by weekday and hour.
func (v *visit) hourChart(hours []store.HourCount) template.HTML {
	var counts [7][24]int64
	for _, h := range hours {
		counts[h.DayOfWeek%7][h.Hour%24] = h.Count
	}
	c := web.Chart{ID: "hours", Title: v.print.T("Stamps by weekday and hour, since the beginning"), Value: v.print.T("Stamps")}
	if len(hours) == 0 {
		c.Desc = v.print.T("No stamp yet.")
	}
	return web.Heatmap(v.print, c, counts)
}

// yearChart returns the activity of each day of the last year, of a program or of all.
func (v *visit) yearChart(program string) (template.HTML, error) {
	q := store.HeatmapQuery{}
	if program != "" {
		q.ProgramID = store.Given(program)
	}
	year, err := read[store.ActivityHeatmap](v, operation.GetHeatmap, kernel.Args{Fields: q})
	if err != nil {
		return "", err
	}
	var counts []int64
	for _, d := range year.Days {
		counts = append(counts, d.Count)
	}
	c := web.Chart{ID: "year", Title: v.print.T("Actions by day, the last year"), Value: v.print.T("Actions at the till")}
	return web.YearHeatmap(v.calendar(), c, dayAt(year.From), counts), nil
}
