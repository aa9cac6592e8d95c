package webhook

import (
	"cmp"
	"slices"

	"punchcard/store"
)

// chainOrder holds back first attempts so that those of one chain, which is a card
// with its overflow children, do not overlap: each starts after the previous one
// has ended. Events without a card wait for none.
type chainOrder struct {
	busy    map[int64][]int64   // by chain with a first attempt that runs or is ready: the events that wait for it
	ready   []store.NewDelivery // those whose turn has come, in the order of the events
	waiting int                 // events in busy and ready
}

// start reports whether the first attempt of an event may start at once, and marks
// its chain as busy if so.
func (o *chainOrder) start(d store.NewDelivery) bool {
	if d.Chain == 0 {
		return true
	}
	if _, busy := o.busy[d.Chain]; busy {
		return false
	}
	o.busy[d.Chain] = nil
	return true
}

// wait adds an event of a busy chain, later than all that wait, and reports whether
// there was room for it.
func (o *chainOrder) wait(d store.NewDelivery) bool {
	if o.full() {
		return false
	}
	o.busy[d.Chain] = append(o.busy[d.Chain], d.Event)
	o.waiting++
	return true
}

func (o *chainOrder) full() bool { return o.waiting >= laneMaxWaiting }

// ended makes the next event of a chain ready, since a first attempt has ended.
func (o *chainOrder) ended(chain int64) {
	if chain == 0 {
		return
	}
	next := o.busy[chain]
	if len(next) == 0 {
		delete(o.busy, chain)
		return
	}
	o.busy[chain] = next[1:]
	d := store.NewDelivery{Event: next[0], Chain: chain}
	i, _ := slices.BinarySearchFunc(o.ready, d, func(a, b store.NewDelivery) int { return cmp.Compare(a.Event, b.Event) })
	o.ready = slices.Insert(o.ready, i, d)
}

// takeReady removes up to n ready events and returns them.
func (o *chainOrder) takeReady(n int) []store.NewDelivery {
	n = max(min(n, len(o.ready)), 0)
	taken := slices.Clone(o.ready[:n])
	o.ready = slices.Delete(o.ready, 0, n)
	o.waiting -= n
	return taken
}

// first returns the first event that waits; ok is false if none does.
func (o *chainOrder) first() (event int64, ok bool) {
	if len(o.ready) > 0 {
		event, ok = o.ready[0].Event, true
	}
	for _, events := range o.busy {
		if len(events) > 0 && (!ok || events[0] < event) {
			event, ok = events[0], true
		}
	}
	return event, ok
}

// drop removes all events that wait, and marks the chain, if not 0, as not busy.
// Other chains with an attempt that runs stay busy.
func (o *chainOrder) drop(chain int64) {
	delete(o.busy, chain)
	for _, d := range o.ready {
		delete(o.busy, d.Chain)
	}
	for other := range o.busy {
		o.busy[other] = nil
	}
	o.ready, o.waiting = nil, 0
}
