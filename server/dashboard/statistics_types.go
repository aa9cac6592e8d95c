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
	Tabs   []web.NavItem
	Split  template.HTML
	Active int64 // cards
	Shop   store.AnalyticsSummary
	Types  []typeStatistics
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
	for _, t := range d.Distribution {
		if t.Count == 0 {
			continue
		}
		p.Active += t.Count
		parts = append(parts, web.Part{Label: v.T(programTypes[t.Type]), Value: t.Count})
		s, err := read[store.CardStats](v, operation.GetCardTypeStats, kernel.Args{Params: map[string]string{"type": t.Type}})
		if err != nil {
			return err
		}
		p.Types = append(p.Types, v.typeStatistics(s))
	}
	c := v.chart("types", "Active cards by type", "Type", "Active cards")
	p.Split = web.SplitBar(v.Printer, c, parts)
	var err error
	if p.Shop, err = read[store.AnalyticsSummary](v, operation.GetAnalyticsSummary); err != nil {
		return err
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
