package dashboard

import (
	"html/template"

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

func showTypes(v *visit, d store.CardTypeDistribution) error {
	p := typesPage{Frame: v.frame("Statistics", statisticsPath), Tabs: v.statisticsTabs(typesPath)}
	v.compress = true
	var parts []web.Part
	active := int64(0)
	for _, t := range d.Distribution {
		if t.Count == 0 {
			continue
		}
		active += t.Count
		parts = append(parts, web.Part{Label: v.T(programTypes[t.Type]), Value: t.Count})
		s, err := read[store.CardStats](v, operation.GetCardTypeStats, kernel.Args{Params: map[string]string{"type": t.Type}})
		if err != nil {
			return err
		}
		p.Types = append(p.Types, v.typeStatistics(s))
	}
	c := v.chart("types", "Active cards by type", "Type", "Active cards")
	p.Split = web.SplitBar(v.Printer, c, parts)
	s, err := read[store.AnalyticsSummary](v, operation.GetAnalyticsSummary)
	if err != nil {
		return err
	}
	p.Now = []web.Fact{
		v.fact("Active cards", v.Number(active)),
		v.fact("Published programs", v.Number(s.ActivePrograms)),
		v.fact("Open locations", v.Number(s.ActiveLocations)),
		v.fact("Actions at the till in 30 days", v.Number(s.Activity30d)),
		v.fact("New cards in 30 days", v.Number(s.NewCards30d)),
	}
	return v.render("statistics_types", p)
}

// kpiOrder are the figures of a type, in the order of the page.
var kpiOrder = []struct {
	name  string
	label web.Text
}{
	{"active_cards", "Active cards"},
	{"stamps_awarded", "Stamps"},
	{"prizes_redeemed", "Prizes redeemed"},
	{"completion_rate", "Cards that were filled"},
	{"uses", "Discounts used"},
	{"entries", "Visits"},
	{"balance_cents", "On cards now"},
	{"topped_up_cents", "Topped up"},
	{"spent_cents", "Spent from cards"},
}

// typeStatistics returns the figures of a type of cards, of which null are not known.
func (v *visit) typeStatistics(s store.CardStats) (t typeStatistics) {
	t.Name = v.T(programTypes[s.CardType])
	for _, k := range kpiOrder {
		value, ok := s.KPIs[k.name]
		if !ok {
			continue
		}
		text := "–"
		switch {
		case value == nil:
		case k.name == "completion_rate":
			text = v.Percent(*value)
		case k.name == "balance_cents", k.name == "topped_up_cents", k.name == "spent_cents":
			text = v.money(int64(*value))
		default:
			text = v.Number(int64(*value))
		}
		t.Tiles = append(t.Tiles, v.tile(k.label, text))
	}
	if s.ActivityByDay == nil {
		return t
	}
	var points []web.Point
	for _, d := range *s.ActivityByDay {
		points = append(points, v.point(d.Date, d.Value))
	}
	c := v.chart("type-"+s.CardType, "Actions by day, the last 90 days", "Day", "Actions at the till")
	t.Chart = web.BarChart(v.calendar(), c, points)
	return t
}
