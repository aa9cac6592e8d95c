package store

import "testing"

// TestLookup checks that a lookup succeeds in every state of the card and its program until the card
// is erased, and that it writes nothing.
func TestLookup(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 5, 5, 10)
	root := k.card(program)
	k.stamped(root, 16)
	before := k.dump()
	if l := k.lookup(root); l.Card.Status != StatusActive || len(l.EarlierCards) != 1 {
		t.Errorf("the lookup shows %+v", l)
	}
	if k.dump() != before {
		t.Error("a lookup wrote to the file")
	}
	k.lock(root, true)
	if l := k.lookup(root); l.Card.Status != StatusLocked {
		t.Errorf("a locked card is %+v", l.Card)
	}
	k.action(program, Suspend)
	k.archive(root)
	if l := k.lookup(root); l.Card.Status != StatusArchived || len(l.EarlierCards) != 0 {
		t.Errorf("an archived chain is %+v", l)
	}
	k.deleteProgram(program)
	k.lookup(root)
	k.erase(root)
	refused(t, k.View(0, func(v *View) error { return errorOf(v.Lookup(k.device, root)) }), NotFound)
}
