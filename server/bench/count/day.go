package main

import "strings"

// addReported adds a row to the sums of a report, of which reversed ones count as rows alone.
func (d tally) addReported(t *row, reversed bool) {
	d["rows"]++
	if reversed {
		d["reversed"]++
		return
	}
	d["moved cents"] += t.cents
	d["moved stamps"] += t.stamps()
	if t.Type == "reversal" {
		d["reversals"]++
	}
	d.addRow(t)
}

// rowTypes are the types of rows, in the order of the report.
var rowTypes = []string{"stamp", "redemption", "topup", "spend", "discount", "access", "expiry", "reversal", "adjustment"}

// checkReport compares the report of a day, of a location or of all.
func (f *figures) checkReport(p page) {
	day, err := parseDate(f.q.Get("day"))
	if err != nil {
		day = f.today
	}
	location := f.q.Get("location_id")
	all := tally{}
	groups := map[string]map[string]tally{"By type": {}, "By till": {}, "By program": {}}
	for _, t := range f.p.rows {
		if t.Created.After(f.At) || dayOf(t.given().In(f.zone)) != day || location != "" && t.Location != location {
			continue
		}
		reversed := t.Reversed != nil && !t.Reversed.After(f.At)
		all.addReported(t, reversed)
		for group, name := range map[string]string{"By type": t.Type, "By till": f.p.locations[t.Location].Name,
			"By program": f.p.programs[t.Program].Name} {
			if groups[group][name] == nil {
				groups[group][name] = tally{}
			}
			groups[group][name].addReported(t, reversed)
		}
	}
	f.checkReportCards(p, day, location, all)
	f.checkReportTypes(p, groups["By type"], all)
	for _, group := range []string{"By till", "By program"} {
		f.checkReportSums(p, group, groups[group])
	}
}

// checkReportCards compares the tiles of a report, and its money.
func (f *figures) checkReportCards(p page, day int, location string, all tally) {
	begun, outstanding := int64(0), int64(0)
	for _, c := range f.p.list[:f.p.created] {
		for _, in := range c.live() {
			outstanding += in.cents
		}
		if dayOf(c.created.In(f.zone)) != day || location != "" && c.first != location {
			continue
		}
		all["new_cards"]++
		if a := c.instances[0].archived; c.source != "import" && (a.IsZero() || dayOf(a.In(f.zone)) > day) {
			begun += c.initial
		}
	}
	f.checkTiles(p.tiles, all, nil, "Stamps", "Redemptions", "New cards", "Reversals")
	if len(p.facts) == 3 {
		f.same("sold", p.facts[0], all["topped_up_cents"]+begun)
		f.same("spent", p.facts[1], all["spent_cents"])
		f.same("outstanding", p.facts[2], outstanding)
	}
}

// checkReportTypes compares the table by type, whose last row is the total.
func (f *figures) checkReportTypes(p page, by map[string]tally, all tally) {
	rows := p.tables["By type"]
	if len(rows) == 0 {
		f.same("rows", "0", all["rows"])
		return
	}
	next := 1
	for _, kind := range rowTypes {
		s := by[kind]
		if s == nil {
			continue
		}
		if next >= len(rows)-1 {
			f.r.differ(pageKind, "%s: no row", f.where("by type "+kind))
			return
		}
		row := rows[next]
		next++
		f.same(kind, row[1], s["rows"])
		f.same(kind+" reversed", row[2], s["reversed"])
		switch amount := row[3]; {
		case strings.Contains(amount, " stamp") && !strings.Contains(amount, "·"):
			f.same(kind+" stamps", amount, s["moved stamps"])
		case strings.ContainsAny(amount, "0123456789") && !strings.Contains(amount, "·"):
			f.same(kind+" amount", amount, s["moved cents"])
		}
	}
	equal(f.r, pageKind, f.where("types of rows"), len(rows)-2, next-1)
	f.same("rows", rows[len(rows)-1][1], all["rows"])
	f.same("reversed rows", rows[len(rows)-1][2], all["reversed"])
}

// checkReportSums compares a table of sums by name. The tills of a location count together, since no
// export names them.
func (f *figures) checkReportSums(p page, group string, by map[string]tally) {
	rows := p.tables[group]
	if len(rows) == 0 {
		return
	}
	for i, head := range rows[0] {
		sum := labels[head]
		if sum == "" {
			continue
		}
		said := map[string]int64{}
		for _, row := range rows[1:] {
			name, _, _ := strings.Cut(row[0], " · ")
			n, _ := number(row[i])
			said[name] += n
		}
		for name, s := range by {
			equal(f.r, pageKind, f.where(group+" "+name+" "+head), said[name], s[sum])
			delete(said, name)
		}
		for name, n := range said {
			if n != 0 {
				f.r.differ(pageKind, "%s: said %d, counted none", f.where(group+" "+name+" "+head), n)
			}
		}
	}
}
