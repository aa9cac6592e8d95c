package main

import "strings"

// reportSums are the sums of a part of a day's report.
type reportSums struct {
	rows, reversed, stamps, redemptions, uses, reversals, toppedUp, spent, cents int64
}

// add adds a row, of which reversed ones count as rows alone.
func (s *reportSums) add(t *row, reversed bool) {
	s.rows++
	if reversed {
		s.reversed++
		return
	}
	s.cents += t.cents
	switch t.Type {
	case "stamp":
		s.stamps += t.stamps()
	case "redemption":
		s.redemptions++
	case "discount", "access":
		s.uses++
	case "reversal":
		s.reversals++
	case "topup":
		s.toppedUp += t.cents
	case "spend":
		s.spent -= t.cents
	}
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
	var all reportSums
	groups := map[string]map[string]*reportSums{"By type": {}, "By till": {}, "By member of staff": {}, "By program": {}}
	stampsOf := map[string]int64{} // by type
	for _, t := range f.p.rows {
		if t.Created.After(f.At) || dayOf(t.given().In(f.zone)) != day || location != "" && t.Location != location {
			continue
		}
		reversed := t.Reversed != nil && !t.Reversed.After(f.At)
		all.add(t, reversed)
		staff := "Nobody signed in"
		if t.Staff != nil {
			staff = f.p.staff[*t.Staff]
		}
		for group, name := range map[string]string{"By type": t.Type, "By till": f.p.locations[t.Location].Name,
			"By member of staff": staff,
			"By program":         f.p.programs[t.Program].Name} {
			if groups[group][name] == nil {
				groups[group][name] = &reportSums{}
			}
			groups[group][name].add(t, reversed)
		}
		if !reversed {
			stampsOf[t.Type] += t.stamps()
		}
	}
	f.checkReportCards(p, day, location, all)
	f.checkReportTypes(p, groups["By type"], stampsOf, all)
	for _, group := range []string{"By till", "By member of staff", "By program"} {
		f.checkReportSums(p, group, groups[group])
	}
}

// checkReportCards compares the tiles of a report, and its money.
func (f *figures) checkReportCards(p page, day int, location string, all reportSums) {
	cards, begun, outstanding := int64(0), int64(0), int64(0)
	for _, c := range f.p.list[:f.p.created] {
		for _, in := range c.live() {
			outstanding += in.cents
		}
		if dayOf(c.created.In(f.zone)) != day || location != "" && c.first != location {
			continue
		}
		cards++
		if a := c.instances[0].archived; c.source != "import" && (a.IsZero() || dayOf(a.In(f.zone)) > day) {
			begun += c.initial
		}
	}
	f.checkTiles(p.tiles, []counted{
		{"Stamps", all.stamps, 0}, {"Redemptions", all.redemptions, 0}, {"New cards", cards, 0}, {"Reversals", all.reversals, 0},
	})
	if len(p.facts) == 3 {
		f.same("sold", p.facts[0], all.toppedUp+begun)
		f.same("spent", p.facts[1], all.spent)
		f.same("outstanding", p.facts[2], outstanding)
	}
}

// checkReportTypes compares the table by type, whose last row is the total.
func (f *figures) checkReportTypes(p page, by map[string]*reportSums, stampsOf map[string]int64, all reportSums) {
	rows := p.tables["By type"]
	if len(rows) == 0 {
		f.same("rows", "0", all.rows)
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
		f.same(kind, row[1], s.rows)
		f.same(kind+" reversed", row[2], s.reversed)
		switch amount := row[3]; {
		case strings.Contains(amount, " stamp") && !strings.Contains(amount, "·"):
			f.same(kind+" stamps", amount, stampsOf[kind])
		case strings.ContainsAny(amount, "0123456789") && !strings.Contains(amount, "·"):
			f.same(kind+" amount", amount, s.cents)
		}
	}
	equal(f.r, pageKind, f.where("types of rows"), len(rows)-2, next-1)
	f.same("rows", rows[len(rows)-1][1], all.rows)
	f.same("reversed rows", rows[len(rows)-1][2], all.reversed)
}

// checkReportSums compares a table of sums by name. The tills of a location count together, since no
// export names them.
func (f *figures) checkReportSums(p page, group string, by map[string]*reportSums) {
	rows := p.tables[group]
	if len(rows) == 0 {
		return
	}
	column := map[string]func(*reportSums) int64{
		"Actions": func(s *reportSums) int64 { return s.rows }, "Stamps": func(s *reportSums) int64 { return s.stamps },
		"Redemptions": func(s *reportSums) int64 { return s.redemptions }, "Uses": func(s *reportSums) int64 { return s.uses },
		"Topped up": func(s *reportSums) int64 { return s.toppedUp }, "Spent": func(s *reportSums) int64 { return s.spent },
		"Reversals": func(s *reportSums) int64 { return s.reversals },
	}
	for i, head := range rows[0] {
		of := column[head]
		if of == nil {
			continue
		}
		said := map[string]int64{}
		for _, row := range rows[1:] {
			name, _, _ := strings.Cut(row[0], " · ")
			n, _ := number(row[i])
			said[name] += n
		}
		for name, s := range by {
			equal(f.r, pageKind, f.where(group+" "+name+" "+head), said[name], of(s))
			delete(said, name)
		}
		for name, n := range said {
			if n != 0 {
				f.r.differ(pageKind, "%s: said %d, counted none", f.where(group+" "+name+" "+head), n)
			}
		}
	}
}
