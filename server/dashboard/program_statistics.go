package dashboard

import (
	"html/template"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// programStatisticsPage is the page of a program's statistics.
type programStatisticsPage struct {
	web.Frame
	Program store.Program
	Tiles   []tile
	ByDay   []template.HTML
	Beside  []template.HTML
	Missing bool // a figure could not be computed
}

func showProgramStatistics(v *visit, detail store.ProgramDetail) error {
	program := detail.Program
	s, err := read[store.ProgramStats](v, operation.GetProgramStats)
	if err != nil {
		return err
	}
	v.compress = true
	p := programStatisticsPage{Frame: v.frame("Statistics", statisticsPath), Program: program}
	p.Tiles = v.programTiles(program, s)
	p.ByDay, err = v.programDays(program, s)
	if err != nil {
		return err
	}
	p.Beside = v.programSplits(program, s)
	p.Missing = s.ActiveCards == nil || s.TotalStampsAwarded == nil || s.PrizesRedeemed == nil || s.CardsByDay == nil ||
		s.StampsByDay == nil || s.CardsByLocation == nil || s.StampsByLocation == nil || s.StampsByHourDow == nil || s.PlatformSplit == nil
	return v.render("program_statistics", p)
}

// programTiles returns the figures of a program, of which null are not known.
func (v *visit) programTiles(program store.Program, s store.ProgramStats) (tiles []tile) {
	add := func(label web.Text, n *int64) {
		text := "–"
		if n != nil {
			text = v.Number(*n)
		}
		tiles = append(tiles, v.tile(label, text))
	}
	add("Active cards", s.ActiveCards)
	if !store.CollectsStamps(program.Type) {
		return tiles
	}
	add("Stamps", s.TotalStampsAwarded)
	add("Prizes redeemed", s.PrizesRedeemed)
	completion, between := v.tile("Cards that were filled", "–"), v.tile("Days between two stamps", "–")
	between.Note = v.T("on average")
	if s.CompletionRate != nil {
		completion.Value = v.Percent(*s.CompletionRate)
	}
	if s.AvgDaysBetweenStamps != nil {
		between.Value = v.Decimal(*s.AvgDaysBetweenStamps, 1)
	}
	return append(tiles, completion, between)
}

// programDays returns the charts by day: of cards that collect no stamps, what else was
// done with them.
func (v *visit) programDays(program store.Program, s store.ProgramStats) (charts []template.HTML, err error) {
	add := func(id string, title, value web.Text, days *[]store.DayCount) {
		if days == nil {
			return
		}
		var points []web.Point
		for _, d := range *days {
			points = append(points, v.point(d.Date, d.Count))
		}
		charts = append(charts, web.BarChart(v.calendar(), v.chart(id, title, "Day", value), points))
	}
	if store.CollectsStamps(program.Type) {
		add("stamps", "Stamps by day", "Stamps", s.StampsByDay)
	} else if s.CardsByDay != nil && len(*s.CardsByDay) > 0 {
		from := (*s.CardsByDay)[0].Date
		period, err := v.period(store.PeriodQuery{From: store.Given(from), ProgramID: store.Given(program.ID)})
		if err != nil {
			return nil, err
		}
		var days []store.DayCount
		for _, d := range period.Days {
			days = append(days, store.DayCount{Date: d.Date, Count: d.Activity})
		}
		add("activity", "Actions by day", "Actions at the till", &days)
	}
	add("cards", "New cards by day", "New cards", s.CardsByDay)
	return charts, nil
}

// programSplits returns how cards and stamps divide between locations and platforms, and
// the hours of the week.
func (v *visit) programSplits(program store.Program, s store.ProgramStats) (charts []template.HTML) {
	byLocation := func(id string, title, value web.Text, counts *[]store.PlaceCount) {
		if counts == nil {
			return
		}
		var parts []web.Part
		for _, l := range *counts {
			parts = append(parts, web.Part{Label: v.locationName(l.LocationName), Value: l.Count})
		}
		charts = append(charts, web.SplitBar(v.Printer, v.chart(id, title, "Location", value), v.largest(parts)))
	}
	if store.CollectsStamps(program.Type) {
		byLocation("stamps-location", "Stamps by location", "Stamps", s.StampsByLocation)
	}
	byLocation("cards-location", "Cards by location of their first use", "Cards", s.CardsByLocation)
	if s.PlatformSplit != nil {
		charts = append(charts, web.SplitBar(v.Printer, v.chart("platforms", "Installed cards by phone", "Phone", "Cards"), []web.Part{
			{Label: v.T("iPhone"), Value: s.PlatformSplit.Apple},
			{Label: v.T("Android"), Value: s.PlatformSplit.Google},
		}))
	}
	if s.StampsByHourDow != nil && store.CollectsStamps(program.Type) {
		charts = append(charts, v.hourChart(*s.StampsByHourDow))
	}
	return charts
}
