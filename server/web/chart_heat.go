package web

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Heatmaps show a figure by the size of a square and by its colour, in five levels, so
// that they can be read without colours.
const levels = 5

// sizes are the widths of the squares by level, as parts of a cell.
var sizes = [levels]float64{0.18, 0.42, 0.6, 0.78, 0.94}

// level returns the level of a figure: 0 only for nothing, 4 for the upper quarter.
func level(v, highest int64) int {
	if v <= 0 || highest <= 0 {
		return 0
	}
	return int((v*(levels-1) + highest - 1) / highest)
}

// cells are the squares of a heatmap, as paths by level on a grid of cells of ten by ten.
type cells [levels]strings.Builder

func (c *cells) add(column, row int, level int) {
	side := sizes[level] * 10
	gap := (10 - side) / 2
	fmt.Fprintf(
		&c[level],
		"M%v %vh%vv%vH%vz",
		decimals(float64(column)*10+gap),
		decimals(float64(row)*10+gap),
		decimals(side),
		decimals(side),
		decimals(float64(column)*10+gap),
	)
}

// cells appends the squares in a stretched svg element.
func (m *markup) cells(c *cells, y, height, columns, rows int) {
	m.add(`<svg y="%d" width="100%%" height="%d" viewBox="0 0 %d %d" preserveAspectRatio="none">`, y, height, columns*10, rows*10)
	for i := range c {
		if c[i].Len() > 0 {
			m.add(`<path class="h%d" d="%v"/>`, i, c[i].String())
		}
	}
	m.WriteString("</svg>")
}

// heatLegend appends the range of each level.
func (m *markup) heatLegend(c Chart, highest int64) {
	m.WriteString(`<ul class="legend">`)
	low := int64(1)
	for i := range levels {
		text := c.Format(0)
		if i > 0 {
			high := highest * int64(i) / (levels - 1)
			if high < low {
				continue
			}
			text = c.Format(low)
			if high > low {
				text += "–" + c.Format(high)
			}
			low = high + 1
		}
		side := sizes[i] * 14
		m.add(
			`<li><svg width="14" height="14" aria-hidden="true"><rect class="h%d" x="%v" y="%v" width="%v" height="%v"/></svg>%v</li>`,
			i,
			7-side/2,
			7-side/2,
			side,
			side,
			text,
		)
	}
	m.WriteString("</ul>")
}

// weekdayLabels appends a column with the weekdays from Monday, each every-th of them.
func (m *markup) weekdayLabels(p *Printer, top, rowHeight, height, every int) {
	width := 0
	for d := range time.Weekday(7) {
		width = max(width, len([]rune(p.ShortWeekday(d))))
	}
	m.add(`<svg width="%d" height="%d" aria-hidden="true">`, width*charWidth+8, height)
	for row := 0; row < 7; row += every {
		m.add(`<text x="0" y="%d">%v</text>`, top+row*rowHeight+rowHeight/2+4, p.ShortWeekday(weekday(row)))
	}
	m.WriteString("</svg>")
}

// weekday returns the weekday of a row: rows begin with Monday.
func weekday(row int) time.Weekday { return time.Weekday((row + 1) % 7) }

// Heatmap draws figures by weekday, from Sunday, and hour.
func Heatmap(p *Printer, c Chart, counts [7][24]int64) template.HTML {
	const row, height = 22, 7*22 + 24
	c = c.defaults(p)
	best, bestDay, bestHour := int64(0), time.Weekday(0), 0
	for day := range counts {
		for hour, v := range counts[day] {
			if v > best {
				best, bestDay, bestHour = v, time.Weekday(day), hour
			}
		}
	}
	if c.Desc == "" && best > 0 {
		c.Desc = p.T("Highest: {0} ({1}).", c.Format(best), p.Weekday(bestDay)+" "+hours(bestHour))
	}
	var m markup
	m.open(c, "heat")
	m.WriteString(`<div class="plot">`)
	m.weekdayLabels(p, 0, row, height, 1)
	m.image(c, "", height)
	var squares cells
	for r := range 7 {
		for hour, v := range counts[weekday(r)] {
			squares.add(hour, r, level(v, best))
		}
	}
	m.cells(&squares, 0, 7*row, 24, 7)
	for hour := 0; hour < 24; hour += 6 {
		m.add(`<text x="%v%%" y="%d">%02d:00</text>`, float64(hour)/24*100, 7*row+18, hour)
	}
	m.WriteString("</svg></div>")
	m.heatLegend(c, best)
	head := []string{p.T("Hour")}
	for r := range 7 {
		head = append(head, p.ShortWeekday(weekday(r)))
	}
	var rows [][]string
	for hour := range 24 {
		cells := []string{hours(hour)}
		for r := range 7 {
			cells = append(cells, c.Format(counts[weekday(r)][hour]))
		}
		rows = append(rows, cells)
	}
	m.table(p, c, head, rows)
	return template.HTML(m.String())
}

// hours returns the range of an hour, such as 09–10.
func hours(hour int) string { return fmt.Sprintf("%02d–%02d", hour, hour+1) }

// YearHeatmap draws figures of consecutive days, from first. Its two halves are beside
// each other on wide screens and above each other on phones.
func YearHeatmap(p *Printer, c Chart, first time.Time, counts []int64) template.HTML {
	c = c.defaults(p)
	top := largest(counts)
	if c.Desc == "" && top > 0 {
		day := first.AddDate(0, 0, slices.Index(counts, top))
		c.Desc = p.T("Highest: {0} ({1}). Total: {2}.", c.Format(top), p.Date(day), c.Format(sum(counts)))
	}
	var m markup
	m.open(c, "year")
	m.WriteString(`<div class="halves">`)
	// The first column is the week of the first day.
	offset := int(first.Weekday()+6) % 7
	weeks := (offset + len(counts) + 6) / 7
	half := max(1, (weeks+1)/2)
	for from := 0; from < weeks; from += half {
		m.yearHalf(p, c, first, counts, top, offset, from, half)
	}
	m.WriteString("</div>")
	m.heatLegend(c, top)
	m.yearTable(p, c, first, counts)
	return template.HTML(m.String())
}

// yearHalf draws the weeks of one half.
func (m *markup) yearHalf(p *Printer, c Chart, first time.Time, counts []int64, top int64, offset, from, half int) {
	const row, above = 14, 20
	m.WriteString(`<div class="plot">`)
	m.weekdayLabels(p, above, row, above+7*row, 2)
	m.image(c, strconv.Itoa(from), above+7*row)
	var squares cells
	lastLabel := -3 // labels need three columns
	for day := max(0, from*7-offset); day < len(counts) && (day+offset)/7 < from+half; day++ {
		column := (day+offset)/7 - from
		squares.add(column, (day+offset)%7, level(counts[day], top))
		if date := first.AddDate(0, 0, day); date.Day() == 1 && column-lastLabel >= 3 && column < half-1 {
			m.add(`<text x="%v%%" y="12">%v</text>`, float64(column)/float64(half)*100, p.ShortMonth(date.Month()))
			lastLabel = column
		}
	}
	m.cells(&squares, above, 7*row, half, 7)
	m.WriteString("</svg></div>")
}

// yearTable appends a table with a column for each month and a row for each day of it.
func (m *markup) yearTable(p *Printer, c Chart, first time.Time, counts []int64) {
	head := []string{p.T("Day")}
	columns := map[string]int{}
	rows := make([][]string, 31)
	for i := range rows {
		rows[i] = []string{strconv.Itoa(i + 1)}
	}
	for i, v := range counts {
		date := first.AddDate(0, 0, i)
		month := date.Format("2006-01")
		if columns[month] == 0 {
			columns[month] = len(head)
			head = append(head, p.ShortMonth(date.Month()))
		}
		row := rows[date.Day()-1]
		for len(row) <= columns[month] {
			row = append(row, "")
		}
		row[columns[month]] = c.Format(v)
		rows[date.Day()-1] = row
	}
	for i := range rows {
		for len(rows[i]) < len(head) {
			rows[i] = append(rows[i], "")
		}
	}
	m.table(p, c, head, rows)
}
