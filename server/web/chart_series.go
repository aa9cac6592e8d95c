package web

import (
	"cmp"
	"html/template"
	"slices"
	"strings"
)

// BarChart draws a bar for each point, such as a day.
func BarChart(p *Printer, c Chart, points []Point) template.HTML {
	c = c.defaults(p)
	values, labels := make([]int64, len(points)), make([]string, len(points))
	for i, point := range points {
		values[i], labels[i] = point.Value, point.Label
	}
	top := largest(values)
	if c.Desc == "" && top > 0 {
		best := points[slices.Index(values, top)]
		c.Desc = p.T("Highest: {0} ({1}). Total: {2}.", c.Format(top), best.name(), c.Format(sum(values)))
	}
	var m markup
	m.open(c, "bars")
	m.WriteString(`<div class="plot">`)
	a := newAxis(top)
	m.labels(c, a)
	m.image(c, "", plotBottom+26)
	m.grid(a)
	m.bars(c, a, points)
	m.ticks(labels)
	if top == 0 {
		m.noFigures(p)
	}
	m.WriteString("</svg></div>")
	rows := make([][]string, len(points))
	for i, point := range points {
		rows[i] = []string{point.name(), c.Format(point.Value)}
	}
	m.table(p, c, []string{c.Key, c.Value}, rows)
	return template.HTML(m.String())
}

// name returns the label of a point in the table.
func (pt Point) name() string { return cmp.Or(pt.Long, pt.Label) }

// bars appends the bars.
func (m *markup) bars(c Chart, a axis, points []Point) {
	share := 0.7 // of a band that a bar takes
	if len(points) <= 8 {
		share = 0.5
	}
	width := share / float64(len(points)) * 100
	for i, point := range points {
		if point.Value <= 0 {
			continue
		}
		height := max(1, a.height(point.Value))
		m.add(
			`<rect class="b" x="%v%%" y="%v" width="%v%%" height="%v" rx="2"`,
			middle(i, len(points))-width/2,
			plotBottom-height,
			width,
			height,
		)
		if len(points) <= maxTips {
			m.add(`><title>%v: %v</title></rect>`, point.name(), c.Format(point.Value))
		} else {
			m.WriteString("/>")
		}
	}
}

// LineChart draws two lines, such as a period and the one before it, which is dashed.
// labels and longs name the points of now; longs may be nil.
func LineChart(p *Printer, c Chart, labels, longs []string, now, before Series) template.HTML {
	c = c.defaults(p)
	if longs == nil {
		longs = labels
	}
	if c.Desc == "" {
		c.Desc = p.T("{0}: {1}. {2}: {3}.", now.Name, c.Format(sum(now.Values)), before.Name, c.Format(sum(before.Values)))
	}
	n := max(1, len(labels), len(now.Values), len(before.Values))
	a := newAxis(max(largest(now.Values), largest(before.Values)))
	var m markup
	m.open(c, "lines")
	m.lineLegend(c, now, before)
	m.WriteString(`<div class="plot">`)
	m.labels(c, a)
	m.image(c, "", plotBottom+26)
	m.grid(a)
	m.add(
		`<svg y="%d" width="100%%" height="%d" viewBox="0 0 1000 %d" preserveAspectRatio="none" overflow="visible">`,
		plotTop,
		plotHeight,
		plotHeight,
	)
	m.line("l2", a, n, before.Values)
	m.line("l", a, n, now.Values)
	m.WriteString("</svg>")
	if last := len(now.Values) - 1; last >= 0 {
		m.add(`<circle class="dot" cx="%v%%" cy="%v" r="4"/>`, middle(last, n), plotBottom-a.height(now.Values[last]))
	}
	m.tips(c, n, longs, now, before)
	m.ticks(labels)
	if sum(now.Values) == 0 && sum(before.Values) == 0 {
		m.noFigures(p)
	}
	m.WriteString("</svg></div>")
	var rows [][]string
	for i := range n {
		rows = append(rows, []string{at(longs, i), figure(c, now.Values, i), figure(c, before.Values, i)})
	}
	m.table(p, c, []string{c.Key, now.Name, before.Name}, rows)
	return template.HTML(m.String())
}

// lineLegend appends the names and the sums of two lines.
func (m *markup) lineLegend(c Chart, now, before Series) {
	m.WriteString(`<ul class="legend">`)
	for i, s := range []Series{now, before} {
		class := []string{"l", "l2"}[i]
		m.add(
			`<li><svg width="24" height="8" aria-hidden="true"><path class="%v" d="M1 4h22"/></svg>%v <b>%v</b></li>`,
			class,
			s.Name,
			c.Format(sum(s.Values)),
		)
	}
	m.WriteString("</ul>")
}

// line appends a line in the coordinates of the stretched svg element.
func (m *markup) line(class string, a axis, n int, values []int64) {
	if len(values) < 2 {
		return
	}
	m.add(`<path class="%v" vector-effect="non-scaling-stroke" d="M`, class)
	for i, v := range values {
		if i > 0 {
			m.WriteByte('L')
		}
		m.add("%v %v", middle(i, n)*10, plotHeight-a.height(v))
	}
	m.WriteString(`"/>`)
}

// tips appends a transparent band with a tooltip for each point.
func (m *markup) tips(c Chart, n int, longs []string, now, before Series) {
	if n > maxTips {
		return
	}
	for i := range n {
		text := at(longs, i)
		for _, s := range []Series{now, before} {
			if i < len(s.Values) {
				text += "\n" + s.Name + ": " + c.Format(s.Values[i])
			}
		}
		m.add(`<rect x="%v%%" y="%d" width="%v%%" height="%d" fill="transparent"><title>%v</title></rect>`,
			float64(i)/float64(n)*100, plotTop, 100/float64(n), plotHeight, strings.TrimPrefix(text, "\n"))
	}
}

func at(texts []string, i int) string {
	if i < len(texts) {
		return texts[i]
	}
	return ""
}

func figure(c Chart, values []int64, i int) string {
	if i < len(values) {
		return c.Format(values[i])
	}
	return ""
}
