package store

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
)

// These tests check the till's rules (see README.md) one by one.

// TestOrderOfRefusals adds reasons for a refusal one by one. The last one added must be reported.
func TestOrderOfRefusals(t *testing.T) {
	k := startTill(t)
	fields := stamps("Coffee")
	fields.LocationScope, fields.ScopedLocationIDs = set("selected_locations"), set([]string{k.location})
	program := k.program(k.a, fields)
	card := k.card(k.a, program, CardFields{ExpiresAt: set(k.clock.at().Add(time.Hour))})
	action := func() (Stamped, error) { return k.stamp(card, 1) }
	must(k.fixture, func(tx *Tx) (ProgramDetail, error) {
		return tx.UpdateProgramSettings(k.a.Shop, program, ProgramSettings{MinSpendCents: set(int64(100))})
	})
	k.refuses(SpendRequired, action) // the action's own rules are checked last
	k.lock(card, true)
	k.refuses(CardSuspended, action)
	k.clock.move(2 * time.Hour)
	_, err := action()
	refused(t, err, CardExpired)
	k.must(func(tx *Tx) error { _, err := tx.ArchiveCard(k.a.Shop, card); return err })
	k.refuses(Conflict, action)
	k.action(program, Suspend)
	k.refuses(CardSuspended, action)
	here := k.device
	k.device = k.till(k.a).device
	k.refuses(Unprocessable, action)
	k.refuses(Unprocessable, func() (Stamped, error) { return k.use(card) })
	k.device = here
	k.refuses(Unprocessable, func() (Stamped, error) { return k.use(card) })
	k.refuses(Unprocessable, func() (Stamped, error) { return k.topUp(card, 1) })
	k.must(func(tx *Tx) error { return tx.EraseCard(k.a.Shop, card) })
	k.refuses(NotFound, action)
	for _, text := range []string{"", "crd_", "no card", k.ID(KindCard, 1<<40), k.ID(KindProgram, 1)} {
		k.refuses(NotFound, func() (Stamped, error) { return k.stamp(text, 1) })
	}
	k.checkFile()
}

func TestCardOfAnotherShopIsUnknown(t *testing.T) {
	k := startTill(t)
	theirs := k.withLedger(k.shop(ShopFields{}))
	k.refuses(NotFound, func() (Stamped, error) { return k.stamp(theirs.card, 1) })
	k.refuses(NotFound, func() (Stamped, error) {
		return k.stamp(k.cardCode(k.key(KindCard, theirs.card), 0), 1)
	})
	row := k.row(theirs, "stamp")
	k.refuses(NotFound, func() (Stamped, error) { return k.reverse(row) })
}

func TestEveryActionIsForItsTypes(t *testing.T) {
	k := startTill(t)
	private := stamps("Secret")
	private.Type = set("private")
	cards := map[string]string{}
	for kind, fields := range map[string]ProgramFields{"standard": stamps("Coffee"), "private": private, "prepaid": prepaid("Gift", 1000), "access": access("Club"), "discount": discount("Off")} {
		cards[kind] = k.card(k.a, k.program(k.a, fields), CardFields{})
	}
	for name, action := range map[string]struct {
		do    func(card string) (Stamped, error)
		types []string
	}{
		"stamp":  {func(c string) (Stamped, error) { return k.stamp(c, 1) }, []string{"standard", "private"}},
		"redeem": {func(c string) (Stamped, error) { return k.redeem(c, "prz_") }, nil},
		"top up": {func(c string) (Stamped, error) { return k.topUp(c, 5) }, []string{"prepaid"}},
		"spend":  {func(c string) (Stamped, error) { return k.spend(c, 5) }, []string{"prepaid"}},
		"use":    {func(c string) (Stamped, error) { return k.use(c) }, []string{"access", "discount"}},
	} {
		for kind, card := range cards {
			_, err := action.do(card)
			switch {
			case slices.Contains(action.types, kind):
				if err != nil {
					t.Errorf("%s of a %s card: %v", name, kind, err)
				}
			case name == "redeem" && (kind == "standard" || kind == "private"):
				refused(t, err, NotFound) // there is no such prize
			default:
				refused(t, err, Unprocessable)
			}
		}
	}
	for kind, want := range map[string]string{"access": "access", "discount": "discount"} {
		s := k.ok(k.use(cards[kind]))
		if s.Transaction.Type != want || s.Transaction.StampsDelta.Valid || s.Transaction.ValueDelta.Valid || s.Card.ID != cards[kind] {
			t.Errorf("a use is %+v", s)
		}
	}
	k.checkFile()
}

func TestExpiryRowOncePerExpiryDate(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 5)
	soon := func() Opt[Time] { return set(k.clock.at().Add(time.Hour)) }
	card := k.card(k.a, program, CardFields{ExpiresAt: soon()})
	expire := func(want int64, action func() (Stamped, error)) {
		t.Helper()
		before := k.rows()
		_, err := action()
		refused(t, err, CardExpired)
		var kept *CommittedRefusal
		if got := k.rows() - before; got != want || errors.As(err, &kept) != (want > 0) {
			t.Errorf("%d rows and %T, want %d", got, err, want)
		}
	}
	stamp := func() (Stamped, error) { return k.stamp(card, 1) }
	k.clock.move(time.Hour) // to the instant of the expiry
	expire(1, stamp)
	expire(0, stamp)
	expire(0, func() (Stamped, error) { return k.redeem(card, prizes[0]) })
	if got := k.lines("SELECT concat_ws(',', type, stamps_delta, value_delta, location_id) FROM transactions"); !slices.Equal(got, []string{fmt.Sprint("expiry,", k.device.Location)}) {
		t.Errorf("the ledger has %q", got)
	}
	k.expect(card, StatusExpired, 0)
	k.must(func(tx *Tx) error {
		_, err := tx.UpdateCard(k.a, card, CardPatch{ExpiresAt: soon()})
		return err
	})
	row := k.ok(k.stamp(card, 2)).Transaction.ID
	k.clock.move(2 * time.Hour)
	expire(1, func() (Stamped, error) { return k.reverse(row) })
	expire(0, stamp)
	k.checkFile()
}

func TestStampFillsAndOverflows(t *testing.T) {
	for _, c := range []struct {
		have, give       int64
		repeat           bool
		code             Code
		first, second    int64 // stamps of the two rows
		parent, childHas int64 // stamps on the cards afterwards
	}{
		{have: 0, give: 4, repeat: true, first: 4, parent: 4},
		{have: 7, give: 3, repeat: true, first: 3, parent: 10},
		{have: 8, give: 5, repeat: true, first: 2, second: 3, parent: 10, childHas: 3},
		{have: 8, give: 12, repeat: true, first: 2, second: 10, parent: 10, childHas: 10},
		{have: 8, give: 13, repeat: true, code: Unprocessable},
		{have: 0, give: 20, repeat: true, first: 10, second: 10, parent: 10, childHas: 10},
		{have: 0, give: 21, repeat: true, code: Unprocessable},
		{have: 10, give: 3, repeat: true, first: 3, parent: 10, childHas: 3},
		{have: 10, give: 11, repeat: true, code: Unprocessable},
		{have: 8, give: 5, first: 2, parent: 10},
		{have: 0, give: 100, first: 10, parent: 10},
		{have: 10, give: 1, code: CardFullNoRepeat},
	} {
		t.Run(fmt.Sprintf("%d and %d, repeat %t", c.have, c.give, c.repeat), func(t *testing.T) {
			k := startTill(t)
			program, _ := k.ladder(c.repeat, 10)
			card := k.card(k.a, program, CardFields{})
			if c.have > 0 {
				k.ok(k.stamp(card, c.have))
			}
			if c.code != "" {
				k.refuses(c.code, func() (Stamped, error) { return k.stamp(card, c.give) })
				k.expect(card, map[bool]string{true: StatusActive, false: StatusInvited}[c.have > 0], c.have)
				return
			}
			s := k.ok(k.stamp(card, c.give))
			k.expect(card, StatusActive, c.parent)
			if s.Transaction.StampsDelta != Some(c.first) || s.Transaction.ValueDelta.Valid || s.Transaction.PrizeID.Valid {
				t.Errorf("the first row is %+v, want %d stamps", s.Transaction, c.first)
			}
			child := s.Card
			if c.second > 0 {
				if s.OverflowTransaction == nil || s.OverflowTransaction.StampsDelta != Some(c.second) || s.Card.ID != card {
					t.Fatalf("the second row is %+v, want %d stamps", s.OverflowTransaction, c.second)
				}
				child = *s.OverflowCard
			} else if s.OverflowTransaction != nil || s.OverflowCard != nil {
				t.Errorf("a second row %+v", s.OverflowTransaction)
			}
			if (child.ID != card) != (c.childHas > 0) {
				t.Fatalf("the stamps went to %+v", child)
			}
			if c.childHas > 0 {
				k.expect(child.ID, StatusActive, c.childHas)
			}
		})
	}
}

func TestChildInheritsAndNothingElseIsAsked(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 10)
	issued := must(k.fixture, func(tx *Tx) (IssuedCard, error) {
		return tx.IssueCard(k.a, program, CardFields{ExternalRef: set("ada"), HolderName: set("Ada"), HolderEmail: set("ada@example.com"), ExpiresAt: set(tx.Now.Add(days(9)))}, SourceAPI)
	})
	if _, err := k.install(issued.InstallURL); err != nil {
		t.Fatal(err)
	}
	k.must(func(tx *Tx) error { _, err := tx.UpdateShop(k.a.Shop, ShopFields{MaxCards: set(int64(1))}); return err })
	k.action(program, Unpublish)
	parent, child := k.get(issued.ID).Card, k.ok(k.stamp(issued.ID, 12)).OverflowCard.Card
	want := parent
	want.ID, want.StampsCount, want.CreatedAt = child.ID, 2, k.clock.at()
	if child != want {
		t.Errorf("the child is %+v\nwant %+v", child, want)
	}
	if got := k.lines("SELECT concat_ws(',', source, platform, parent_id, root_id) FROM cards WHERE id=?", k.key(KindCard, child.ID)); got[0] != fmt.Sprintf("overflow,apple,%[1]d,%[1]d", k.key(KindCard, parent.ID)) {
		t.Errorf("the source of the child is %q", got)
	}
	if n := k.number("SELECT live_cards FROM shops WHERE id=?", k.a.Shop); n != 1 {
		t.Errorf("the chain counts as %d live cards", n)
	}
	// Every id and code of the chain leads to the same card.
	for i, text := range []string{parent.ID, child.ID, k.cardCode(k.key(KindCard, parent.ID), 0)} {
		if s := k.ok(k.stamp(text, 1)); s.Card.ID != child.ID || s.Card.StampsCount != int64(i)+3 {
			t.Errorf("a stamp went to %+v", s.Card)
		}
	}
	k.checkFile()
}

func TestReissueEndsTheCode(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	card := k.card(k.a, program, CardFields{})
	old := k.cardCode(k.key(KindCard, card), 0)
	k.ok(k.stamp(old, 4))
	must(k.fixture, func(tx *Tx) (IssuedCard, error) { return tx.ReissueCard(k.a, card, ReissueFields{}) })
	k.expect(card, StatusInvited, 4)
	k.refuses(NotFound, func() (Stamped, error) { return k.stamp(old, 1) })
	k.ok(k.stamp(k.cardCode(k.key(KindCard, card), 1), 1))
	k.expect(card, StatusActive, 5)
}

func TestCompleteCardIsArchivedAtItsNextStamp(t *testing.T) {
	for name, thresholds := range map[string][]int64{"no prizes": nil, "highest claimed below the total": {4, 8}} {
		t.Run(name, func(t *testing.T) {
			k := startTill(t)
			program, prizes := k.ladder(true, thresholds...)
			card := k.card(k.a, program, CardFields{})
			k.ok(k.stamp(card, 9))
			if prizes != nil {
				s := k.ok(k.redeem(card, prizes[1]))
				if s.Transaction.StampsDelta != Some[int64](0) || s.Card.StampsCount != 9 {
					t.Errorf("a redemption of a lower prize is %+v", s)
				}
			}
			k.ok(k.stamp(card, 1))
			k.expect(card, StatusActive, 10)
			s := k.ok(k.stamp(card, 2))
			if s.Card.ID == card || s.Card.StampsCount != 2 || s.OverflowTransaction != nil {
				t.Errorf("the next stamp gives %+v", s)
			}
			k.expect(card, StatusArchived, 10)
			k.expect(s.Card.ID, StatusActive, 2)
			if n := k.number("SELECT count(*) FROM cycles WHERE card_id=?", k.key(KindCard, card)); n != 1 {
				t.Errorf("%d completed cycles", n)
			}
			// The id of the archived first card still finds the chain.
			if s := k.ok(k.stamp(card, 1)); s.Card.StampsCount != 3 {
				t.Errorf("a stamp by the first card's id gives %+v", s.Card)
			}
		})
	}
}

func TestRedeemGoesToTheOldestLiveInstance(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 5, 5, 10)
	root := k.card(k.a, program, CardFields{})
	child := k.ok(k.stamp(root, 17)).OverflowCard.ID
	redeem := func(prize, want string) {
		t.Helper()
		if s := k.ok(k.redeem(child, prize)); s.Card.ID != want || s.Transaction.CardID != want || s.Transaction.PrizeID != Some(prize) || s.Transaction.Type != "redemption" {
			t.Errorf("redeemed on %+v", s)
		}
	}
	redeem(prizes[0], root)
	redeem(prizes[1], child) // the other option of that threshold is used up on the first card
	k.refuses(ThresholdAlreadyClaimed, func() (Stamped, error) { return k.redeem(root, prizes[0]) })
	redeem(prizes[2], root)
	k.expect(root, StatusArchived, 10) // it has a child, so it is archived
	k.expect(child, StatusActive, 7)
	k.refuses(Unprocessable, func() (Stamped, error) { return k.redeem(root, prizes[2]) })
	_, foreign := k.ladder(true, 1)
	k.refuses(NotFound, func() (Stamped, error) { return k.redeem(root, foreign[0]) })
}

func TestRedeemingTheHighestCompletesTheCycle(t *testing.T) {
	t.Run("repeat, no child", func(t *testing.T) {
		k := startTill(t)
		program, prizes := k.ladder(true, 5, 10)
		card := k.card(k.a, program, CardFields{})
		for range 3 {
			k.ok(k.stamp(card, 10))
			k.ok(k.redeem(card, prizes[0]))
			if s := k.ok(k.redeem(card, prizes[1])); s.Transaction.StampsDelta != Some[int64](-10) {
				t.Errorf("the row is %+v", s.Transaction)
			}
			k.expect(card, StatusActive, 0)
		}
		if n := k.number("SELECT count(*) FROM cycles"); n != 3 {
			t.Errorf("%d completed cycles, want 3", n)
		}
	})
	t.Run("repeat, with a child", func(t *testing.T) {
		k := startTill(t)
		program, prizes := k.ladder(true, 10)
		card := k.card(k.a, program, CardFields{})
		child := k.ok(k.stamp(card, 11)).OverflowCard.ID
		if s := k.ok(k.redeem(card, prizes[0])); s.Transaction.StampsDelta != Some[int64](0) || s.Card.ID != card || s.Card.Status != StatusArchived {
			t.Errorf("the answer is %+v", s)
		}
		k.expect(card, StatusArchived, 10)
		k.expect(child, StatusActive, 1)
		k.ok(k.stamp(card, 9))
		if s := k.ok(k.redeem(card, prizes[0])); s.Card.ID != child || s.Card.StampsCount != 0 {
			t.Errorf("alone again, the child is %+v", s.Card)
		}
	})
	t.Run("no repeat", func(t *testing.T) {
		k := startTill(t)
		program, prizes := k.ladder(false, 5, 10)
		card := k.card(k.a, program, CardFields{})
		stamped := k.ok(k.stamp(card, 10)).Transaction.ID
		if s := k.ok(k.redeem(card, prizes[1])); s.Transaction.StampsDelta != Some[int64](0) {
			t.Errorf("the row is %+v", s.Transaction)
		}
		k.expect(card, StatusActive, 10)
		lower := k.ok(k.redeem(card, prizes[0])).Transaction.ID // can still be redeemed
		k.refuses(ThresholdAlreadyClaimed, func() (Stamped, error) { return k.redeem(card, prizes[1]) })
		k.refuses(CardFullNoRepeat, func() (Stamped, error) { return k.stamp(card, 1) })
		for _, row := range []string{stamped, lower} {
			k.refuses(CannotReverseCompletedCycle, func() (Stamped, error) { return k.reverse(row) })
		}
	})
}

func TestMinimumSpend(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	card := k.card(k.a, program, CardFields{})
	stamp := func(cents Opt[int64]) func() (Stamped, error) {
		return func() (Stamped, error) {
			return attempt(k.fixture, func(tx *Tx) (Stamped, error) { return tx.Stamp(k.device, card, StampFields{SpendCents: cents}) })
		}
	}
	k.refuses(SpendNotEnabled, stamp(set(int64(500))))
	must(k.fixture, func(tx *Tx) (ProgramDetail, error) {
		return tx.UpdateProgramSettings(k.a.Shop, program, ProgramSettings{MinSpendCents: set(int64(500))})
	})
	k.refuses(SpendRequired, stamp(Opt[int64]{}))
	k.refuses(AmountBelowMinStamp, stamp(set(int64(499))))
	k.expect(card, StatusInvited, 0)
	k.ok(stamp(set(int64(500)))())
	k.expect(card, StatusActive, 1) // count is one by default
}

func TestPrepaid(t *testing.T) {
	k := startTill(t)
	card := k.card(k.a, k.program(k.a, prepaid("Gift", 1000)), CardFields{})
	balance := func(want int64) {
		t.Helper()
		if d := k.get(card); d.CurrentValue != Some(want) {
			t.Errorf("the balance is %v, want %d", d.CurrentValue, want)
		}
		k.checkFile()
	}
	balance(1000)
	k.refuses(PrepaidInsufficientBalance, func() (Stamped, error) { return k.spend(card, 1001) })
	k.expect(card, StatusInvited, 0)
	spent := k.ok(k.spend(card, 1000))
	if spent.Transaction.ValueDelta != Some[int64](-1000) || spent.Transaction.StampsDelta.Valid || spent.Transaction.Type != "spend" {
		t.Errorf("a spend is %+v", spent.Transaction)
	}
	balance(0)
	top := k.ok(k.topUp(card, 300)).Transaction
	if top.ValueDelta != Some[int64](300) || top.Type != "topup" {
		t.Errorf("a top-up is %+v", top)
	}
	k.ok(k.spend(card, 1))
	k.refuses(PrepaidInsufficientBalance, func() (Stamped, error) { return k.reverse(top.ID) }) // below zero
	if r := k.ok(k.reverse(spent.Transaction.ID)).Transaction; r.ValueDelta != Some[int64](1000) || r.Type != "reversal" {
		t.Errorf("a reversed spend is %+v", r)
	}
	k.ok(k.reverse(top.ID))
	balance(999)
}

func TestReversal(t *testing.T) {
	t.Run("its own location, once, no other type", func(t *testing.T) {
		k := startTill(t)
		program, prizes := k.ladder(true, 5, 10)
		card := k.card(k.a, program, CardFields{})
		row := k.ok(k.stamp(card, 6)).Transaction
		other := k.till(k.a)
		k.refuses(NotFound, func() (Stamped, error) { return other.reverse(row.ID) })
		k.refuses(NotFound, func() (Stamped, error) { return k.reverse("txn_") })
		k.refuses(NotFound, func() (Stamped, error) { return k.reverse(k.ID(KindTransaction, 1<<40)) })
		redeemed := k.ok(k.redeem(card, prizes[0])).Transaction
		k.clock.move(time.Minute)
		back := k.ok(k.reverse(row.ID))
		if r := back.Transaction; r.Type != "reversal" || r.StampsDelta != Some[int64](-6) || r.CardID != card || back.Card.StampsCount != 0 || back.OverflowTransaction != nil {
			t.Errorf("the reversal is %+v", back)
		}
		if got := k.lines("SELECT reversed_at FROM transactions WHERE reversed_at IS NOT NULL AND id=?", k.key(KindTransaction, row.ID)); !slices.Equal(got, []string{fmt.Sprint(int64(k.clock.at()))}) {
			t.Errorf("the original was reversed at %q", got)
		}
		k.refuses(Conflict, func() (Stamped, error) { return k.reverse(row.ID) })
		k.refuses(Unprocessable, func() (Stamped, error) { return k.reverse(back.Transaction.ID) })
		// The claim stays after the stamps are reversed; reversing the redemption frees it.
		k.ok(k.stamp(card, 6))
		k.refuses(ThresholdAlreadyClaimed, func() (Stamped, error) { return k.redeem(card, prizes[0]) })
		if r := k.ok(k.reverse(redeemed.ID)).Transaction; r.PrizeID != Some(prizes[0]) || r.StampsDelta != Some[int64](0) {
			t.Errorf("a reversed redemption is %+v", r)
		}
		k.ok(k.redeem(card, prizes[0]))
		k.expect(card, StatusActive, 6)
	})
	t.Run("completed cycle", func(t *testing.T) {
		k := startTill(t)
		program, prizes := k.ladder(true, 5, 10)
		card := k.card(k.a, program, CardFields{})
		rows := []string{k.ok(k.stamp(card, 10)).Transaction.ID, k.ok(k.redeem(card, prizes[0])).Transaction.ID, k.ok(k.redeem(card, prizes[1])).Transaction.ID}
		k.ok(k.stamp(card, 10))
		for _, row := range rows {
			k.refuses(CannotReverseCompletedCycle, func() (Stamped, error) { return k.reverse(row) })
		}
	})
	t.Run("uses", func(t *testing.T) {
		k := startTill(t)
		for _, fields := range []ProgramFields{access("Club"), discount("Off")} {
			card := k.card(k.a, k.program(k.a, fields), CardFields{})
			row := k.ok(k.use(card)).Transaction.ID
			if r := k.ok(k.reverse(row)).Transaction; r.StampsDelta.Valid || r.ValueDelta.Valid {
				t.Errorf("a reversed use is %+v", r)
			}
			k.refuses(Conflict, func() (Stamped, error) { return k.reverse(row) })
		}
		k.checkFile()
	})
	t.Run("card refused", func(t *testing.T) {
		k := startTill(t)
		program, _ := k.ladder(true, 5, 10)
		card := k.card(k.a, program, CardFields{})
		row := k.ok(k.stamp(card, 1)).Transaction.ID
		k.lock(card, true)
		k.refuses(CardSuspended, func() (Stamped, error) { return k.reverse(row) })
		k.must(func(tx *Tx) error { _, err := tx.ArchiveCard(k.a.Shop, card); return err })
		k.refuses(Conflict, func() (Stamped, error) { return k.reverse(row) })
		k.action(program, Suspend)
		k.refuses(CardSuspended, func() (Stamped, error) { return k.reverse(row) })
		k.must(func(tx *Tx) error { return tx.EraseCard(k.a.Shop, card) })
		k.refuses(NotFound, func() (Stamped, error) { return k.reverse(row) })
	})
}

func TestReversingAnOverflowIsAllOrNothing(t *testing.T) {
	begin := func(t *testing.T) (k till, root, child string, rows []string, prizes []string) {
		k = startTill(t)
		program, prizes := k.ladder(true, 2, 10)
		root = k.card(k.a, program, CardFields{})
		k.ok(k.stamp(root, 8))
		s := k.ok(k.stamp(root, 5))
		return k, root, s.OverflowCard.ID, []string{s.Transaction.ID, s.OverflowTransaction.ID}, prizes
	}
	for i := range 2 { // the row that is reversed
		t.Run(fmt.Sprint("row ", i), func(t *testing.T) {
			k, root, child, rows, _ := begin(t)
			cards, deltas := []string{root, child}, []int64{-2, -3}
			s := k.ok(k.reverse(rows[i]))
			if s.Transaction.StampsDelta != Some(deltas[i]) || s.Card.ID != cards[i] || s.OverflowTransaction == nil || s.OverflowTransaction.StampsDelta != Some(deltas[1-i]) || s.OverflowCard.ID != cards[1-i] {
				t.Errorf("the answer is %+v", s)
			}
			k.expect(root, StatusActive, 8)
			k.expect(child, StatusArchived, 0) // without stamps
			for _, row := range rows {
				k.refuses(Conflict, func() (Stamped, error) { return k.reverse(row) })
			}
			if again := k.ok(k.stamp(root, 3)); again.OverflowCard.ID == child || again.OverflowCard.StampsCount != 1 {
				t.Errorf("the next overflow goes to %+v", again.OverflowCard)
			}
		})
	}
	t.Run("a child with stamps of its own stays", func(t *testing.T) {
		k, root, child, rows, _ := begin(t)
		k.ok(k.stamp(root, 1))
		k.ok(k.reverse(rows[1]))
		k.expect(root, StatusActive, 8)
		k.expect(child, StatusActive, 1)
		// Both cards have room: the oldest takes the next stamps, and the existing child the rest.
		s := k.ok(k.stamp(root, 4))
		if s.Card.ID != root || s.OverflowCard == nil || s.OverflowCard.ID != child {
			t.Errorf("the stamps went to %+v", s)
		}
		k.refuses(Unprocessable, func() (Stamped, error) { return k.stamp(root, 18) })
	})
	t.Run("nothing when one cannot", func(t *testing.T) {
		k, root, child, rows, prizes := begin(t)
		k.ok(k.redeem(root, prizes[1])) // completes and archives the first card
		for _, row := range rows {
			k.refuses(CannotReverseCompletedCycle, func() (Stamped, error) { return k.reverse(row) })
		}
		k.expect(root, StatusArchived, 10)
		k.expect(child, StatusActive, 3)
	})
	t.Run("a child that a full card's stamp opened", func(t *testing.T) {
		k, root, _, rows, _ := begin(t)
		k.ok(k.reverse(rows[0]))
		k.ok(k.stamp(root, 2))
		s := k.ok(k.stamp(root, 1))
		if s.Card.ID == root {
			t.Fatalf("the full card took %+v", s.Transaction)
		}
		k.ok(k.reverse(s.Transaction.ID))
		k.expect(s.Card.ID, StatusArchived, 0)
		k.expect(root, StatusActive, 10)
	})
	t.Run("the last live card is never archived", func(t *testing.T) {
		k := startTill(t)
		program, _ := k.ladder(true)
		root := k.card(k.a, program, CardFields{})
		k.ok(k.stamp(root, 10))
		s := k.ok(k.stamp(root, 1)) // archives the first card
		k.ok(k.reverse(s.Transaction.ID))
		k.expect(s.Card.ID, StatusActive, 0)
		k.ok(k.stamp(root, 1))
	})
}

func TestStampsExpire(t *testing.T) {
	begin := func(t *testing.T, repeat bool) (k till, card string, prizes []string) {
		k = startTill(t)
		fields := stamps("Coffee")
		fields.RepeatAfterReset, fields.StampsExpireAfterDays = set(repeat), set(int64(10))
		program, prizes := k.ladderOf(fields, 3, 10)
		return k, k.card(k.a, program, CardFields{}), prizes
	}
	kinds := func(k till) string {
		return strings.Join(k.lines("SELECT concat_ws(' ', type, stamps_delta) FROM transactions ORDER BY id"), ", ")
	}
	t.Run("as one row before the action", func(t *testing.T) {
		k, card, _ := begin(t, true)
		old := k.ok(k.stamp(card, 2)).Transaction.ID
		k.ok(k.stamp(card, 1))
		k.clock.move(days(6))
		k.ok(k.stamp(card, 3))
		k.clock.move(days(4) - time.Millisecond)
		k.ok(k.stamp(card, 1)) // not yet expired
		k.clock.move(time.Millisecond)
		if k.get(card).StampsCount != 7 || k.lookup(card).Card.StampsCount != 7 {
			t.Error("a lookup expired stamps")
		}
		if s := k.ok(k.stamp(card, 1)); s.Transaction.StampsDelta != Some[int64](1) || s.Card.StampsCount != 5 {
			t.Errorf("the answer is %+v", s)
		}
		if got := kinds(k); got != "stamp 2, stamp 1, stamp 3, stamp 1, expiry -3, stamp 1" {
			t.Errorf("the ledger has %s", got)
		}
		k.refuses(Unprocessable, func() (Stamped, error) { return k.reverse(old) })
		k.checkFile()
	})
	t.Run("the row stays although the action is refused", func(t *testing.T) {
		k, card, prizes := begin(t, true)
		k.ok(k.stamp(card, 4))
		k.clock.move(days(10))
		_, err := k.redeem(card, prizes[0])
		refused(t, err, Unprocessable)
		var kept *CommittedRefusal
		if !errors.As(err, &kept) || kinds(k) != "stamp 4, expiry -4" {
			t.Errorf("%T, and the ledger has %s", err, kinds(k))
		}
		k.expect(card, StatusActive, 0)
		k.refuses(Unprocessable, func() (Stamped, error) { return k.redeem(card, prizes[0]) })
	})
	t.Run("claims survive, but not down to nothing", func(t *testing.T) {
		k, card, prizes := begin(t, true)
		k.ok(k.stamp(card, 3))
		claim := k.ok(k.redeem(card, prizes[0])).Transaction.ID
		k.clock.move(days(9))
		k.ok(k.stamp(card, 4))
		k.clock.move(days(1))
		_, err := k.redeem(card, prizes[0])
		refused(t, err, ThresholdAlreadyClaimed)
		k.expect(card, StatusActive, 4)
		k.clock.move(days(10))
		k.ok(k.stamp(card, 3))
		k.expect(card, StatusActive, 3)
		k.ok(k.redeem(card, prizes[0])) // starts a new cycle
		if n := k.number("SELECT count(*) FROM cycles"); n != 0 {
			t.Errorf("%d cycles count as completed", n)
		}
		k.ok(k.reverse(claim)) // the old cycle was not completed
		k.refuses(ThresholdAlreadyClaimed, func() (Stamped, error) { return k.redeem(card, prizes[0]) })
	})
	t.Run("reversed stamps and those of completed cycles do not", func(t *testing.T) {
		k, card, prizes := begin(t, true)
		k.ok(k.stamp(card, 10))
		k.ok(k.redeem(card, prizes[1]))
		k.ok(k.reverse(k.ok(k.stamp(card, 2)).Transaction.ID))
		k.clock.move(days(11))
		k.ok(k.stamp(card, 1))
		if got := kinds(k); got != "stamp 10, redemption -10, stamp 2, reversal -2, stamp 1" {
			t.Errorf("the ledger has %s", got)
		}
	})
	t.Run("one row for each card of a chain", func(t *testing.T) {
		k, card, _ := begin(t, true)
		child := k.ok(k.stamp(card, 12)).OverflowCard.ID
		k.clock.move(days(10))
		s := k.ok(k.stamp(card, 1))
		if got := kinds(k); got != "stamp 10, stamp 2, expiry -10, expiry -2, stamp 1" || s.Card.ID != card {
			t.Errorf("the ledger has %s, the stamp is on %+v", got, s.Card)
		}
		k.expect(card, StatusActive, 1)
		k.expect(child, StatusActive, 0)
	})
	t.Run("not at an expired card", func(t *testing.T) {
		k, card, _ := begin(t, true)
		k.ok(k.stamp(card, 4))
		k.must(func(tx *Tx) error {
			_, err := tx.UpdateCard(k.a, card, CardPatch{ExpiresAt: set(tx.Now.Add(days(1)))})
			return err
		})
		k.clock.move(days(10))
		_, err := k.stamp(card, 1)
		refused(t, err, CardExpired)
		if got := kinds(k); got != "stamp 4, expiry" {
			t.Errorf("the ledger has %s", got)
		}
	})
	t.Run("room again on a full card that does not repeat", func(t *testing.T) {
		k, card, _ := begin(t, false)
		k.ok(k.stamp(card, 10))
		k.clock.move(days(10))
		k.ok(k.stamp(card, 1))
		k.expect(card, StatusActive, 1)
	})
}

func TestOnlyAnAcceptedPresentationActivates(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(false, 0, 10)
	card := k.card(k.a, program, CardFields{})
	k.refuses(Unprocessable, func() (Stamped, error) { return k.redeem(card, prizes[1]) })
	k.refuses(SpendNotEnabled, func() (Stamped, error) {
		return attempt(k.fixture, func(tx *Tx) (Stamped, error) {
			return tx.Stamp(k.device, card, StampFields{SpendCents: set(int64(5))})
		})
	})
	k.lookup(card)
	k.expect(card, StatusInvited, 0)
	k.ok(k.redeem(card, prizes[0])) // a prize that needs no stamps
	k.expect(card, StatusActive, 0)
}

func TestIssueAtTheCounter(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	issue := func(ref string) (IssuedCard, error) {
		return attempt(k.fixture, func(tx *Tx) (IssuedCard, error) {
			return tx.IssueAtCounter(k.device, program, CounterFields{HolderName: set("Ada"), ExternalRef: optional(ref)})
		})
	}
	c, err := issue("ada")
	if err != nil {
		t.Fatal(err)
	}
	if d := k.get(c.ID); d.Status != StatusActive || d.HolderName.V != "Ada" || d.InstalledAt.Valid || c.InstallURL == "" {
		t.Errorf("the card is %+v", d.Card)
	}
	if got := k.lines("SELECT concat_ws(',', source, first_location_id) FROM cards"); got[0] != fmt.Sprint("counter,", k.device.Location) {
		t.Errorf("the source of the card is %q", got)
	}
	// A holder has one live card in a program, whoever issues it.
	_, err = issue("ada")
	refused(t, err, Conflict)
	_, err = attempt(k.fixture, func(tx *Tx) (IssuedCard, error) {
		return tx.IssueCard(k.a, program, CardFields{ExternalRef: set("ada")}, SourceAPI)
	})
	refused(t, err, Conflict)
	k.ok(k.stamp(c.ID, 12)) // complete and archived, but its child is live
	_, err = issue("ada")
	refused(t, err, Conflict)
	k.must(func(tx *Tx) error { _, err := tx.ArchiveCard(k.a.Shop, k.lookup(c.ID).Card.ID); return err })
	if _, err = issue("ada"); err != nil {
		t.Error(err)
	}
	k.must(func(tx *Tx) error { _, err := tx.UpdateShop(k.a.Shop, ShopFields{MaxCards: set(int64(1))}); return err })
	_, err = issue("")
	refused(t, err, Unprocessable)
	k.must(func(tx *Tx) error { _, err := tx.UpdateShop(k.a.Shop, ShopFields{MaxCards: null[int64]()}); return err })
	k.action(program, Suspend)
	_, err = issue("")
	refused(t, err, Unprocessable)
	narrow := stamps("Elsewhere")
	narrow.LocationScope, narrow.ScopedLocationIDs = set("selected_locations"), set([]string{k.fixture.location(k.a)})
	program = k.program(k.a, narrow)
	_, err = issue("")
	refused(t, err, Unprocessable)
	program = k.draft(k.a, stamps("Draft"))
	_, err = issue("")
	refused(t, err, Unprocessable)
	program = "prg_"
	_, err = issue("")
	refused(t, err, NotFound)
	k.checkFile()
}

func TestLookup(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 5, 5, 10)
	root := k.card(k.a, program, CardFields{HolderName: set("Ada")})
	before := k.dump()
	if l := k.lookup(root); l.Card.ID != root || l.Card.Status != StatusInvited || len(l.Prizes) != 3 || len(l.EarlierCards)+len(l.Transactions) != 0 || l.Program.ID != program {
		t.Errorf("a fresh card looks like %+v", l)
	}
	if k.dump() != before {
		t.Error("a lookup writes")
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
		if now, earlier := state(l.Prizes), state(l.EarlierCards[0].Prizes); now != "available available - " || earlier != "- claimed available " {
			t.Errorf("prizes are %q, of the earlier card %q", now, earlier)
		}
	}
	for range 9 {
		k.ok(k.stamp(k.card(k.a, program, CardFields{}), 1)) // of other cards
		k.ok(k.reverse(k.ok(k.stamp(root, 1)).Transaction.ID))
	}
	l := k.lookup(root)
	want := k.lines("SELECT id FROM transactions WHERE card_id IN (SELECT id FROM cards WHERE id=?1 OR root_id=?1) ORDER BY id DESC LIMIT 10", k.key(KindCard, root))
	var got []string
	for _, row := range l.Transactions {
		got = append(got, fmt.Sprint(k.key(KindTransaction, row.ID)))
	}
	if !slices.Equal(got, want) || len(got) != 10 || l.Transactions[0].Type != "reversal" {
		t.Errorf("the last ten are %v, want %v", got, want)
	}
	// A lookup is refused in no state of the card, but the card must exist.
	k.lock(root, true)
	if l := k.lookup(root); l.Card.Status != StatusLocked {
		t.Errorf("a locked card is %+v", l.Card)
	}
	k.action(program, Suspend)
	k.must(func(tx *Tx) error { _, err := tx.ArchiveCard(k.a.Shop, root); return err })
	if l := k.lookup(root); l.Card.Status != StatusArchived || len(l.EarlierCards) != 0 {
		t.Errorf("an archived chain is %+v", l)
	}
	k.must(func(tx *Tx) error { return tx.DeleteProgram(k.a.Shop, program) })
	k.lookup(root)
	k.must(func(tx *Tx) error { return tx.EraseCard(k.a.Shop, root) })
	err := k.View(0, func(v *View) error { _, err := v.Lookup(k.device, root); return err })
	refused(t, err, NotFound)
}

func TestInstall(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 10)
	issue := func(f CardFields) IssuedCard {
		return must(k.fixture, func(tx *Tx) (IssuedCard, error) { return tx.IssueCard(k.a, program, f, SourceAPI) })
	}
	for name, spoil := range map[string]struct {
		do   func(c IssuedCard)
		code Code
	}{
		"expired link": {func(IssuedCard) { k.clock.move(days(30)) }, Gone},
		"expired card": {func(c IssuedCard) {
			must(k.fixture, func(tx *Tx) (CardDetail, error) {
				return tx.UpdateCard(k.a, c.ID, CardPatch{ExpiresAt: set(tx.Now.Add(time.Hour))})
			})
			k.clock.move(time.Hour)
		}, CardExpired},
		"locked card": {func(c IssuedCard) { k.lock(c.ID, true) }, Conflict},
		"archived card": {func(c IssuedCard) {
			k.must(func(tx *Tx) error { _, err := tx.ArchiveCard(k.a.Shop, c.ID); return err })
		}, Gone},
		"replaced link": {func(c IssuedCard) {
			must(k.fixture, func(tx *Tx) (IssuedCard, error) { return tx.NewInstallLink(k.a, c.ID, LinkFields{}) })
		}, Gone},
		"erased card": {func(c IssuedCard) { k.must(func(tx *Tx) error { return tx.EraseCard(k.a.Shop, c.ID) }) }, NotFound},
	} {
		c := issue(CardFields{})
		spoil.do(c)
		_, err := k.install(c.InstallURL)
		if e, ok := AsError(err); !ok || e.Code != spoil.code {
			t.Errorf("%s: %v, want %s", name, err, spoil.code)
		}
		err = k.View(0, func(v *View) error { _, err := v.HolderCard(path.Base(c.InstallURL)); return err })
		if e, ok := AsError(err); !ok || e.Code != spoil.code {
			t.Errorf("%s, shown: %v, want %s", name, err, spoil.code)
		}
	}
	detail := func() (d ProgramDetail) {
		k.view(func(v *View) (err error) { d, err = v.Program(k.a, program); return err })
		return d
	}
	if detail().HasInstalledCards {
		t.Error("the program is locked before any card was installed")
	}
	// The whole chain is installed, also if that is repeated.
	c := issue(CardFields{HolderName: set("Ada")})
	child := k.ok(k.stamp(c.ID, 13)).OverflowCard.ID
	installed := k.clock.at()
	for range 2 {
		out, err := k.install(c.InstallURL)
		if d := k.get(c.ID); err != nil || out != (Installation{c.InstallURL, "apple", installed}) || d.Status != StatusActive || d.InstalledAt != Some(installed) {
			t.Fatalf("installed is %+v, %+v, %v", out, d, err)
		}
		k.clock.move(time.Hour)
	}
	if d := k.get(child); d.InstalledAt != Some(installed) {
		t.Errorf("the child is %+v", d.Card)
	}
	k.view(func(v *View) error {
		h, err := v.HolderCard(path.Base(c.InstallURL))
		if err != nil || h.Code != k.cardCode(k.key(KindCard, c.ID), 0) || h.ShortCode != k.shortCode(c.ID) || h.Card.ID != child {
			t.Errorf("the holder sees %+v, %v", h, err)
		}
		return nil
	})
	_, err := attempt(k.fixture, func(tx *Tx) (CardDetail, error) {
		return tx.UpdateCard(k.a, child, CardPatch{HolderName: set("Grace")})
	})
	refused(t, err, CardLocked)
	// The program stays locked without any card.
	must(k.fixture, func(tx *Tx) (IssuedCard, error) { return tx.ReissueCard(k.a, c.ID, ReissueFields{}) })
	k.must(func(tx *Tx) error { return tx.EraseCard(k.a.Shop, c.ID) })
	if !detail().HasInstalledCards {
		t.Error("the program is unlocked")
	}
	_, err = attempt(k.fixture, func(tx *Tx) (ProgramDetail, error) {
		return tx.UpdateProgram(k.a, program, ProgramFields{Name: set("Tea")})
	})
	refused(t, err, ProgramHasInstalledCards)
	k.checkFile()
}

func TestEraseScrubsTheLedger(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 5, 10)
	k.hook(k.a, program, hookFields{})
	card := k.card(k.a, program, CardFields{HolderName: set(personal)})
	note := metadata(`{"note":"` + personal + `"}`)
	s := must(k.fixture, func(tx *Tx) (Stamped, error) {
		return tx.Stamp(k.device, card, StampFields{Count: set(int64(12)), Metadata: note})
	})
	must(k.fixture, func(tx *Tx) (Stamped, error) {
		return tx.Redeem(k.device, card, RedeemFields{PrizeID: set(prizes[0]), Metadata: note})
	})
	must(k.fixture, func(tx *Tx) (Stamped, error) { return tx.Reverse(k.device, s.Transaction.ID, note) })
	if n := k.number("SELECT count(*) FROM transactions WHERE metadata IS NOT NULL"); n != 5 {
		t.Errorf("%d rows with metadata, want 5", n)
	}
	rows := k.rows()
	k.must(func(tx *Tx) error { return tx.EraseCard(k.a.Shop, s.OverflowCard.ID) })
	for _, line := range strings.Split(k.dump(), "\n") {
		if strings.Contains(line, personal) || strings.Contains(line, fmt.Sprintf("%X", personal)) {
			t.Errorf("the ledger still has %s", line)
		}
	}
	if k.rows() != rows {
		t.Error("the ledger lost rows")
	}
	k.checkFile()
}

func TestRedeemedPrizeStays(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 1, 2)
	card := k.card(k.a, program, CardFields{})
	k.ok(k.stamp(card, 1))
	k.ok(k.reverse(k.ok(k.redeem(card, prizes[0])).Transaction.ID))
	// A redeemed prize cannot be deleted, even if the redemption was reversed.
	refused(t, k.do(func(tx *Tx) error { return tx.DeletePrize(k.a, program, prizes[0]) }), Conflict)
	k.must(func(tx *Tx) error { return tx.DeletePrize(k.a, program, prizes[1]) })
}

// TestReversalKeepsTheOlderOfTwoEmptyCards checks that of two cards without stamps the younger is
// archived.
func TestReversalKeepsTheOlderOfTwoEmptyCards(t *testing.T) {
	for named := range 2 {
		k := startTill(t)
		fields := stamps("Coffee")
		fields.RepeatAfterReset, fields.TotalStamps = set(true), set(int64(1))
		program, prizes := k.ladderOf(fields, 1)
		root := k.card(k.a, program, CardFields{})
		k.ok(k.stamp(root, 1))
		child := k.ok(k.stamp(root, 1))
		k.ok(k.redeem(root, prizes[0]))
		k.ok(k.reverse(child.Transaction.ID))
		s := k.ok(k.stamp(root, 2))
		k.ok(k.reverse([]string{s.Transaction.ID, s.OverflowTransaction.ID}[named]))
		k.expect(child.Card.ID, StatusActive, 0)
		k.expect(s.OverflowCard.ID, StatusArchived, 0)
	}
}

func TestGrandchildIsTheYoungestCardsChild(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 10)
	root := k.card(k.a, program, CardFields{})
	child := k.ok(k.stamp(root, 20)).OverflowCard.ID
	s := k.ok(k.stamp(root, 1))
	if got := k.number("SELECT parent_id FROM cards WHERE id=?", k.key(KindCard, s.Card.ID)); got != k.key(KindCard, child) {
		t.Errorf("the third card overflowed from %d, want the second", got)
	}
}
