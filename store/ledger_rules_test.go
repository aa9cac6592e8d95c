package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLedgerFollowsItsModel checks the till's rules. These tests check what the model does not have, or
// what its random operations reach too rarely.

// history returns the types of the rows of the ledger, oldest first, and their stamps.
func (k till) history() string {
	return strings.Join(k.lines("SELECT concat_ws(' ', type, stamps_delta) FROM transactions ORDER BY id"), ", ")
}

// TestAnyDeviceOfTheLocationReverses checks that any device of the row's location may reverse it,
// and that the reversal has the device that made it.
func TestAnyDeviceOfTheLocationReverses(t *testing.T) {
	k := startTill(t)
	card := k.card(k.program(stamps("Coffee")))
	row := k.stamped(card, 3).Transaction.ID
	second := must(k.fixture, func(tx *Tx) (Device, error) {
		d, _, err := tx.CreateDevice(k.a.Shop, NewDevice{LocationID: k.location, Name: "Second till", AcceptsCardIDs: true})
		return d, err
	})
	want := []string{fmt.Sprint(k.device.Device), fmt.Sprint(k.key(KindDevice, second.ID))}
	k.device.Device = k.key(KindDevice, second.ID)
	k.reversed(row)
	if got := k.lines("SELECT device_id FROM transactions ORDER BY id"); !slices.Equal(got, want) {
		t.Errorf("the rows are of the devices %q, want %q", got, want)
	}
	k.expect(card, StatusActive, 0)
}

// TestRefusalsOfALockedCard checks that the refusals of a locked card and of a suspended program, which
// have the same code, have different messages.
func TestRefusalsOfALockedCard(t *testing.T) {
	k := startTill(t)
	program := k.program(stamps("Coffee"))
	card := k.card(program)
	k.lock(card, true)
	_, locked := k.stamp(card, 1)
	k.action(program, Suspend)
	_, suspended := k.stamp(card, 1)
	refused(t, locked, CardSuspended)
	refused(t, suspended, CardSuspended)
	if locked.Error() == suspended.Error() {
		t.Errorf("both messages are %v", locked)
	}
}

// TestReversedOverflowOfAChildWithAPrize checks that the reversal of an overflow takes the stamps of
// a child that has a redemption, and that the older card's claims stay.
func TestReversedOverflowOfAChildWithAPrize(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 2, 10)
	root := k.card(program)
	k.stamped(root, 8)
	over := k.stamped(root, 5)
	child := over.OverflowCard.ID
	first := k.redeemed(root, prizes[0])
	second := k.redeemed(root, prizes[0])
	if first.Card.ID != root || second.Card.ID != child {
		t.Fatalf("redeemed on %s and %s", first.Card.ID, second.Card.ID)
	}
	k.reversed(over.Transaction.ID)
	k.expect(root, StatusActive, 8)
	k.expect(child, StatusArchived, 0)
	k.refuses(Conflict)(k.reverse(second.Transaction.ID))
	k.refuses(ThresholdAlreadyClaimed)(k.redeem(root, prizes[0]))
	k.reversed(first.Transaction.ID) // frees the claim of the live card
	k.redeemed(child, prizes[0])
	k.expect(root, StatusActive, 8)
}

// TestFullCardStaysWithoutRepeat checks that a full card whose highest prize is redeemed is not archived
// if its program does not repeat any longer.
func TestFullCardStaysWithoutRepeat(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 10)
	root := k.card(program)
	child := k.stamped(root, 13).OverflowCard.ID
	k.updateProgram(program, ProgramFields{RepeatAfterReset: set(false)})
	k.redeemed(root, prizes[0])
	k.stamped(root, 1)
	k.expect(root, StatusActive, 10)
	k.expect(child, StatusActive, 4)
}

// TestReversalKeepsTheOlderOfTwoEmptyCards checks that of two cards without stamps the younger is
// archived.
func TestReversalKeepsTheOlderOfTwoEmptyCards(t *testing.T) {
	t.Parallel()
	for named := range 2 {
		k := startTill(t)
		fields := stamps("Coffee")
		fields.RepeatAfterReset, fields.TotalStamps = set(true), setInt(1)
		program, prizes := k.ladderOf(fields, 1)
		root := k.card(program)
		k.stamped(root, 1)
		child := k.stamped(root, 1)
		k.redeemed(root, prizes[0])
		k.reversed(child.Transaction.ID)
		s := k.stamped(root, 2)
		k.reversed([]string{s.Transaction.ID, s.OverflowTransaction.ID}[named])
		k.expect(child.Card.ID, StatusActive, 0)
		k.expect(s.OverflowCard.ID, StatusArchived, 0)
	}
}

// TestOverflowInherits checks that a card inherits from the one it overflowed from, at any position in
// the chain, and that an overflow needs neither a published program nor room under max_cards.
func TestOverflowInherits(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true) // without prizes a full card ends with its next stamp
	root := k.issue(program, CardFields{
		ExternalRef: set("ada"),
		HolderName:  set("Ada"),
		HolderEmail: set("Ada@example.com"),
		ExpiresAt:   set(k.clock.at().Add(days(9))),
	})
	k.updateShop(ShopFields{MaxCards: setInt(1)})
	k.action(program, Unpublish)
	child := k.stamped(root.ID, 12).OverflowCard
	if child.InstalledAt.Valid {
		t.Errorf("installed before its parent: %+v", child.Card)
	}
	k.expect(root.ID, StatusArchived, 10)
	k.clock.move(time.Hour)
	check(k.install(root.InstallURL)) // the live card of the chain
	installed := k.clock.at()
	if d := k.get(root.ID); d.InstalledAt.Valid {
		t.Errorf("the archived card was installed: %+v", d.Card)
	}
	k.clock.move(time.Hour)
	grandchild := k.stamped(root.ID, 10).OverflowCard
	want := k.get(child.ID).Card
	want.ID, want.Status, want.StampsCount, want.CreatedAt = grandchild.ID, StatusActive, 2, k.clock.at()
	want.InstalledAt, want.ExternalRef, want.HolderName, want.HolderEmail = Some(installed), Some("ada"), Some("Ada"), Some(
		"Ada@example.com",
	)
	if grandchild.Card != want || !want.ExpiresAt.Valid {
		t.Errorf("the grandchild is %+v\nwant %+v", grandchild.Card, want)
	}
	got := k.lines("SELECT concat_ws(',', source, platform, email_key, activated_at IS NOT NULL, root_id, parent_id) FROM cards WHERE id=?",
		k.key(KindCard, grandchild.ID))[0]
	row := fmt.Sprintf("overflow,apple,%s,1,%d,%d", foldCase("ada@example.com"), k.key(KindCard, root.ID), k.key(KindCard, child.ID))
	if got != row {
		t.Errorf("the grandchild is %q, want %q", got, row)
	}
	// It has the chain's code. After a reissue it is not installed.
	if s := k.stamped(k.cardCode(k.key(KindCard, root.ID), 0), 1); s.Card.ID != grandchild.ID {
		t.Errorf("the code found %+v", s.Card)
	}
	k.reissue(grandchild.ID, ReissueFields{})
	last := k.stamped(root.ID, 9).OverflowCard
	if last.InstalledAt.Valid {
		t.Errorf("after a reissue the next card is installed: %+v", last.Card)
	}
	k.selects(0, "SELECT count(*) FROM cards WHERE id=? AND platform IS NOT NULL", k.key(KindCard, last.ID))
	k.checkFile()
}
