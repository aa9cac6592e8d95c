package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// The till's rules where two of them meet: what a reversal shares with a
// presentation, what a refusal leaves, and chains whose cards are not alike.

// history returns the ledger as "type delta" of each row, oldest first.
func (k till) history() string {
	k.t.Helper()
	return strings.Join(k.lines("SELECT concat_ws(' ', type, stamps_delta, value_delta) FROM transactions ORDER BY id"), ", ")
}

// A reversal is refused as a presentation of its card is, in the same order.
func TestReversalIsRefusedLikeAPresentation(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	card := k.card(k.a, program, CardFields{ExpiresAt: set(k.clock.at().Add(time.Hour))})
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
	k.refuses(CardSuspended, reverse)
	byLock := refusal()
	k.clock.move(time.Hour)
	if _, err := reverse(); err == nil { // and the expiry is written down, once
		t.Error("a row of an expired card was reversed")
	}
	k.refuses(CardExpired, reverse)
	k.must(func(tx *Tx) error { _, err := tx.ArchiveCard(k.a.Shop, card); return err })
	k.refuses(Conflict, reverse)
	k.action(program, Suspend)
	k.refuses(CardSuspended, reverse)
	if bySuspension := refusal(); bySuspension == byLock {
		t.Errorf("a suspended program and a locked card are refused alike: %s", byLock)
	}
	elsewhere := k.fixture.location(k.a)
	must(k.fixture, func(tx *Tx) (ProgramDetail, error) {
		return tx.UpdateProgram(k.a, program, ProgramFields{LocationScope: set("selected_locations"), ScopedLocationIDs: set([]string{elsewhere})})
	})
	k.refuses(Unprocessable, reverse)
	if got := k.history(); got != "stamp 3, expiry" {
		t.Errorf("the ledger has %s", got)
	}
	k.sound()
}

// The location is what counts, not the device; and a reversal is a row of the
// device that made it.
func TestAnyDeviceOfTheLocationReverses(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	card := k.card(k.a, program, CardFields{})
	row := k.ok(k.stamp(card, 3)).Transaction.ID
	second := must(k.fixture, func(tx *Tx) (Device, error) {
		d, _, err := tx.CreateDevice(k.a.Shop, k.location, "Second till", "")
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
	k := startTill(t)
	fields := stamps("Coffee")
	fields.StampsExpireAfterDays = set(int64(10))
	card := k.card(k.a, k.program(k.a, fields), CardFields{ExpiresAt: set(k.clock.at().Add(days(11)))})
	k.ok(k.stamp(card, 3))
	k.clock.move(days(10))
	k.ok(k.stamp(card, 1)) // the three have expired
	k.clock.move(days(1))
	if _, err := k.stamp(card, 1); err == nil { // the card has
		t.Fatal("an expired card took a stamp")
	}
	must(k.fixture, func(tx *Tx) (CardDetail, error) {
		return tx.UpdateCard(k.a, card, CardPatch{ExpiresAt: null[Time]()})
	})
	if got := k.history(); got != "stamp 3, expiry -3, stamp 1, expiry" {
		t.Fatalf("the ledger has %s", got)
	}
	for _, key := range k.lines("SELECT id FROM transactions WHERE type='expiry'") {
		var n int64
		fmt.Sscan(key, &n)
		k.refuses(Unprocessable, func() (Stamped, error) { return k.reverse(k.ID(KindTransaction, n)) })
	}
	k.expect(card, StatusActive, 1)
}

// A chain expires as one: one row, whichever of its cards is presented, and
// whatever for.
func TestExpiryRowOnceForAChain(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 5, 10)
	root := k.card(k.a, program, CardFields{ExpiresAt: set(k.clock.at().Add(time.Hour))})
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
	k.sound()
}

// A refusal never activates, not even one beside which a row stays.
func TestCommittedRefusalsDoNotActivate(t *testing.T) {
	t.Run("expired card", func(t *testing.T) {
		k := startTill(t)
		program, _ := k.ladder(true)
		card := k.card(k.a, program, CardFields{ExpiresAt: set(k.clock.at().Add(time.Hour))})
		k.clock.move(time.Hour)
		_, err := k.stamp(card, 1)
		refused(t, err, CardExpired)
		must(k.fixture, func(tx *Tx) (CardDetail, error) {
			return tx.UpdateCard(k.a, card, CardPatch{ExpiresAt: null[Time]()})
		})
		k.expect(card, StatusInvited, 0)
		k.ok(k.stamp(card, 1))
		k.expect(card, StatusActive, 1)
	})
	t.Run("expired stamps", func(t *testing.T) {
		k := startTill(t)
		fields := stamps("Coffee")
		fields.StampsExpireAfterDays = set(int64(10))
		program, prizes := k.ladderOf(fields, 3, 10)
		card := k.card(k.a, program, CardFields{})
		k.ok(k.stamp(card, 4))
		must(k.fixture, func(tx *Tx) (IssuedCard, error) { return tx.ReissueCard(k.a, card, ReissueFields{}) })
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

// What a program demands of a purchase is asked after old stamps are gone, and
// their row stays beside each of these refusals.
func TestStampsExpireBesideARefusedPurchase(t *testing.T) {
	for code, c := range map[Code]struct{ demanded, spent Opt[int64] }{
		SpendRequired:       {demanded: set(int64(500))},
		AmountBelowMinStamp: {demanded: set(int64(500)), spent: set(int64(499))},
		SpendNotEnabled:     {spent: set(int64(500))},
	} {
		t.Run(string(code), func(t *testing.T) {
			k := startTill(t)
			fields := stamps("Coffee")
			fields.StampsExpireAfterDays = set(int64(10))
			program := k.program(k.a, fields)
			card := k.card(k.a, program, CardFields{})
			k.ok(k.stamp(card, 4))
			if c.demanded.Set {
				must(k.fixture, func(tx *Tx) (ProgramDetail, error) { return tx.SetMinSpend(k.a.Shop, program, c.demanded) })
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

// An archived card's stamps are history: they grow no older.
func TestStampsOfArchivedCardsDoNotExpire(t *testing.T) {
	k := startTill(t)
	fields := stamps("Coffee")
	fields.RepeatAfterReset, fields.StampsExpireAfterDays = set(true), set(int64(10))
	root := k.card(k.a, k.program(k.a, fields), CardFields{})
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

// A child that was given prizes goes with its stamps all the same; the claims
// of the older card stay.
func TestReversedOverflowOfAChildWithAPrize(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 2, 10)
	root := k.card(k.a, program, CardFields{})
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
	k.refuses(Conflict, func() (Stamped, error) { return k.reverse(second.Transaction.ID) })
	k.refuses(ThresholdAlreadyClaimed, func() (Stamped, error) { return k.redeem(root, prizes[0]) })
	k.ok(k.reverse(first.Transaction.ID)) // frees the claim of the card that lives
	k.ok(k.redeem(child, prizes[0]))
	k.expect(root, StatusActive, 8)
}

// Where an older card lost its stamps again, a prize is taken from the younger
// one that has reached it; stamps and the lookup go by the older.
func TestRedeemOnTheYoungerCard(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 5, 10)
	root := k.card(k.a, program, CardFields{})
	early := k.ok(k.stamp(root, 8)).Transaction.ID
	over := k.ok(k.stamp(root, 5))
	child := over.OverflowCard.ID
	k.ok(k.stamp(root, 6))
	k.ok(k.reverse(over.OverflowTransaction.ID))
	k.ok(k.reverse(early))
	k.expect(root, StatusActive, 0) // it is no child: it stays
	k.expect(child, StatusActive, 6)
	l := k.lookup(child)
	if l.Card.ID != root || l.Prizes[0].Available || len(l.EarlierCards) != 1 || l.EarlierCards[0].ID != child || !l.EarlierCards[0].Prizes[0].Available {
		t.Errorf("the lookup shows %+v", l)
	}
	if s := k.ok(k.redeem(root, prizes[0])); s.Card.ID != child {
		t.Errorf("redeemed on %+v", s.Card)
	}
	k.refuses(ThresholdAlreadyClaimed, func() (Stamped, error) { return k.redeem(root, prizes[0]) })
	// The next stamps fill the older card, then the younger, and make no third.
	s := k.ok(k.stamp(child, 14))
	if s.Card.ID != root || s.Transaction.StampsDelta != Some[int64](10) || s.OverflowCard.ID != child || s.OverflowTransaction.StampsDelta != Some[int64](4) {
		t.Errorf("the stamps went to %+v", s)
	}
	k.expect(root, StatusActive, 10)
	k.expect(child, StatusActive, 10)
}

// A card inherits from the one it overflowed from, however far down the chain.
func TestGrandchildInherits(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true) // no prizes: a full card ends with its next stamp
	root := must(k.fixture, func(tx *Tx) (IssuedCard, error) {
		return tx.IssueCard(k.a, program, CardFields{ExternalRef: set("ada"), HolderEmail: set("Ada@example.com"), ExpiresAt: set(tx.Now.Add(days(9)))}, SourceAPI)
	})
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
		t.Errorf("the grandchild came as %q", got)
	}
	// Its code is the chain's, and after a reissue nothing is installed.
	if s := k.ok(k.stamp(k.cardCode(k.key(KindCard, root.ID), 0), 1)); s.Card.ID != grandchild.ID {
		t.Errorf("the code led to %+v", s.Card)
	}
	must(k.fixture, func(tx *Tx) (IssuedCard, error) { return tx.ReissueCard(k.a, grandchild.ID, ReissueFields{}) })
	last := k.ok(k.stamp(root.ID, 9)).OverflowCard
	if last.InstalledAt.Valid || k.number("SELECT count(*) FROM cards WHERE id=? AND platform IS NOT NULL", k.key(KindCard, last.ID)) > 0 {
		t.Errorf("after a reissue the next card is installed: %+v", last.Card)
	}
	k.sound()
}

// A deleted program's cards are archived: looked at, they are there; presented,
// they are refused as such.
func TestCardsOfADeletedProgram(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 1, 10)
	card := k.card(k.a, program, CardFields{})
	row := k.ok(k.stamp(card, 2)).Transaction.ID
	k.must(func(tx *Tx) error { return tx.DeleteProgram(k.a.Shop, program) })
	if l := k.lookup(card); l.Card.Status != StatusArchived || len(l.Transactions) != 1 {
		t.Errorf("the lookup shows %+v", l)
	}
	for _, action := range []func() (Stamped, error){
		func() (Stamped, error) { return k.stamp(card, 1) },
		func() (Stamped, error) { return k.redeem(card, prizes[0]) },
		func() (Stamped, error) { return k.reverse(row) },
	} {
		k.refuses(Conflict, action)
	}
	k.sound()
}
