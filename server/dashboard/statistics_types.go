package dashboard

import (
	"html/template"
	"net/http"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// typesPage is the page of the statistics by type of card.
type typesPage struct {
	web.Frame
	Tabs  []web.NavItem
	Split template.HTML
	Now   []web.Fact
	Types []typeStatistics
}

// typeStatistics are the figures of the cards of a type.
type typeStatistics struct {
	Name  string
	Tiles []tile
	Chart template.HTML
}

func showTypes(v *visit) error {
	d, err := read[store.CardTypeDistribution](v, operation.GetCardTypes, kernel.Args{})
	if err != nil {
		return err
	}
	p := typesPage{Frame: v.frame(web.Text("Statistics"), statisticsPath), Tabs: v.statisticsTabs("")}
	v.compress = true
	var parts []web.Part
	active := int64(0)
	for _, t := range d.Distribution {
		if t.Count == 0 {
			continue
		}
		active += t.Count
		parts = append(parts, web.Part{Label: v.print.T(programTypes[t.Type]), Value: t.Count})
		s, err := read[store.CardStats](v, operation.GetCardTypeStats, kernel.Args{Params: map[string]string{"type": t.Type}})
		if err != nil {
			return err
		}
		p.Types = append(p.Types, v.typeStatistics(s))
	}
	c := web.Chart{ID: "types", Title: v.print.T("Active cards by type"), Key: v.print.T("Type"), Value: v.print.T("Active cards")}
	p.Split = web.SplitBar(v.print, c, parts)
	s, err := read[store.AnalyticsSummary](v, operation.GetAnalyticsSummary, kernel.Args{})
	if err != nil {
		return err
	}
	p.Now = []web.Fact{
		{Label: v.print.T("Active cards"), Value: v.print.Number(active)},
		{Label: v.print.T("Published programs"), Value: v.print.Number(s.ActivePrograms)},
		{Label: v.print.T("Open locations"), Value: v.print.Number(s.ActiveLocations)},
		{Label: v.print.T("Actions at the till in 30 days"), Value: v.print.Number(s.Activity30d)},
		{Label: v.print.T("New cards in 30 days"), Value: v.print.Number(s.NewCards30d)},
	}
	return v.render(http.StatusOK, "statistics_types", p)
}

// kpiOrder are the figures of a type, in the order of the page.
var kpiOrder = []struct{ name, label string }{
	{"active_cards", web.Text("Active cards")},
	{"stamps_awarded", web.Text("Stamps")},
	{"prizes_redeemed", web.Text("Prizes redeemed")},
	{"completion_rate", web.Text("Cards that were filled")},
	{"uses", web.Text("Discounts used")},
	{"entries", web.Text("Visits")},
	{"balance_cents", web.Text("On cards now")},
	{"topped_up_cents", web.Text("Topped up")},
	{"spent_cents", web.Text("Spent from cards")},
}

// typeStatistics returns the figures of a type of cards, of which null are not known.
func (v *visit) typeStatistics(s store.CardStats) (t typeStatistics) {
	t.Name = v.print.T(programTypes[s.CardType])
	for _, k := range kpiOrder {
		value, ok := s.KPIs[k.name]
		if !ok {
			continue
		}
		text := "–"
		switch {
		case value == nil:
		case k.name == "completion_rate":
			text = v.print.Percent(*value)
		case k.name == "balance_cents", k.name == "topped_up_cents", k.name == "spent_cents":
			text = v.money(int64(*value))
		default:
			text = v.print.Number(int64(*value))
		}
		t.Tiles = append(t.Tiles, tile{Label: v.print.T(k.label), Value: text})
	}
	if s.ActivityByDay == nil {
		return t
	}
	var points []web.Point
	p := v.calendar()
	for _, d := range *s.ActivityByDay {
		at := dayAt(d.Date)
		points = append(points, web.Point{Label: p.DayMonth(at), Long: p.Date(at), Value: d.Value})
	}
	c := web.Chart{
		ID:    "type-" + s.CardType,
		Title: v.print.T("Actions by day, the last 90 days"),
		Key:   v.print.T("Day"),
		Value: v.print.T("Actions at the till"),
	}
	t.Chart = web.BarChart(p, c, points)
	return t
}
