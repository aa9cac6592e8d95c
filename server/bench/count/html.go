package main

import (
	"html"
	"regexp"
	"strconv"
	"strings"
)

// page is what a page of the dashboard shows, as far as it is figures.
type page struct {
	tiles  []tile
	tables map[string][][]string // by the id of the chart, else by the caption
	facts  []string              // the values of lists of facts, in their order
	parts  []page                // sections with a name
}

// tile is a figure with its label.
type tile struct{ label, value, note, change string }

var (
	tileHTML   = regexp.MustCompile(`(?s)<p class="tile-label">(.*?)</p><p class="tile-value">(.*?)</p>(?:<p class="tile-note">(.*?)</p>)?`)
	changeHTML = regexp.MustCompile(`(?s)<b class="change[^"]*">(.*?)</b>`)
	tableHTML  = regexp.MustCompile(`(?s)<figure class="chart [^"]*" id="([^"]*)"|<table.*?</table>`)
	captHTML   = regexp.MustCompile(`(?s)<caption[^>]*>(.*?)</caption>`)
	rowHTML    = regexp.MustCompile(`(?s)<tr>(.*?)</tr>`)
	cellHTML   = regexp.MustCompile(`(?s)<t[hd][^>]*>(.*?)</t[hd]>`)
	factHTML   = regexp.MustCompile(`(?s)<dd>(.*?)(?:<small>.*?)?</dd>`)
	tagHTML    = regexp.MustCompile(`<[^>]*>`)
)

// words returns the text of a piece of HTML.
func words(piece string) string {
	return strings.TrimSpace(html.UnescapeString(tagHTML.ReplaceAllString(piece, "")))
}

// parsePage reads the figures of a page.
func parsePage(text string) (p page) {
	main := text
	if _, rest, ok := strings.Cut(text, "<main"); ok {
		main = rest
	}
	p = parsePart(main)
	for i, part := range strings.Split(main, `<section class="stack" aria-label="`) {
		if i > 0 {
			p.parts = append(p.parts, parsePart(part))
		}
	}
	return p
}

func parsePart(text string) page {
	p := page{tables: map[string][][]string{}}
	for _, m := range tileHTML.FindAllStringSubmatch(text, -1) {
		t := tile{label: words(m[1]), value: words(m[2])}
		if c := changeHTML.FindStringSubmatch(m[3]); c != nil {
			t.change = words(c[1])
		}
		t.note = words(changeHTML.ReplaceAllString(m[3], ""))
		p.tiles = append(p.tiles, t)
	}
	id := ""
	for _, m := range tableHTML.FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			id = m[1]
			continue
		}
		name := id
		if id == "" {
			if c := captHTML.FindStringSubmatch(m[0]); c != nil {
				name = words(c[1])
			}
		}
		id = ""
		var rows [][]string
		for _, tr := range rowHTML.FindAllStringSubmatch(m[0], -1) {
			var cells []string
			for _, c := range cellHTML.FindAllStringSubmatch(tr[1], -1) {
				cells = append(cells, words(c[1]))
			}
			rows = append(rows, cells)
		}
		p.tables[name] = rows
	}
	for _, m := range factHTML.FindAllStringSubmatch(text, -1) {
		p.facts = append(p.facts, words(m[1]))
	}
	return p
}

// number returns a number or an amount as pages write it in English, amounts in cents. ok is false for a
// dash or another text without digits.
func number(text string) (n int64, ok bool) {
	negative := strings.ContainsAny(text, "−-")
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
	n, err := strconv.ParseInt(digits, 10, 64)
	if negative {
		n = -n
	}
	return n, err == nil
}
