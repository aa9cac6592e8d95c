package store

import (
	"fmt"
	"testing"
)

func TestStampFillsAndOverflows(t *testing.T) {
	t.Parallel()
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
			card := k.card(program)
			if c.have > 0 {
				k.ok(k.stamp(card, c.have))
			}
			if c.code != "" {
				k.refuses(c.code)(k.stamp(card, c.give))
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
				t.Errorf("there is a second row: %+v", s.OverflowTransaction)
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

// TestChildInherits checks that a child has its parent's data, and that an overflow needs neither a
// published program nor room under max_cards.
func TestChildInherits(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, _ := k.ladder(true, 10)
	issued := k.issue(program, CardFields{ExternalRef: set("ada"), HolderName: set("Ada"), HolderEmail: set("ada@example.com"), ExpiresAt: set(k.clock.at().Add(days(9)))})
	if _, err := k.install(issued.InstallURL); err != nil {
		t.Fatal(err)
	}
	k.updateShop(ShopFields{MaxCards: set(int64(1))})
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
	k.selects(1, "SELECT live_cards FROM shops WHERE id=?", k.a.Shop)
	// Every id and code of the chain leads to the same card.
	for i, text := range []string{parent.ID, child.ID, k.cardCode(k.key(KindCard, parent.ID), 0)} {
		if s := k.ok(k.stamp(text, 1)); s.Card.ID != child.ID || s.Card.StampsCount != int64(i)+3 {
			t.Errorf("a stamp went to %+v", s.Card)
		}
	}
	k.checkFile()
}

func TestCompleteCardIsArchivedAtItsNextStamp(t *testing.T) {
	t.Parallel()
	for name, thresholds := range map[string][]int64{"no prizes": nil, "highest claimed below the total": {4, 8}} {
		t.Run(name, func(t *testing.T) {
			k := startTill(t)
			program, prizes := k.ladder(true, thresholds...)
			card := k.card(program)
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
			k.selects(1, "SELECT count(*) FROM cycles WHERE card_id=?", k.key(KindCard, card))
			// The id of the archived first card still finds the chain.
			if s := k.ok(k.stamp(card, 1)); s.Card.StampsCount != 3 {
				t.Errorf("a stamp by the first card's id gives %+v", s.Card)
			}
		})
	}
}

func TestMinimumSpend(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, _ := k.ladder(true)
	card := k.card(program)
	stamp := func(cents Opt[int64]) func() (Stamped, error) {
		return func() (Stamped, error) {
			return attempt(k.fixture, func(tx *Tx) (Stamped, error) { return tx.Stamp(k.device, card, StampFields{SpendCents: cents}) })
		}
	}
	k.refuses(SpendNotEnabled)(stamp(set(int64(500)))())
	k.settings(program, ProgramSettings{MinSpendCents: set(int64(500))})
	k.refuses(SpendRequired)(stamp(Opt[int64]{})())
	k.refuses(AmountBelowMinStamp)(stamp(set(int64(499)))())
	k.expect(card, StatusInvited, 0)
	k.ok(stamp(set(int64(500)))())
	k.expect(card, StatusActive, 1) // count is one by default
}

func TestOnlyAnAcceptedPresentationActivates(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, prizes := k.ladder(false, 0, 10)
	card := k.card(program)
	k.refuses(Unprocessable)(k.redeem(card, prizes[1]))
	k.refuses(SpendNotEnabled)(attempt(k.fixture, func(tx *Tx) (Stamped, error) {
		return tx.Stamp(k.device, card, StampFields{SpendCents: set(int64(5))})
	}))
	k.lookup(card)
	k.expect(card, StatusInvited, 0)
	k.ok(k.redeem(card, prizes[0])) // a prize that needs no stamps
	k.expect(card, StatusActive, 0)
}

func TestGrandchildIsTheYoungestCardsChild(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, _ := k.ladder(true, 10)
	root := k.card(program)
	child := k.ok(k.stamp(root, 20)).OverflowCard.ID
	s := k.ok(k.stamp(root, 1))
	k.selects(k.key(KindCard, child), "SELECT parent_id FROM cards WHERE id=?", k.key(KindCard, s.Card.ID))
}
