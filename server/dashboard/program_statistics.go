package dashboard

import (
	"html/template"
	"net/http"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// programStatisticsPage is the page of a program's statistics.
type programStatisticsPage struct {
	web.Frame
	Program store.Program
	Sub     string
	Tiles   []tile
	ByDay   []template.HTML
	Beside  []template.HTML
	Missing bool // a figure could not be computed
}

func showProgramStatistics(v *visit) error {
	detail, err := read[store.ProgramDetail](v, operation.GetProgram, v.args(nil))
	if err != nil {
		return err
	}
	program := detail.Program
	s, err := read[store.ProgramStats](v, operation.GetProgramStats, v.args(nil))
	if err != nil {
		return err
	}
	v.compress = true
	p := programStatisticsPage{Frame: v.frame(web.Text("Statistics"), statisticsPath), Program: program}
	p.Sub = v.print.T("Charts by day show the last 90 days; the other figures are of all time.")
	p.Tiles = v.programTiles(program, s)
	p.ByDay, err = v.programDays(program, s)
	if err != nil {
		return err
	}
	p.Beside = v.programSplits(program, s)
	p.Missing = s.ActiveCards == nil || s.TotalStampsAwarded == nil || s.PrizesRedeemed == nil || s.CardsByDay == nil || s.StampsByDay == nil ||
		s.CardsByLocation == nil || s.StampsByLocation == nil ||
		s.StampsByHourDow == nil ||
		s.PlatformSplit == nil
	return v.render(http.StatusOK, "program_statistics", p)
}

// programTiles returns the figures of a program, of which null are not known.
func (v *visit) programTiles(program store.Program, s store.ProgramStats) (tiles []tile) {
	number := func(label string, n *int64) {
		text := "–"
		if n != nil {
			text = v.print.Number(*n)
		}
		tiles = append(tiles, tile{Label: v.print.T(label), Value: text})
	}
	number(web.Text("Active cards"), s.ActiveCards)
	if !store.CollectsStamps(program.Type) {
		return tiles
	}
	number(web.Text("Stamps"), s.TotalStampsAwarded)
	number(web.Text("Prizes redeemed"), s.PrizesRedeemed)
	completion, between := tile{
		Label: v.print.T("Cards that were filled"),
		Value: "–",
	}, tile{
		Label: v.print.T("Days between two stamps"),
		Value: "–",
		Note:  v.print.T("on average"),
	}
	if s.CompletionRate != nil {
		completion.Value = v.print.Percent(*s.CompletionRate)
	}
	if s.AvgDaysBetweenStamps != nil {
		between.Value = v.print.Decimal(*s.AvgDaysBetweenStamps, 1)
	}
	return append(tiles, completion, between)
}

// programDays returns the charts by day: of cards that collect no stamps, what else was
// done with them.
func (v *visit) programDays(program store.Program, s store.ProgramStats) (charts []template.HTML, err error) {
	p := v.calendar()
	add := func(id, title, value string, days *[]store.DayCount) {
		if days == nil {
			return
		}
		var points []web.Point
		for _, d := range *days {
			at := dayAt(d.Date)
			points = append(points, web.Point{Label: p.DayMonth(at), Long: p.Date(at), Value: d.Count})
		}
		charts = append(
			charts,
			web.BarChart(p, web.Chart{ID: id, Title: v.print.T(title), Key: v.print.T("Day"), Value: v.print.T(value)}, points),
		)
	}
	if store.CollectsStamps(program.Type) {
		add("stamps", web.Text("Stamps by day"), web.Text("Stamps"), s.StampsByDay)
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
		add("activity", web.Text("Actions by day"), web.Text("Actions at the till"), &days)
	}
	add("cards", web.Text("New cards by day"), web.Text("New cards"), s.CardsByDay)
	return charts, nil
}

// programSplits returns how cards and stamps divide between locations and platforms, and
// the hours of the week.
func (v *visit) programSplits(program store.Program, s store.ProgramStats) (charts []template.HTML) {
	byLocation := func(id, title, value string, counts *[]store.PlaceCount) {
		if counts == nil {
			return
		}
		var parts []web.Part
		for _, l := range *counts {
			parts = append(parts, web.Part{Label: v.locationName(l.LocationName), Value: l.Count})
		}
		charts = append(
			charts,
			web.SplitBar(
				v.print,
				web.Chart{ID: id, Title: v.print.T(title), Key: v.print.T("Location"), Value: v.print.T(value)},
				v.largest(parts),
			),
		)
	}
	if store.CollectsStamps(program.Type) {
		byLocation("stamps-location", web.Text("Stamps by location"), web.Text("Stamps"), s.StampsByLocation)
	}
	byLocation("cards-location", web.Text("Cards by location of their first use"), web.Text("Cards"), s.CardsByLocation)
	if s.PlatformSplit != nil {
		charts = append(
			charts,
			web.SplitBar(
				v.print,
				web.Chart{
					ID:    "platforms",
					Title: v.print.T("Installed cards by phone"),
					Key:   v.print.T("Phone"),
					Value: v.print.T("Cards"),
				},
				[]web.Part{
					{Label: v.print.T("iPhone"), Value: s.PlatformSplit.Apple},
					{Label: v.print.T("Android"), Value: s.PlatformSplit.Google},
				},
			),
		)
	}
	if s.StampsByHourDow != nil && store.CollectsStamps(program.Type) {
		charts = append(charts, v.hourChart(*s.StampsByHourDow))
	}
	return charts
}
