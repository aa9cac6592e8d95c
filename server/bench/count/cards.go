package main

import (
	"strconv"
	"strings"
	"time"
)

// checkCards compares the cards of the export with the ledger.
func (p *replay) checkCards(r *report) {
	const kind = "cards"
	for _, c := range p.list {
		e := c.card
		if e == nil || c.created.After(p.at) {
			continue
		}
		live := c.live()
		first := c.instances[0]
		var stamps int64
		for i, in := range live {
			if i == 0 {
				first = in
			}
			stamps += in.stamps
		}
		equal(r, kind, c.id+": state", e.State, c.state(p.at))
		if len(live) > 0 {
			equal(r, "ends of validity", c.id, value(e.Expires).Format(stamp), value(c.validUntil(p.at)).Format(stamp))
		}
		claimed := ""
		if len(live) > 0 {
			claimed = first.claimed()
		}
		equal(r, "prizes claimed", c.id, value(e.Claimed), claimed)
		if len(live) > 1 {
			equal(r, "prizes claimed", c.id+": overflow", value(e.ClaimedNext), live[1].claimed())
		}
		if c.presented != "" && e.Source != "counter" {
			equal(r, kind, c.id+": first location", value(e.First), c.presented)
		}
		if !c.lastVisit.IsZero() && e.LastVisit != nil {
			p.checkLastVisit(r, c)
		}
		if len(live) == 0 {
			continue
		}
		equal(r, kind, c.id+": installed", e.Installed != nil, c.installed)
		equal(r, kind, c.id+": locked", e.Locked, c.locked)
		if c.program.collectsStamps() {
			equal(r, "stamps on cards", c.id, value(e.Stamps), stamps)
		}
		if c.program.Type == "prepaid" {
			equal(r, "balances", c.id, cents(e.Balance), first.cents)
		}
	}
	for _, t := range p.rows {
		if t.Reversed != nil {
			r.count("reversals", 1)
		}
	}
	p.checkReversed(r)
}

// checkLastVisit compares the day of a card's last visit, by the calendar of then or of now.
func (p *replay) checkLastVisit(r *report, c *chain) {
	then := c.lastVisit.In(c.lastVisitIn).Format(time.DateOnly)
	if now := c.lastVisit.In(p.zoneAt(p.at)).Format(time.DateOnly); now == *c.card.LastVisit {
		then = now
	}
	equal(r, "last visits", c.id, *c.card.LastVisit, then)
}

// checkReversed checks that each row that says that it was reversed has one reversal.
func (p *replay) checkReversed(r *report) {
	by := map[string]int{}
	for _, t := range p.rows {
		if t.Reverses != nil {
			by[*t.Reverses]++
		}
	}
	for _, t := range p.rows {
		want := 0
		if t.Reversed != nil {
			want = 1
		}
		if by[t.ID] != want {
			r.differ("reversals", "%s has %d reversals, and its reversed_at says %d", t.ID, by[t.ID], want)
		}
	}
}

// checkScreens compares what phones and open pages show with the newest state of their cards.
func (p *replay) checkScreens(r *report, y *year) {
	for _, s := range y.phones {
		p.checkScreen(r, "phones", s)
	}
	for _, s := range y.pages {
		p.checkScreen(r, "open pages", s)
	}
}

func (p *replay) checkScreen(r *report, kind string, s screen) {
	root := s.Card
	if id := p.chainOf[root]; id != "" {
		root = id
	}
	c := p.chains[root]
	if c == nil {
		return // of another shop, or of a card of which nothing is known
	}
	r.count(kind, 1)
	state := c.state(p.at)
	in := c.shown()
	ended := in == nil || state == "expired" || state == "locked"
	if s.Gone {
		if !ended && !c.reissued {
			r.differ(kind, "%s (%s): it is gone, but the card is %s", s.Card, s.Platform, state)
		}
		return
	}
	if in == nil {
		r.differ(kind, "%s (%s): it is there, but the card is %s", s.Card, s.Platform, state)
		return
	}
	if s.Platform != "" && state == "locked" { // an expiry by time alone is no change that a phone is told
		r.differ(kind, "%s (%s): its pass is not void, but the card is locked", s.Card, s.Platform)
	}
	if s.Stamps != nil {
		equal(r, kind, s.Card+": stamps", *s.Stamps, in.stamps)
	}
	if s.Cents != nil {
		equal(r, kind, s.Card+": balance", *s.Cents, in.cents)
	}
	for _, name := range []string{"count", "balance", "stamps"} {
		said, ok := s.Shows[name]
		switch {
		case !ok || said == "":
		case c.program.collectsStamps():
			count, _, _ := strings.Cut(said, "/")
			equal(r, kind, s.Card+": "+name, strings.TrimSpace(count), strconv.FormatInt(in.stamps, 10))
		case c.program.Type == "prepaid":
			n, _ := number(said)
			equal(r, kind, s.Card+": "+name, n, in.cents)
		}
	}
}
