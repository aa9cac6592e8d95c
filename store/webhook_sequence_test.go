package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sequences returns the sequences of a shop's events in the order of the events.
func (f *fixture) sequences(shop int64) string {
	return strings.Join(f.lines("SELECT ifnull(sequence, 'null') FROM events WHERE shop_id=? ORDER BY id", shop), " ")
}

// TestSequenceOfEvents checks that the events of each shop are numbered in their order, without a
// gap for a write that was rolled back.
func TestSequenceOfEvents(t *testing.T) {
	f := start(t)
	tea := f.program(stamps("Tea"))
	theirs := f.in(f.shop(ShopFields{})).withLedger()
	hook := f.subscribe(tea, func(w *WebhookFields) { w.Events = set([]string{"*"}) })
	f.in(theirs.a).hook(theirs.program, hookFields{})
	mine := errors.New("mine")
	issue := func(a Access, program string, end error) Write {
		one := f.in(a).issuing(program, CardFields{})
		return write(func(tx *Tx) error { return errors.Join(one(tx), one(tx), end) })
	}
	settled := issue(f.a, tea, nil)
	settled.Finish = func(tx *Tx, err error) error { return mine } // after its events were written
	f.group(
		issue(f.a, tea, nil), issue(theirs.a, theirs.program, nil), issue(f.a, tea, mine), settled,
		issue(f.a, tea, nil), issue(theirs.a, theirs.program, nil),
	)
	f.testWebhook(tea, hook.ID)
	second := f.second()
	second.card(tea)
	f.card(tea)
	for shop, want := range map[int64]string{f.a.Shop: "1 2 3 4 5 6 7", theirs.a.Shop: "1 2 3 4"} {
		if got := f.sequences(shop); got != want {
			t.Errorf("shop %d has the sequences %s, want %s", shop, got, want)
		}
		if got := f.number("SELECT event_sequence FROM shops WHERE id=?", shop); fmt.Sprint(got) != want[len(want)-1:] {
			t.Errorf("event_sequence of shop %d is %d", shop, got)
		}
	}
	f.checkFile()
}

// TestChainOfNewDelivery checks that a new delivery has the root of its card's chain, also for a card
// that came from an overflow or was erased, and 0 if it is about no card.
func TestChainOfNewDelivery(t *testing.T) {
	f := start(t)
	l := f.withLedger()
	f.child(f.child(l.card))
	hook := f.hook(l.program, hookFields{})
	other := f.card(l.program)
	f.erase(l.card)
	f.location()
	var got []string
	f.view(func(v *View) error {
		d, err := v.DueDeliveries(hook, -1, nil, 10, 10)
		for _, n := range d.New {
			got = append(got, fmt.Sprint(n.Chain))
		}
		if d.Last != d.New[len(d.New)-1].Event {
			t.Errorf("the last is %d", d.Last)
		}
		few, err2 := v.DueDeliveries(hook, -1, nil, 10, 2)
		if len(few.New) != 2 || few.Last != few.New[1].Event {
			t.Errorf("two were asked for: %+v", few)
		}
		none, err3 := v.DueDeliveries(hook, few.Last, nil, 10, 0)
		if len(none.New) != 0 || none.Last != few.Last {
			t.Errorf("none was asked for: %+v", none)
		}
		return errors.Join(err, err2, err3)
	})
	root := fmt.Sprint(f.key(KindCard, l.card))
	want := []string{fmt.Sprint(f.key(KindCard, other)), root, root, root, "0"}
	if !slices.Equal(got, want) {
		t.Errorf("the chains are %v, want %v; the events %v", got, want, f.lines("SELECT name FROM events ORDER BY id"))
	}
}
