package web

import (
	"cmp"
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

// Chart is what all charts have in common.
type Chart struct {
	ID     string             // unique in the page: letters, digits and hyphens
	Title  string             // translated; the heading of the chart
	Desc   string             // translated sentence; empty: one is made from the figures
	Key    string             // translated heading of the column of labels in the table
	Value  string             // translated heading of the column of figures
	Format func(int64) string // of figures; nil: Printer.Number
	Axis   func(int64) string // of figures at the axis; nil: Format
	Bare   bool               // no heading, since the page has one; the title is still read out
}

// Point is a figure of a bar chart.
type Point struct {
	Label string // short, at the axis, such as 22 Nov
	Long  string // in the table and the tooltip; empty: Label
	Value int64  // drawn as zero if it is negative
}

// Series is a line of a line chart.
type Series struct {
	Name   string // translated, such as "This month"
	Values []int64
}

// Part is a part of a split bar.
type Part struct {
	Label string
	Value int64
}

// Charts scale with the page but their texts do not: horizontal positions are
// percentages, vertical ones are pixels. Shapes that cannot be given in percentages are
// in an inner svg element that is stretched. The height is fixed, so nothing moves
// while the page loads.
const (
	plotTop    = 10  // of the highest line of the grid
	plotHeight = 160 // from there to the line of zero
	plotBottom = plotTop + plotHeight
	charWidth  = 7   // of the widest digit at 12 pixels
	maxLabels  = 7   // at the horizontal axis; if there are more, phones show every second
	maxTips    = 100 // points that have tooltips; more would make the page heavy
)

// markup builds HTML.
type markup struct{ strings.Builder }

// add appends text whose arguments are escaped. Numbers with decimals have two at most.
func (m *markup) add(format string, args ...any) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			args[i] = template.HTMLEscapeString(arg)
		case float64:
			args[i] = decimals(arg)
		}
	}
	fmt.Fprintf(m, format, args...)
}

// decimals returns a number in the shortest form with at most two decimals.
func decimals(x float64) string {
	s := strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 2, 64), "0"), ".")
	return strings.TrimSuffix(s, "-0")
}

// defaults returns a chart whose functions are set.
func (c Chart) defaults(p *Printer) Chart {
	if c.Format == nil {
		c.Format = p.Number
	}
	if c.Axis == nil {
		c.Axis = c.Format
	}
	c.Value = cmp.Or(c.Value, c.Title)
	return c
}

// open appends the start of the figure, with its heading.
func (m *markup) open(c Chart, class string) {
	m.add(`<figure class="chart %v" id="%v" aria-label="%v">`, class, c.ID, c.Title)
	if !c.Bare {
		m.add(`<div class="chart-head"><h2>%v</h2><p>%v</p></div>`, c.Title, c.Desc)
	}
}

// image appends the start of an svg element that screen readers read as one image.
// part distinguishes the images of a figure.
func (m *markup) image(c Chart, part string, height int) {
	id := c.ID + part
	m.add(
		`<svg class="main" width="100%%" height="%d" role="img" aria-labelledby="%v-t" aria-describedby="%v-d"><title `+
			`id="%v-t">%v</title><desc id="%v-d">%v</desc>`,
		height,
		id,
		id,
		id,
		c.Title,
		id,
		c.Desc,
	)
}

// table appends the figures as a table, and the end of the figure.
func (m *markup) table(p *Printer, c Chart, head []string, rows [][]string) {
	m.add(
		`<details class="figures"><summary>%v</summary><div class="scroll" tabindex="0" role="region" aria-label="%v"><table>`+
			`<caption class="vh">%v</caption><thead><tr>`,
		p.T("Show the figures"),
		c.Title,
		c.Title,
	)
	for i, h := range head {
		m.add(`<th scope="col"%v>%v</th>`, numeric(i), h)
	}
	m.WriteString("</tr></thead><tbody>")
	for _, row := range rows {
		m.add(`<tr><th scope="row">%v</th>`, row[0])
		for _, cell := range row[1:] {
			m.add(`<td>%v</td>`, cell)
		}
		m.WriteString("</tr>")
	}
	m.WriteString("</tbody></table></div></details></figure>")
}

func numeric(column int) template.HTML {
	if column == 0 {
		return ""
	}
	return ` class="num"`
}

// axis is the vertical axis: a number of steps from zero.
type axis struct {
	step  int64
	steps int64
}

// newAxis returns the axis with at most four steps of one, two or five times a power of
// ten that reaches a figure.
func newAxis(highest int64) axis {
	for scale := int64(1); ; scale *= 10 {
		for _, step := range []int64{1, 2, 5} {
			step *= scale
			if steps := max(1, (highest+step-1)/step); steps <= 4 || scale > 1e16 {
				return axis{step, steps}
			}
		}
	}
}

func (a axis) top() int64 { return a.step * a.steps }

// height returns the height of a figure in pixels.
func (a axis) height(v int64) float64 {
	return float64(max(0, v)) / float64(a.top()) * plotHeight
}

// labels appends the vertical axis with its figures.
func (m *markup) labels(c Chart, a axis) {
	width := 0
	for i := range a.steps + 1 {
		width = max(width, len([]rune(c.Axis(i*a.step))))
	}
	x := width*charWidth + 2
	m.add(`<svg width="%d" height="%d" aria-hidden="true">`, x+8, plotBottom+26)
	for i := range a.steps + 1 {
		m.add(`<text x="%d" y="%v" text-anchor="end">%v</text>`, x, plotBottom-a.height(i*a.step)+4, c.Axis(i*a.step))
	}
	m.WriteString("</svg>")
}

// grid appends the horizontal lines.
func (m *markup) grid(a axis) {
	for i := range a.steps + 1 {
		class := "g"
		if i == 0 {
			class = "g0"
		}
		y := plotBottom - a.height(i*a.step)
		m.add(`<line class="%v" x1="0" x2="100%%" y1="%v" y2="%v"/>`, class, y, y)
	}
}

// ticks appends the labels of the horizontal axis: all if they fit, else every nth.
func (m *markup) ticks(labels []string) {
	every := max(1, (len(labels)+maxLabels-1)/maxLabels)
	for i := 0; i < len(labels); i += every {
		class := ""
		if every > 1 && i/every%2 == 1 {
			class = "alt"
		}
		m.add(`<text class="%v" x="%v%%" y="%d" text-anchor="middle">%v</text>`, class, middle(i, len(labels)), plotBottom+20, labels[i])
	}
}

// middle returns the middle of the ith of n bands, in percent.
func middle(i, n int) float64 { return (float64(i) + 0.5) / float64(n) * 100 }

// noFigures appends a sentence in place of figures.
func (m *markup) noFigures(p *Printer) {
	m.add(`<text x="50%%" y="%d" text-anchor="middle">%v</text>`, plotTop+plotHeight/2+4, p.T("Nothing in this period"))
}

func sum(values []int64) (total int64) {
	for _, v := range values {
		total += v
	}
	return total
}

// largest returns the highest figure, or 0 if none is above zero.
func largest(values []int64) (best int64) {
	for _, v := range values {
		best = max(best, v)
	}
	return best
}
