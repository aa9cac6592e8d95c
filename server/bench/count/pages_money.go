package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"strings"
)

// checkMoney compares the page of the money of a month.
func (f *figures) checkMoney(p page) {
	b, err := f.moneyOf(f.q.Get("month"))
	if err != nil {
		f.r.differ(pageKind, "%s: %v", f.where(""), err)
		return
	}
	columns := func(what string, said []string, m moneySums) {
		for i, n := range m.columns() {
			if i < len(said) {
				f.same(fmt.Sprintf("%s column %d", what, i), said[i], n)
			}
		}
	}
	if len(p.tiles) == 0 {
		equal(f.r, pageKind, f.where("money on cards"), moneySums{}, sum(b.total))
		return
	}
	var said []string
	for _, t := range p.tiles {
		said = append(said, t.value)
	}
	columns("total", said, sum(b.total))
	if rows := p.tables["By day"]; len(rows) > 0 {
		equal(f.r, pageKind, f.where("days"), len(rows)-1, b.days)
		for i, row := range rows[1:] {
			columns(row[0], row[1:], sum(b.at[i]))
		}
	}
	byName := map[string]moneySums{}
	for l, m := range b.total {
		name := "At no location"
		if l != "" {
			name = f.p.locations[l].Name
		}
		s := byName[name]
		s.add(m)
		byName[name] = s
	}
	if rows := p.tables["By location"]; len(rows) > 0 {
		for _, row := range rows[1:] {
			columns(row[0], row[1:], byName[row[0]])
		}
	}
}

// checkMoneyTable compares the table of the money of a month, which has each day by location.
func (f *figures) checkMoneyTable(text string) {
	b, err := f.moneyOf(f.q.Get("month"))
	rows, bad := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || bad != nil || len(rows) == 0 {
		f.r.differ(pageKind, "%s: %v %v", f.where(""), err, bad)
		return
	}
	shown := 0
	for _, row := range rows[1:] {
		if len(row) != 11 {
			f.r.differ(pageKind, "%s: a row of %d cells", f.where(""), len(row))
			return
		}
		day, _ := parseDate(row[0])
		m := b.at[day-b.first][row[2]]
		if row[1] == "shop" {
			m, shown = sum(b.at[day-b.first]), shown+1
		}
		for i, n := range m.columns() {
			said, err := parse(row[4+i])
			if err != nil {
				said = math.MinInt64
			}
			equal(f.r, "figures of the money table", f.where(row[0]+" "+row[1]+" "+row[2]+" "+rows[0][4+i]), said, n)
		}
	}
	equal(f.r, "figures of the money table", f.where("days"), shown, b.days)
}
