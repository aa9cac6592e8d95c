package store

import (
	"fmt"
	"slices"
	"testing"
)

func TestReissueEndsTheCode(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, _ := k.ladder(true)
	card := k.card(program)
	old := k.cardCode(k.key(KindCard, card), 0)
	k.ok(k.stamp(old, 4))
	k.reissue(card, ReissueFields{})
	k.expect(card, StatusInvited, 4)
	k.refuses(NotFound)(k.stamp(old, 1))
	k.ok(k.stamp(k.cardCode(k.key(KindCard, card), 1), 1))
	k.expect(card, StatusActive, 5)
}

// TestLookup checks the cards, prizes and transactions that a lookup shows, whatever the state of
// the chain.
func TestLookup(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, prizes := k.ladder(true, 5, 5, 10)
	root := k.cardWith(program, CardFields{HolderName: set("Ada")})
	before := k.dump()
	if l := k.lookup(root); l.Card.ID != root || l.Card.Status != StatusInvited || len(l.Prizes) != 3 ||
		len(l.EarlierCards)+len(l.Transactions) != 0 ||
		l.Program.ID != program {
		t.Errorf("the lookup of a new card shows %+v", l)
	}
	if k.dump() != before {
		t.Error("a lookup wrote to the file")
	}
	child := k.ok(k.stamp(root, 16)).OverflowCard.ID
	k.ok(k.redeem(root, prizes[1]))
	state := func(list []LadderPrize) (out string) {
		for _, z := range list {
			out += map[[2]bool]string{{true, false}: "available ", {false, true}: "claimed ", {}: "- "}[[2]bool{z.Available, z.Claimed}]
		}
		return out
	}
	for _, text := range []string{root, child, k.cardCode(k.key(KindCard, root), 0)} {
		l := k.lookup(text)
		if l.Card.ID != child || len(l.EarlierCards) != 1 || l.EarlierCards[0].ID != root || l.EarlierCards[0].HolderName.V != "Ada" {
			t.Fatalf("the lookup shows %+v", l)
		}
		if now, earlier := state(l.Prizes), state(l.EarlierCards[0].Prizes); now != "available available - " ||
			earlier != "- claimed available " {
			t.Errorf("prizes are %q, of the earlier card %q", now, earlier)
		}
	}
	for range 9 {
		k.ok(k.stamp(k.card(program), 1)) // of other cards
		k.ok(k.reverse(k.ok(k.stamp(root, 1)).Transaction.ID))
	}
	l := k.lookup(root)
	want := k.lines(
		"SELECT id FROM transactions WHERE card_id IN (SELECT id FROM cards WHERE id=?1 OR root_id=?1) ORDER BY id DESC LIMIT 10",
		k.key(KindCard, root),
	)
	var got []string
	for _, row := range l.Transactions {
		got = append(got, fmt.Sprint(k.key(KindTransaction, row.ID)))
	}
	if !slices.Equal(got, want) || len(got) != 10 || l.Transactions[0].Type != "reversal" {
		t.Errorf("the last ten transactions are %v, want %v", got, want)
	}
	// A lookup succeeds in every state of the card and its program until the card is erased.
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
	err := k.View(0, func(v *View) error { return errorOf(v.Lookup(k.device, root)) })
	refused(t, err, NotFound)
}
