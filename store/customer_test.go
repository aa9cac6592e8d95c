package store

import (
	"slices"
	"testing"
	"time"
)

// TestCustomer checks which cards are shown as one customer and why, and what is counted of each.
func TestCustomer(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 3)
	gift := k.program(prepaid("Gift", 500))
	const phone = "+390612345678"
	issue := func(program, email, number string) string {
		card := k.cardWith(program, CardFields{HolderName: set("Ada"), HolderEmail: optional(email)})
		k.contact(card, HolderContactPatch{ContactPatch: ContactPatch{PhoneField: PhoneField{optional(number)}}, Note: set("of " + email)})
		return card
	}
	card := issue(program, "Ada@example.com", phone)
	byEmail := issue(gift, "ada@EXAMPLE.com", "")
	byPhone := issue(gift, "ben@example.com", phone)
	issue(gift, "ben@example.com", "") // shares the email of the one before, and is not followed
	both := issue(program, "ada@example.com", phone)
	erased, foreign := issue(program, "ada@example.com", phone), k.in(k.shop(ShopFields{}))
	k.erase(erased)
	foreign.cardTo(foreign.program(stamps("Other")), "ada@example.com")
	k.archive(both)
	first := k.clock.at()
	k.stamped(card, 10)
	k.stamped(card, 2)
	k.clock.move(days(1))
	k.redeemed(card, prizes[0])
	undone := k.stamped(card, 1)
	k.clock.move(days(1))
	k.reversed(undone.Transaction.ID)
	check(k.adjust(card, 1))
	k.inZone("Europe/Rome")
	k.sql("UPDATE cards SET last_seen_day=20000 WHERE id=?", k.key(KindCard, byEmail)) // as an import does
	c := view(k.fixture, func(v *View) (Customer, error) { return v.Customer(k.a.Shop, card) })
	var got []string
	for _, x := range c.Cards {
		got = append(got, x.ID)
	}
	child := k.lookup(card).Card.ID
	if want := []string{child, both, byPhone, byEmail}; !slices.Equal(got, want) || c.More {
		t.Fatalf("the cards are %v, want %v", got, want)
	}
	for i, want := range [][]string{{}, {SharesEmail, SharesPhone}, {SharesPhone}, {SharesEmail}} {
		if !slices.Equal(c.Cards[i].Shares, want) {
			t.Errorf("card %d shares %v, want %v", i, c.Cards[i].Shares, want)
		}
	}
	x := c.Cards[0]
	if x.Visits != 2 || x.FirstVisitAt.V != first || x.LastVisitAt.V != first.Add(days(1)) || x.Contact.Note.V != "of Ada@example.com" {
		t.Errorf("%+v", x)
	}
	if len(x.PrizesDue) != 1 || c.Cards[2].Visits != 0 || c.Cards[1].Status != StatusArchived || c.Cards[3].CurrentValue.V != 500 {
		t.Errorf("%+v", c)
	}
	seen := Some(TimeOf(time.Date(2024, 10, 4, 0, 0, 0, 0, Zone("Europe/Rome"))))
	if x := c.Cards[3]; x.LastVisitAt != seen || x.LastSeenAt != seen || x.FirstVisitAt.Valid || x.Visits != 0 {
		t.Errorf("a card that an import says was seen has %+v", x)
	}
	// Any card of a chain leads to the same customer, and none to that of an erased one.
	if other := view(k.fixture, func(v *View) (Customer, error) { return v.Customer(k.a.Shop, child) }); len(other.Cards) != 4 {
		t.Errorf("%+v", other)
	}
	k.reads(func(v *View) {
		refused(t, errorOf(v.Customer(k.a.Shop, erased)), NotFound)
		refused(t, errorOf(v.Customer(foreign.a.Shop, card)), NotFound)
	})
}

// TestCustomerIsBounded checks that a phone number that very many cards have leads to some of them.
func TestCustomerIsBounded(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Coffee"))
	for range maxCustomerCards + 1 {
		f.cardTo(program, "ada@example.com")
	}
	c := view(f, func(v *View) (Customer, error) { return v.Customer(f.a.Shop, f.ID(KindCard, 1)) })
	if len(c.Cards) != maxCustomerCards || !c.More || c.Cards[0].ID != f.ID(KindCard, 1) {
		t.Errorf("%d cards, more %v", len(c.Cards), c.More)
	}
}

// TestEraseCards checks that several cards of a customer are erased together, or none, and no card of another one.
func TestEraseCards(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	a, b, other := k.cardTo(program, "ada@example.com"), k.cardTo(program, "ada@example.com"), k.card(program)
	erase := func(ids ...string) error {
		return k.do(func(tx *Tx) error { return tx.EraseCards(k.a.Shop, a, EraseFields{CardIDs: set(ids)}) })
	}
	refused(t, erase(), ValidationFailed)
	refused(t, erase(a, b, "crd_"), NotFound)
	refused(t, erase(a, other), NotFound)
	k.selects(0, "SELECT count(*) FROM cards WHERE deleted_at IS NOT NULL")
	succeed(erase(a, b, a))
	k.selects(2, "SELECT count(*) FROM cards WHERE deleted_at IS NOT NULL")
	k.expect(other, StatusInvited, 0)
	k.clock.move(time.Second)
	refused(t, erase(a), NotFound)
}
