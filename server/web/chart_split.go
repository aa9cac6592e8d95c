package web

import "html/template"

// patterns are drawn over the parts of a split bar after the first, so that they can be
// told apart without colours.
var patterns = [4]string{
	"",
	`<path class="p" d="M-2 2 2-2M0 8 8 0M6 10 10 6"/>`,
	`<path class="p" d="M0 4h8"/>`,
	`<path class="p" d="M4 0v8M0 4h8"/>`,
}

// SplitBar draws the parts of a whole.
func SplitBar(p *Printer, c Chart, parts []Part) template.HTML {
	const height = 24
	c = c.defaults(p)
	total := int64(0)
	for _, part := range parts {
		total += max(0, part.Value)
	}
	if c.Desc == "" {
		c.Desc = p.T("Total: {0}.", c.Format(total))
	}
	var m markup
	m.open(c, "parts")
	m.image(c, "", height)
	m.WriteString("<defs>")
	for i, drawing := range patterns {
		if drawing != "" {
			m.add(`<pattern id="%v-p%d" width="8" height="8" patternUnits="userSpaceOnUse">%v</pattern>`, c.ID, i, template.HTML(drawing))
		}
	}
	m.WriteString("</defs>")
	if total == 0 {
		m.add(`<rect class="h0" width="100%%" height="%d" rx="4"/>`, height)
	}
	x := 0.0
	for i, part := range parts {
		if part.Value <= 0 {
			continue
		}
		width := float64(part.Value) / float64(total) * 100
		m.part(c, i, x, width, height, part.Label+": "+c.Format(part.Value))
		x += width
	}
	m.WriteString("</svg>")
	m.splitLegend(p, c, parts, total)
	rows := make([][]string, len(parts))
	for i, part := range parts {
		rows[i] = []string{part.Label, c.Format(part.Value), p.share(part.Value, total)}
	}
	m.table(p, c, []string{c.Key, c.Value, p.T("Share")}, rows)
	return template.HTML(m.String())
}

// part appends a part of the bar. A narrow line separates it from the one before.
func (m *markup) part(c Chart, i int, x, width float64, height int, tip string) {
	m.add(`<g><title>%v</title><rect class="s%d" x="%v%%" width="%v%%" height="%d"/>`, tip, i%4, x, width, height)
	if k := i % 4; k > 0 {
		m.add(`<rect fill="url(#%v-p%d)" x="%v%%" width="%v%%" height="%d"/>`, c.ID, k, x, width, height)
	}
	if x > 0 {
		m.add(`<line class="p" x1="%v%%" x2="%v%%" y1="0" y2="%d"/>`, x, x, height)
	}
	m.WriteString("</g>")
}

// splitLegend appends the parts with their figures.
func (m *markup) splitLegend(p *Printer, c Chart, parts []Part, total int64) {
	m.WriteString(`<ul class="split-legend">`)
	for i, part := range parts {
		m.add(`<li><svg width="16" height="16" aria-hidden="true"><rect class="s%d" width="16" height="16" rx="3"/>`, i%4)
		if k := i % 4; k > 0 {
			m.add(`<rect fill="url(#%v-p%d)" width="16" height="16"/>`, c.ID, k)
		}
		m.add(`</svg><bdi>%v</bdi><b>%v</b><span>%v</span></li>`, part.Label, c.Format(part.Value), p.share(part.Value, total))
	}
	m.WriteString("</ul>")
}

// share returns a part of a total as a percentage.
func (p *Printer) share(v, total int64) string {
	if total <= 0 {
		return p.Percent(0)
	}
	return p.Percent(float64(max(0, v)) / float64(total))
}
