package main

import (
	"slices"
	"time"
)

// fact is something that happened and that webhooks tell.
type fact struct {
	event    string
	at       time.Time
	chain    string
	instance string
	program  string
	location string // empty: it has none
	optional bool   // it need not be told
	row      *row   // of a ledger event
	of       *row   // that the row reverses
	stamps   int64  // on the instance after the row
	cents    int64
	other    []string // of a transaction.created: the other events of the row
}

// key names what a delivery is about.
func (f *fact) key() string {
	if f.row != nil {
		return f.event + " " + f.row.ID
	}
	return f.event + " " + f.instance
}

// fact adds a fact about an instance.
func (p *replay) fact(c *chain, in *instance, f fact) {
	if in.id == "" {
		f.optional = true // an import made it, and nothing says its id
	}
	f.chain, f.instance, f.program = c.id, in.id, c.program.ID
	p.facts = append(p.facts, f)
}

// rowFacts adds the facts that a row of the ledger is told by.
func (p *replay) rowFacts(c *chain, in *instance, t, of *row) {
	var names []string
	switch t.Type {
	case "stamp":
		names = []string{"stamp.assigned"}
	case "redemption":
		names = []string{"prize.redeemed"}
	case "access":
		names = []string{"card.used"}
	case "topup", "spend":
		names = []string{"value.changed"}
	case "adjustment":
		if t.hasCents {
			names = []string{"value.changed"}
		}
	case "reversal":
		names = []string{"transaction.reversed"}
		if of != nil && (of.Type == "topup" || of.Type == "spend") {
			names = append(names, "value.changed")
		}
	}
	f := fact{at: t.Created, location: t.Location, row: t, of: of, stamps: in.stamps, cents: in.cents}
	for _, f.event = range names {
		p.fact(c, in, f)
	}
	f.event, f.other = "transaction.created", names
	p.fact(c, in, f)
}

// takes reports whether a webhook subscribes to an event.
func (w receiver) takes(event string) bool {
	return slices.Contains(w.Events, event) || event != "transaction.created" && slices.Contains(w.Events, "*")
}

// wants reports whether a webhook is to be told a fact.
func (w receiver) wants(f *fact) bool {
	if !w.takes(f.event) {
		return false
	}
	for _, other := range f.other {
		if w.takes(other) {
			return false
		}
	}
	return w.Program == nil || *w.Program == f.program
}
