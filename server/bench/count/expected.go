package main

import "fmt"

// expected is what a receiver is to be told of one thing.
type expected struct {
	facts    []*fact
	required int
	got      int
}

// check compares what a receiver got with what happened in its shop.
func (d *deliveries) check(r *report, p *replay) {
	const kind = "events at receivers"
	w := d.receiver
	want := map[string]*expected{}
	for i := range p.facts {
		f := &p.facts[i]
		if f.at.Before(w.From) || !w.wants(f) {
			continue
		}
		e := want[f.key()]
		if e == nil {
			e = &expected{}
			want[f.key()] = e
		}
		e.facts = append(e.facts, f)
		if !f.optional && f.at.After(w.From) && (w.Until == nil || f.at.Before(*w.Until)) && !f.at.After(p.at) {
			e.required++
		}
	}
	order := newOrder(p)
	for _, got := range d.list {
		r.count(kind, 1)
		order.check(r, w, got)
		if got.Occurred.After(p.at) {
			continue // the export is older
		}
		e := want[got.key()]
		if e == nil { // the overflow card of an import, of which nothing says the id
			e = want[got.Event+" "]
		}
		switch {
		case e == nil || e.got >= len(e.facts):
			r.differ(kind, "%s: %s, event %s of %s: nothing says so, or it is not for this webhook", w.Name, got.key(), got.ID,
				got.Occurred.Format(stamp))
		default:
			if wrong := got.differs(e.facts[e.got]); wrong != "" {
				r.differ(kind, "%s: %s, event %s: %s", w.Name, got.key(), got.ID, wrong)
			}
			if !got.accepted && (w.Kind == "good" || w.Kind == "slow" || w.Kind == "flaky" && got.requests < attempts) {
				r.differ(kind, "%s: %s, event %s: never accepted in %d requests", w.Name, got.key(), got.ID, got.requests)
			}
		}
		if e != nil {
			e.got++
		}
	}
	for key, e := range want {
		r.count("events that happened, by receiver", e.required)
		if e.got < e.required {
			r.differ(kind, "%s: %s of %s: %d of %d arrived", w.Name, key, e.facts[0].at.Format(stamp), e.got, e.required)
		}
	}
}

const (
	attempts = 5 // of a delivery
	stamp    = "2006-01-02T15:04:05.000Z"
)

// key names what an event is about, as that of a fact.
func (e *event) key() string {
	about := e.Data.Instance
	switch e.Event {
	case "transaction.reversed":
		about = e.Data.Reversal
	default:
		if e.Data.Row != "" {
			about = e.Data.Row
		}
	}
	return e.Event + " " + about
}

// differs returns how an event differs from a fact; empty: in nothing.
func (e *event) differs(f *fact) string {
	var wrong string
	same := func(what string, said, counted any) {
		if said != counted && wrong == "" {
			wrong = fmt.Sprintf("%s: said %v, counted %v", what, said, counted)
		}
	}
	same("program", e.program, f.program)
	if !f.at.Equal(e.Occurred) {
		same("occurred_at", e.Occurred.Format(stamp), f.at.Format(stamp))
	}
	if f.instance == "" {
		return wrong
	}
	if f.chain != "" {
		same("card_instance_id", e.Data.Instance, f.instance)
	}
	if e.Card != nil {
		same("card", e.Card.ID, f.instance)
	}
	if f.row == nil {
		return wrong
	}
	if e.Transaction != nil {
		same("transaction", e.Transaction.ID+" "+e.Transaction.Type, f.row.ID+" "+f.row.Type)
		same("location", e.location, f.location)
	}
	switch e.Event {
	case "stamp.assigned":
		same("stamps_delta", value(e.Data.Stamps), value(f.row.Stamps))
		same("stamps_count", value(e.Data.Count), f.stamps)
	case "prize.redeemed":
		same("prize_id", value(e.Data.Prize), value(f.row.Prize))
	case "value.changed":
		same("tx_type", e.Data.Type, f.row.Type)
		same("delta", value(e.Data.Delta), f.row.cents)
		same("balance", value(e.Data.Balance), f.cents)
	case "transaction.reversed":
		same("original_transaction_id", e.Data.Original, value(f.row.Reverses))
		same("reversed_delta", value(e.Data.Reversed), f.row.stamps()+f.row.cents)
	case "transaction.created":
		same("tx_type", e.Data.Type, f.row.Type)
		same("stamps_delta", value(e.Data.Stamps), value(f.row.Stamps))
		same("value_delta", value(e.Data.Value), f.row.cents)
	}
	return wrong
}

// value returns what a pointer points to, or the zero value.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// order checks that the events of a card arrive in their order.
type order struct {
	p        *replay
	chains   map[string]string // of instances
	sequence map[string]int64  // the latest, by chain
	place    map[string]int    // in the ledger, likewise
}

func newOrder(p *replay) *order {
	o := &order{p, map[string]string{}, map[string]int64{}, map[string]int{}}
	for i := range p.facts {
		o.chains[p.facts[i].instance] = p.facts[i].chain
	}
	return o
}

// check compares an event, when it first arrives, with those of its card that arrived before.
func (o *order) check(r *report, w receiver, e *event) {
	chain := o.chains[e.Data.Instance]
	if chain == "" {
		return
	}
	r.count("first requests in the order of their card", 1)
	if last := o.sequence[chain]; e.sequence <= last {
		r.differ("first requests in the order of their card", "%s: %s of card %s came with the sequence %d after %d", w.Name, e.key(),
			chain,
			e.sequence, last)
	}
	o.sequence[chain] = e.sequence
	row := e.Data.Row
	if e.Event == "transaction.reversed" {
		row = e.Data.Reversal
	}
	if t := o.p.rowByID[row]; t != nil {
		if t.place < o.place[chain] {
			r.differ("first requests in the order of their card", "%s: %s of card %s came after a later row of the ledger", w.Name, e.key(),
				chain)
		}
		o.place[chain] = t.place
	}
}
