package main

import "time"

// checkAnswers compares the ledger and the cards with what was answered: what was answered is there
// once, and nothing else is, but for what a rule explains.
func (x *export) checkAnswers(r *report) {
	const kind = "answered rows in the ledger"
	seen := map[string]bool{}
	merges := map[time.Time]bool{}
	for _, a := range x.answers {
		if a.Kind == "merge" || a.Kind == "adjust" {
			merges[a.At] = true
		}
		if a.At.After(x.at) {
			continue
		}
		for _, said := range a.Rows {
			r.count(kind, 1)
			t := x.rowByID[said.ID]
			switch {
			case t == nil:
				r.differ(kind, "%s (%s of card %s, answered by %s at %s) is missing", said.ID, said.Type, said.Card, a.Face,
					a.At.Format(stamp))
			default:
				x.compare(r, &a, &said, t)
			}
			seen[said.ID] = true
		}
		if a.Reverses != nil && len(a.Rows) > 0 {
			if t := x.rowByID[a.Rows[0].ID]; t != nil && value(t.Reverses) != *a.Reverses {
				r.differ(kind, "%s: said to reverse %s, reverses %s", t.ID, *a.Reverses, value(t.Reverses))
			}
		}
	}
	ids := map[string]bool{}
	for _, t := range x.rows {
		r.count("rows of the ledger", 1)
		if ids[t.ID] {
			r.differ("rows of the ledger", "%s is there twice", t.ID)
		}
		ids[t.ID] = true
		explained := seen[t.ID] || t.Type == "expiry" || t.Type == "adjustment" && merges[t.Created]
		if x.shop.Watched && !explained {
			r.differ("rows of the ledger", "%s (%s of card %s, %s) was never answered", t.ID, t.Type, t.Chain, t.Created.Format(stamp))
		}
	}
	x.checkIssued(r)
}

// compare compares an answered row with that of the ledger.
func (x *export) compare(r *report, a *answer, said *answered, t *row) {
	const kind = "answered rows in the ledger"
	differ := func(what string, said, is any) {
		if said != is {
			r.differ(kind, "%s: %s: answered %v, the ledger has %v", t.ID, what, said, is)
		}
	}
	differ("card", said.Card, t.Instance)
	differ("program", said.Program, t.Program)
	differ("type", said.Type, t.Type)
	differ("location", said.Location, t.Location)
	differ("stamps", value(said.Stamps), t.stamps())
	differ("value", value(said.Value), t.cents)
	differ("prize", value(said.Prize), value(t.Prize))
	if !said.Created.Equal(t.Created) {
		differ("created_at", said.Created.Format(stamp), t.Created.Format(stamp))
	}
	if a.Occurred != nil && !a.Occurred.Equal(t.given()) {
		differ("occurred_at", a.Occurred.Format(stamp), t.given().Format(stamp))
	}
}

// checkIssued compares the cards with those that were answered as issued.
func (x *export) checkIssued(r *report) {
	const kind = "cards as issued"
	issues, gone := map[string]*answer{}, map[string]bool{}
	for i := range x.answers {
		switch a := &x.answers[i]; {
		case a.Issued != nil && issues[a.Issued.ID] == nil:
			issues[a.Issued.ID] = a
		case a.Kind == "erase":
			gone[a.Card] = true
		}
	}
	for i := range x.audit {
		if a := &x.audit[i]; a.Action == "card.delete" && a.Target != nil {
			gone[*a.Target] = true
		}
	}
	cards := map[string]*exportedCard{}
	for _, c := range x.cards {
		r.count(kind, 1)
		if cards[c.ID] != nil {
			r.differ(kind, "%s is there twice", c.ID)
		}
		cards[c.ID] = c
		a := issues[c.ID]
		if a == nil {
			if x.shop.Watched {
				r.differ(kind, "%s (%s, %s) was never answered", c.ID, c.Source, c.Created.Format(stamp))
			}
			continue
		}
		if c.Program != a.Issued.Program {
			r.differ(kind, "%s: program: answered %s, the export has %s", c.ID, a.Issued.Program, c.Program)
		}
		if p := x.programs[c.Program]; a.Issued.Stamps != nil && p != nil && p.collectsStamps() {
			most := *a.Issued.Stamps
			if c.Source == "import" && p.Total != nil {
				most = min(most, *p.Total) // the rest is on an overflow card
			}
			equal(r, kind, c.ID+": opening stamps", c.Opening, most)
		}
		if a.Issued.Value != nil {
			equal(r, kind, c.ID+": initial balance", cents(c.Initial), *a.Issued.Value)
		}
	}
	for id, a := range issues {
		if cards[id] == nil && !gone[id] && !a.At.After(x.at) {
			r.differ(kind, "%s (issued by %s at %s) is missing", id, a.Face, a.At.Format(stamp))
		}
	}
}
