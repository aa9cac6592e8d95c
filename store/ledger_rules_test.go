package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// These tests check combinations of the till's rules: what a reversal has in common with a
// presentation, what a refusal leaves, and chains whose cards differ.

// history returns the type and the delta of each row of the ledger, oldest first.
func (k till) history() string {
	k.t.Helper()
	return strings.Join(k.lines("SELECT concat_ws(' ', type, stamps_delta, value_delta) FROM transactions ORDER BY id"), ", ")
}

// TestReversalIsRefusedLikeAPresentation checks that a reversal has the same refusals as a
// presentation, in the same order.
func TestReversalIsRefusedLikeAPresentation(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, _ := k.ladder(true)
	card := k.cardWith(program, CardFields{ExpiresAt: set(k.clock.at().Add(time.Hour))})
	row := k.ok(k.stamp(card, 3)).Transaction.ID
	reverse := func() (Stamped, error) { return k.reverse(row) }
	refusal := func() (message string) {
		t.Helper()
		_, err := reverse()
		e, ok := AsError(err)
		if !ok {
			t.Fatalf("got %v, want a refusal", err)
		}
		return string(e.Code) + ": " + e.Message
	}
	k.lock(card, true)
	k.refuses(CardSuspended)(reverse())
	byLock := refusal()
	k.clock.move(time.Hour)
	if _, err := reverse(); err == nil { // the expiry gets its row, once
		t.Error("a row of an expired card was reversed")
	}
	k.refuses(CardExpired)(reverse())
	k.archive(card)
	k.refuses(Conflict)(reverse())
	k.action(program, Suspend)
	k.refuses(CardSuspended)(reverse())
	if bySuspension := refusal(); bySuspension == byLock {
		t.Errorf("a suspended program and a locked card have the same message: %s", byLock)
	}
	elsewhere := k.fixture.location()
	k.updateProgram(program, ProgramFields{LocationScope: set("selected_locations"), ScopedLocationIDs: set([]string{elsewhere})})
	k.refuses(Unprocessable)(reverse())
	if got := k.history(); got != "stamp 3, expiry" {
		t.Errorf("the ledger has %s", got)
	}
	k.checkFile()
}

// TestAnyDeviceOfTheLocationReverses checks that any device of the row's location may reverse it,
// and that the reversal has the device that made it.
func TestAnyDeviceOfTheLocationReverses(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, _ := k.ladder(true)
	card := k.card(program)
	row := k.ok(k.stamp(card, 3)).Transaction.ID
	second := must(k.fixture, func(tx *Tx) (Device, error) {
		d, _, err := tx.CreateDevice(k.a.Shop, NewDevice{LocationID: k.location, Name: "Second till", AcceptsCardIDs: true})
		return d, err
	})
	first := k.device.Device
	k.device.Device = k.key(KindDevice, second.ID)
	k.ok(k.reverse(row))
	if got, want := k.lines("SELECT device_id FROM transactions ORDER BY id"), []string{fmt.Sprint(first), fmt.Sprint(k.device.Device)}; !slices.Equal(got, want) {
		t.Errorf("the rows are of the devices %q, want %q", got, want)
	}
	k.expect(card, StatusActive, 0)
}

func TestExpiryRowsAreNotReversed(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	fields := stamps("Coffee")
	fields.StampsExpireAfterDays = set(int64(10))
	card := k.cardWith(k.program(fields), CardFields{ExpiresAt: set(k.clock.at().Add(days(11)))})
	k.ok(k.stamp(card, 3))
	k.clock.move(days(10))
	k.ok(k.stamp(card, 1)) // the three stamps have expired
	k.clock.move(days(1))
	if _, err := k.stamp(card, 1); err == nil { // the card has expired
		t.Fatal("an expired card accepted a stamp")
	}
	k.update(card, CardPatch{ExpiresAt: null[Time]()})
	if got := k.history(); got != "stamp 3, expiry -3, stamp 1, expiry" {
		t.Fatalf("the ledger has %s", got)
	}
	for _, key := range k.lines("SELECT id FROM transactions WHERE type='expiry'") {
		var n int64
		fmt.Sscan(key, &n)
		k.refuses(Unprocessable)(k.reverse(k.ID(KindTransaction, n)))
	}
	k.expect(card, StatusActive, 1)
}

// TestExpiryRowOnceForAChain checks that a chain gets one expiry row, whichever of its cards is
// presented and for whatever action.
func TestExpiryRowOnceForAChain(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, prizes := k.ladder(true, 5, 10)
	root := k.cardWith(program, CardFields{ExpiresAt: set(k.clock.at().Add(time.Hour))})
	over := k.ok(k.stamp(root, 13))
	k.clock.move(time.Hour)
	for i, action := range []func() (Stamped, error){
		func() (Stamped, error) { return k.stamp(over.OverflowCard.ID, 1) },
		func() (Stamped, error) { return k.stamp(root, 1) },
		func() (Stamped, error) { return k.stamp(k.cardCode(k.key(KindCard, root), 0), 1) },
		func() (Stamped, error) { return k.redeem(root, prizes[0]) },
		func() (Stamped, error) { return k.reverse(over.Transaction.ID) },
		func() (Stamped, error) { return k.reverse(over.OverflowTransaction.ID) },
	} {
		_, err := action()
		refused(t, err, CardExpired)
		if got := k.history(); got != "stamp 10, stamp 3, expiry" {
			t.Errorf("after presentation %d the ledger has %s", i+1, got)
		}
	}
	k.checkFile()
}

// TestCommittedRefusalsDoNotActivate checks that a refusal does not activate a card, even if it
// writes a row.
func TestCommittedRefusalsDoNotActivate(t *testing.T) {
	t.Parallel()
	t.Run("expired card", func(t *testing.T) {
		k := startTill(t)
		program, _ := k.ladder(true)
		card := k.cardWith(program, CardFields{ExpiresAt: set(k.clock.at().Add(time.Hour))})
		k.clock.move(time.Hour)
		_, err := k.stamp(card, 1)
		refused(t, err, CardExpired)
		k.update(card, CardPatch{ExpiresAt: null[Time]()})
		k.expect(card, StatusInvited, 0)
		k.ok(k.stamp(card, 1))
		k.expect(card, StatusActive, 1)
	})
	t.Run("expired stamps", func(t *testing.T) {
		k := startTill(t)
		fields := stamps("Coffee")
		fields.StampsExpireAfterDays = set(int64(10))
		program, prizes := k.ladderOf(fields, 3, 10)
		card := k.card(program)
		k.ok(k.stamp(card, 4))
		k.reissue(card, ReissueFields{})
		k.clock.move(days(10))
		_, err := k.redeem(card, prizes[0])
		refused(t, err, Unprocessable)
		var kept *CommittedRefusal
		if got := k.history(); got != "stamp 4, expiry -4" || !errors.As(err, &kept) {
			t.Errorf("%T, and the ledger has %s", err, got)
		}
		k.expect(card, StatusInvited, 0)
	})
}

// TestStampsExpireBesideARefusedPurchase checks that old stamps expire before the rules of a
// purchase are checked, and that their row stays after the refusal.
func TestStampsExpireBesideARefusedPurchase(t *testing.T) {
	t.Parallel()
	for code, c := range map[Code]struct{ demanded, spent Opt[int64] }{
		SpendRequired:       {demanded: set(int64(500))},
		AmountBelowMinStamp: {demanded: set(int64(500)), spent: set(int64(499))},
		SpendNotEnabled:     {spent: set(int64(500))},
	} {
		t.Run(string(code), func(t *testing.T) {
			k := startTill(t)
			fields := stamps("Coffee")
			fields.StampsExpireAfterDays = set(int64(10))
			program := k.program(fields)
			card := k.card(program)
			k.ok(k.stamp(card, 4))
			if c.demanded.Set {
				k.settings(program, ProgramSettings{MinSpendCents: c.demanded})
			}
			k.clock.move(days(10))
			_, err := attempt(k.fixture, func(tx *Tx) (Stamped, error) {
				return tx.Stamp(k.device, card, StampFields{SpendCents: c.spent})
			})
			refused(t, err, code)
			if got := k.history(); got != "stamp 4, expiry -4" {
				t.Errorf("the ledger has %s", got)
			}
			k.expect(card, StatusActive, 0)
		})
	}
}

// TestStampsOfArchivedCardsDoNotExpire checks that only stamps of cards that are not archived
// expire.
func TestStampsOfArchivedCardsDoNotExpire(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	fields := stamps("Coffee")
	fields.RepeatAfterReset, fields.StampsExpireAfterDays = set(true), set(int64(10))
	root := k.card(k.program(fields))
	child := k.ok(k.stamp(root, 12)).OverflowCard.ID // without prizes the full card is complete
	k.expect(root, StatusArchived, 10)
	k.clock.move(days(10))
	k.ok(k.stamp(root, 1))
	if got := k.history(); got != "stamp 10, stamp 2, expiry -2, stamp 1" {
		t.Errorf("the ledger has %s", got)
	}
	k.expect(root, StatusArchived, 10)
	k.expect(child, StatusActive, 1)
}

// TestReversedOverflowOfAChildWithAPrize checks that the reversal of an overflow takes the stamps of
// a child that has a redemption, and that the older card's claims stay.
func TestReversedOverflowOfAChildWithAPrize(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, prizes := k.ladder(true, 2, 10)
	root := k.card(program)
	k.ok(k.stamp(root, 8))
	over := k.ok(k.stamp(root, 5))
	child := over.OverflowCard.ID
	first := k.ok(k.redeem(root, prizes[0]))
	second := k.ok(k.redeem(root, prizes[0]))
	if first.Card.ID != root || second.Card.ID != child {
		t.Fatalf("redeemed on %s and %s", first.Card.ID, second.Card.ID)
	}
	k.ok(k.reverse(over.Transaction.ID))
	k.expect(root, StatusActive, 8)
	k.expect(child, StatusArchived, 0)
	k.refuses(Conflict)(k.reverse(second.Transaction.ID))
	k.refuses(ThresholdAlreadyClaimed)(k.redeem(root, prizes[0]))
	k.ok(k.reverse(first.Transaction.ID)) // frees the claim of the live card
	k.ok(k.redeem(child, prizes[0]))
	k.expect(root, StatusActive, 8)
}

// TestRedeemOnTheYoungerCard checks that a prize is redeemed on the younger card if only that has
// reached it, while stamps and the lookup use the older card.
func TestRedeemOnTheYoungerCard(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, prizes := k.ladder(true, 5, 10)
	root := k.card(program)
	early := k.ok(k.stamp(root, 8)).Transaction.ID
	over := k.ok(k.stamp(root, 5))
	child := over.OverflowCard.ID
	k.ok(k.stamp(root, 6))
	k.ok(k.reverse(over.OverflowTransaction.ID))
	k.ok(k.reverse(early))
	k.expect(root, StatusActive, 0) // it is not a child, so it stays
	k.expect(child, StatusActive, 6)
	l := k.lookup(child)
	if l.Card.ID != root || l.Prizes[0].Available || len(l.EarlierCards) != 1 || l.EarlierCards[0].ID != child || !l.EarlierCards[0].Prizes[0].Available {
		t.Errorf("the lookup shows %+v", l)
	}
	if s := k.ok(k.redeem(root, prizes[0])); s.Card.ID != child {
		t.Errorf("redeemed on %+v", s.Card)
	}
	k.refuses(ThresholdAlreadyClaimed)(k.redeem(root, prizes[0]))
	// The next stamps fill the older card, then the younger, without a third.
	s := k.ok(k.stamp(child, 14))
	if s.Card.ID != root || s.Transaction.StampsDelta != Some[int64](10) || s.OverflowCard.ID != child || s.OverflowTransaction.StampsDelta != Some[int64](4) {
		t.Errorf("the stamps went to %+v", s)
	}
	k.expect(root, StatusActive, 10)
	k.expect(child, StatusActive, 10)
}

// TestGrandchildInherits checks that a card inherits from the one it overflowed from, at any
// position in the chain.
func TestGrandchildInherits(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, _ := k.ladder(true) // without prizes a full card ends with its next stamp
	root := k.issue(program, CardFields{ExternalRef: set("ada"), HolderEmail: set("Ada@example.com"), ExpiresAt: set(k.clock.at().Add(days(9)))})
	child := k.ok(k.stamp(root.ID, 12)).OverflowCard
	if child.InstalledAt.Valid {
		t.Errorf("installed before its parent: %+v", child.Card)
	}
	k.expect(root.ID, StatusArchived, 10)
	k.clock.move(time.Hour)
	if _, err := k.install(root.InstallURL); err != nil { // the live card of the chain
		t.Fatal(err)
	}
	installed := k.clock.at()
	if d := k.get(root.ID); d.InstalledAt.Valid {
		t.Errorf("the archived card was installed: %+v", d.Card)
	}
	k.clock.move(time.Hour)
	grandchild := k.ok(k.stamp(root.ID, 10)).OverflowCard
	want := k.get(child.ID).Card
	want.ID, want.Status, want.StampsCount, want.CreatedAt = grandchild.ID, StatusActive, 2, k.clock.at()
	if grandchild.Card != want || want.InstalledAt != Some(installed) || !want.ExpiresAt.Valid || want.ExternalRef.V != "ada" || want.HolderEmail.V != "Ada@example.com" {
		t.Errorf("the grandchild is %+v\nwant %+v", grandchild.Card, want)
	}
	if got := k.lines("SELECT concat_ws(',', source, platform, email_key, activated_at IS NOT NULL) FROM cards WHERE id=?", k.key(KindCard, grandchild.ID)); got[0] != "overflow,apple,"+foldCase("ada@example.com")+",1" {
		t.Errorf("the grandchild is %q", got)
	}
	// It has the chain's code. After a reissue it is not installed.
	if s := k.ok(k.stamp(k.cardCode(k.key(KindCard, root.ID), 0), 1)); s.Card.ID != grandchild.ID {
		t.Errorf("the code found %+v", s.Card)
	}
	k.reissue(grandchild.ID, ReissueFields{})
	last := k.ok(k.stamp(root.ID, 9)).OverflowCard
	if last.InstalledAt.Valid || k.number("SELECT count(*) FROM cards WHERE id=? AND platform IS NOT NULL", k.key(KindCard, last.ID)) > 0 {
		t.Errorf("after a reissue the next card is installed: %+v", last.Card)
	}
	k.checkFile()
}

// TestCardsOfADeletedProgram checks that the cards of a deleted program are archived: a lookup
// finds them, and other actions are refused.
func TestCardsOfADeletedProgram(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, prizes := k.ladder(true, 1, 10)
	card := k.card(program)
	row := k.ok(k.stamp(card, 2)).Transaction.ID
	k.deleteProgram(program)
	if l := k.lookup(card); l.Card.Status != StatusArchived || len(l.Transactions) != 1 {
		t.Errorf("the lookup shows %+v", l)
	}
	for _, action := range []func() (Stamped, error){
		func() (Stamped, error) { return k.stamp(card, 1) },
		func() (Stamped, error) { return k.redeem(card, prizes[0]) },
		func() (Stamped, error) { return k.reverse(row) },
	} {
		k.refuses(Conflict)(action())
	}
	k.checkFile()
}
