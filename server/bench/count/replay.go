package main

import (
	"slices"
	"strings"
	"time"
)

// replay applies what happened in a shop, in the order in which it happened, so that the state of
// each card is known at any time.
type replay struct {
	*export
	r                     *report
	chains                map[string]*chain
	list                  []*chain // by time of creation
	created               int      // how many of list exist yet
	events                []happening
	next                  int // of events
	facts                 []fact
	last                  *sums // counted last, with the state of then
	lastNext, lastCreated int
	published             map[string]bool // programs
	suspended             map[string]bool
	deleted               map[string]bool
	open                  map[string]bool // locations
	places                map[string]string
}

// happening is a row of the ledger or of the audit log.
type happening struct {
	at    time.Time
	row   *row
	audit *audit
}

func newReplay(x *export, r *report) *replay {
	p := &replay{
		export: x, r: r, chains: map[string]*chain{}, published: map[string]bool{}, suspended: map[string]bool{},
		deleted: map[string]bool{}, open: map[string]bool{}, places: map[string]string{},
	}
	for _, t := range x.rows {
		if t.Device != nil {
			p.places[*t.Device] = t.Location
		}
	}
	for _, a := range x.answers {
		if strings.HasPrefix(a.Subject, "crd_") && x.chainOf[a.Subject] == "" {
			x.chainOf[a.Subject] = a.Card
		}
	}
	p.addChains()
	// The audit log tells the order of rows and other changes of one instant.
	flushed := 0
	flush := func(until func(*row) bool) {
		for ; flushed < len(x.rows) && until(x.rows[flushed]); flushed++ {
			p.events = append(p.events, happening{at: x.rows[flushed].Created, row: x.rows[flushed]})
		}
	}
	for i := range x.audit {
		a := &x.audit[i]
		if strings.HasPrefix(a.Action, "transaction.") {
			if a.Target != nil && x.rowByID[*a.Target] != nil {
				place := x.rowByID[*a.Target].place
				flush(func(t *row) bool { return t.place <= place })
			}
			continue
		}
		flush(func(t *row) bool { return t.Created.Before(a.At) })
		p.events = append(p.events, happening{at: a.At, audit: a})
	}
	flush(func(*row) bool { return true })
	return p
}

// addChains adds the chains of the export, and those that were erased: of these the answers, the
// audit log and the ledger tell.
func (p *replay) addChains() {
	add := func(c *chain) {
		if p.chains[c.id] == nil && c.program != nil {
			first := &instance{id: c.id, stamps: c.opening, cents: c.initial, claims: map[int64]string{}}
			c.instances = []*instance{first}
			p.chains[c.id], p.list = c, append(p.list, c)
		}
	}
	for _, e := range p.cards {
		c := &chain{id: e.ID, program: p.programs[e.Program], card: e, created: e.Created, source: e.Source,
			opening: e.Opening, initial: cents(e.Initial), platform: value(e.Platform)}
		if e.Source == "counter" && e.First != nil {
			c.first = *e.First
		}
		add(c)
	}
	sources := map[string]string{"till": "counter", "rest": "api", "mcp": "api", "enrol": "web_enrollment", "import": "import"}
	for _, a := range p.answers {
		if a.Issued != nil && p.programs[a.Issued.Program] != nil {
			c := &chain{id: a.Issued.ID, program: p.programs[a.Issued.Program], created: a.At, source: sources[a.Face]}
			if a.Issued.Stamps != nil {
				c.opening = *a.Issued.Stamps
			}
			switch {
			case a.Issued.Value != nil:
				c.initial = *a.Issued.Value
			case a.Face != "import":
				c.initial = cents(c.program.Initial)
			}
			add(c)
			if c = p.chains[a.Issued.ID]; c.answer == nil {
				c.answer = a.Issued
				p.addImported(c)
			}
		}
	}
	for _, t := range p.rows {
		if p.chains[t.Chain] == nil {
			add(&chain{id: t.Chain, program: p.programs[t.Program], created: t.Created})
		}
	}
	for i := range p.audit {
		a := &p.audit[i]
		if a.Target == nil || a.Action != "card.issue" || p.chains[*a.Target] == nil {
			continue
		}
		c := p.chains[*a.Target]
		c.created = a.At
		if c.card == nil && a.ActorType == "device" && a.Actor != nil && c.source == "counter" {
			c.first = p.places[*a.Actor]
		}
	}
	p.addExpiries()
	slices.SortStableFunc(p.list, func(a, b *chain) int { return a.created.Compare(b.created) })
}

// addExpiries adds the ends of validity with which cards begin, and those that answers say. Of an import, and
// of a shop that nobody watched, there is the last one only.
func (p *replay) addExpiries() {
	said := map[*chain]bool{}
	for _, a := range p.answers {
		c := p.chains[a.Card]
		if c == nil {
			c = p.chains[p.chainOf[a.Card]]
		}
		if c == nil || len(a.Expires) == 0 {
			continue
		}
		e := expiry{from: a.At}
		if t, err := time.Parse(`"`+time.RFC3339+`"`, string(a.Expires)); err == nil {
			e.end = &t
		}
		if a.Issued != nil {
			e.from = c.created
		} else if len(c.expiries) == 0 && c.source != "import" {
			c.expiries = append(c.expiries, expiry{c.created, c.program.expiry(c.created)})
		}
		c.expiries, said[c] = append(c.expiries, e), true
	}
	for _, c := range p.list {
		switch {
		case said[c]:
		case c.card != nil && (c.source == "import" || !p.shop.Watched):
			c.expiries = []expiry{{c.created, c.card.Expires}}
		default:
			c.expiries = []expiry{{c.created, c.program.expiry(c.created)}}
		}
	}
}

// addImported adds what the answer of an import says and the export does not: an overflow card, and
// the thresholds that were redeemed before.
func (p *replay) addImported(c *chain) {
	first := c.instances[0]
	for _, t := range c.answer.Claimed {
		first.claims[t] = ""
	}
	if c.source != "import" || c.answer.Stamps == nil || c.program.Total == nil || *c.answer.Stamps <= *c.program.Total {
		return
	}
	first.stamps = *c.program.Total
	c.instances = append(c.instances, &instance{child: true, stamps: *c.answer.Stamps - *c.program.Total, claims: map[int64]string{}})
	c.archiveCompleted(c.created)
}

// until applies all that happened up to and with a time.
func (p *replay) until(at time.Time) {
	for ; p.next < len(p.events) && !p.events[p.next].at.After(at); p.next++ {
		e := p.events[p.next]
		p.createUntil(e.at)
		if e.row != nil {
			p.applyRow(e.row)
		} else {
			p.applyAudit(e.audit)
		}
	}
	p.createUntil(at)
}

// createUntil makes the cards that exist at a time.
func (p *replay) createUntil(at time.Time) {
	for ; p.created < len(p.list) && !p.list[p.created].created.After(at); p.created++ {
		c := p.list[p.created]
		c.active = c.source == "counter"
		p.fact(c, c.instances[0], fact{event: "card.added", at: c.created, location: c.first, optional: c.source == "import"})
	}
}

// applyRow applies a row of the ledger.
func (p *replay) applyRow(t *row) {
	c := p.chains[t.Chain]
	if c == nil {
		p.r.differ("ledger rows", "%s: its card %s is of no program", t.ID, t.Chain)
		return
	}
	in, isNew := c.instance(t.Instance)
	if t.presented() {
		if c.presented == "" {
			c.presented = t.Location
		}
		c.lastVisit, c.lastVisitIn = t.Created, p.zoneAt(t.Created)
		p.activate(c, t.Created, isNew)
	}
	if isNew {
		p.fact(c, in, fact{event: "card.added", at: t.Created, location: t.Location})
	}
	was := c.live()
	var of *row
	if t.Reverses != nil {
		of = p.rowByID[*t.Reverses]
	}
	if broken := c.apply(in, t, of); broken != "" && !c.erased {
		p.r.differ("ledger rows", "%s (%s of card %s): %s", t.ID, t.Type, t.Chain, broken)
	}
	p.rowFacts(c, in, t, of)
	for _, i := range was {
		if !i.archived.IsZero() {
			p.fact(c, i, fact{event: "card.archived", at: t.Created})
		}
	}
}

// activate makes a chain active that was invited: by an installation, or by its presentation, which may
// have made its last instance.
func (p *replay) activate(c *chain, at time.Time, isNew bool) {
	if c.active {
		return
	}
	c.active = true
	live := c.live()
	if isNew {
		live = live[:len(live)-1]
	}
	for _, in := range live {
		p.fact(c, in, fact{event: "card.activated", at: at})
	}
}

// applyAudit applies a change that is no row of the ledger.
func (p *replay) applyAudit(a *audit) {
	if a.Target == nil {
		return
	}
	id := *a.Target
	switch a.Action {
	case "program.publish":
		p.published[id] = true
	case "program.unpublish":
		p.published[id] = false
	case "program.suspend", "program.unsuspend":
		p.suspended[id] = a.Action == "program.suspend"
	case "program.delete":
		p.deleted[id] = true
		for _, c := range p.list[:p.created] {
			if c.program.ID == id && !c.erased {
				p.archive(c, a.At)
			}
		}
	case "location.create", "location.enable", "location.disable":
		p.open[id] = a.Action != "location.disable"
	default:
		c := p.chains[id]
		if c == nil {
			c = p.chains[p.chainOf[id]]
		}
		if c != nil {
			p.applyToCard(c, a)
		}
	}
}

// applyToCard applies a change of a card.
func (p *replay) applyToCard(c *chain, a *audit) {
	switch a.Action {
	case "card.install":
		p.activate(c, a.At, false)
		c.installed = true
	case "card.reissue":
		if until := c.validUntil(a.At); until != nil && !until.After(a.At) && p.shop.Watched {
			renewed := expiry{a.At, c.program.expiry(a.At)}
			i := slices.IndexFunc(c.expiries, func(e expiry) bool { return !e.from.Before(a.At) })
			if i < 0 {
				i = len(c.expiries)
			}
			c.expiries = slices.Insert(c.expiries, i, renewed)
		}
		c.active, c.installed, c.locked, c.reissued = false, false, false, true
		for _, in := range c.live() {
			p.fact(c, in, fact{event: "card.reissued", at: a.At})
		}
	case "card.lock", "card.unlock":
		c.locked = a.Action == "card.lock"
	case "card.archive":
		p.archive(c, a.At)
	case "card.delete":
		for _, in := range c.instances {
			p.fact(c, in, fact{event: "card.deleted", at: a.At})
			if in.archived.IsZero() {
				in.archived = a.At
			}
		}
		c.erased = true
	}
}

func (p *replay) archive(c *chain, at time.Time) {
	for _, in := range c.live() {
		in.archived = at
		p.fact(c, in, fact{event: "card.archived", at: at})
	}
}
