package store

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func (k till) merge(keep, gone string) (Merged, error) {
	return attempt(k.fixture, func(tx *Tx) (Merged, error) { return tx.MergeCards(k.a.Shop, keep, gone, MergeFields{Yes: set(true)}) })
}

// holderContact returns the contact of a card.
func (k till) holderContact(card string) HolderContact {
	return view(k.fixture, func(v *View) (HolderContact, error) { return v.HolderContact(k.a, card) })
}

// TestMergeMoves checks what a merge moves, fills in and leaves, that a sum beyond one card overflows, and the
// rows that it writes.
func TestMergeMoves(t *testing.T) {
	k, program, prizes := welcoming(t, 3, 10)
	first := k.fixture.till()
	keep := k.cardOf(program, "Ada")
	gone := k.cardWith(program, CardFields{HolderName: set("Ada Byron"), HolderEmail: set("ada@example.com"), ExternalRef: set("A-1")})
	k.contact(keep, HolderContactPatch{ContactPatch: ContactPatch{Codes: set([]string{"1"})}, Note: set("kept")})
	k.contact(gone, HolderContactPatch{
		ContactPatch: ContactPatch{PhoneField{set("+390612345678")}, set("02-29"), set([]string{"2", "3"})}, Note: set("gone"),
	})
	check(first.stamp(keep, 4))
	k.redeemed(keep, prizes[0])
	k.stamped(gone, 9) // with two at issue, a second card
	k.lock(gone, true)
	k.hook(program, hookFields{events: []string{"*"}})
	k.clock.move(time.Hour)
	m := check(k.merge(keep, gone))
	if got := k.history(); !strings.HasSuffix(got, "adjustment -1, adjustment -10, adjustment 4, adjustment 7") {
		t.Errorf("the ledger has %s", got)
	}
	k.selects(4, "SELECT count(*) FROM transactions WHERE type='adjustment' AND location_id=? AND device_id IS NULL", first.device.Location)
	e := view(k.fixture, func(v *View) (LedgerEntry, error) { return v.LedgerEntry(k.a.Shop, m.Transactions[0].ID) })
	if e.MergedWith.V != keep || m.ArchivedID != gone || len(m.Transactions) != 4 {
		t.Errorf("%+v, %+v", e, m)
	}
	k.expect(keep, StatusActive, 10)
	k.expect(gone, StatusArchived, 0)
	d := k.get(keep)
	if d.HolderName.V != "Ada" || d.HolderEmail.V != "ada@example.com" || d.ExternalRef.V != "A-1" || m.Card.HolderEmail != d.HolderEmail {
		t.Errorf("the kept card is %+v, and the answer %+v", d, m.Card)
	}
	c := k.holderContact(keep)
	if c.Phone.V != "+390612345678" || c.Birthday.V != "02-29" || c.Note.V != "kept" || !slices.Equal(c.Codes, []string{"1", "2", "3"}) {
		t.Errorf("the contact is %+v", c)
	}
	if l := k.lookup("2"); l.Card.ID != m.Card.ID || !l.EarlierCards[0].Prizes[0].Claimed {
		t.Errorf("the code of the other card finds %+v", l)
	}
	found := view(k.fixture, func(v *View) (Page[FoundCard], error) {
		return v.SearchCards(k.a.Shop, CardSearch{Q: set("5678"), Live: true})
	})
	if len(found.Data) != 1 {
		t.Errorf("%d cards have the phone number", len(found.Data))
	}
	k.selectsLines([]string{`{"merged":"` + gone + `"}`}, "SELECT detail FROM audit WHERE action='card.merge' AND target_id=?",
		k.key(KindCard, keep))
	k.selects(2, "SELECT count(*) FROM events WHERE name='card.archived'") // both cards of the chain
	k.selects(1, "SELECT count(*) FROM events WHERE name='card.added'")
	k.refuses(Conflict)(k.stamp(gone, 1))
	// Erasing the kept card leaves nothing of the holder there.
	k.erase(keep)
	k.checkFile()
}

// TestMergeOfTypes checks the merge of cards without stamps, also expired, locked and installed ones, and in a
// suspended program.
func TestMergeOfTypes(t *testing.T) {
	k := startTill(t)
	gift, club := k.program(prepaid("Gift", 500)), k.program(access("Club"))
	keep := k.issue(gift, CardFields{})
	check(k.install(keep.InstallURL))
	gone := k.cardWith(gift, CardFields{HolderName: set("Ada"), ExternalRef: set("A"), ExpiresAt: set(k.clock.at().Add(time.Hour))})
	check(k.topUp(gone, 200))
	k.lock(keep.ID, true)
	k.clock.move(2 * time.Hour)
	k.action(gift, Suspend)
	m := check(k.merge(keep.ID, gone))
	if m.Card.CurrentValue.V != 1200 || m.Card.Status != StatusLocked {
		t.Errorf("%+v", m)
	}
	if m.Card.HolderName.Valid || m.Card.ExternalRef.V != "A" {
		t.Errorf("the holder of an installed card is %+v", m.Card)
	}
	a, b := k.card(club), k.cardTo(club, "ada@example.com")
	if m := check(k.merge(a, b)); len(m.Transactions) != 0 || m.Card.HolderEmail.V != "ada@example.com" {
		t.Errorf("%+v", m)
	}
	k.checkFile()
}

// TestMergeExpiresFirst checks that stamps that are too old do not become young by a merge, and that a claim in
// a cycle that ends so is none.
func TestMergeExpiresFirst(t *testing.T) {
	k, program, prizes := welcoming(t, 3)
	keep, gone := k.card(program), k.card(program)
	k.stamped(gone, 3)
	k.redeemed(gone, prizes[0])
	refusedWith(t, errorOf(k.merge(keep, gone)), Unprocessable, "was redeemed in this cycle")
	k.clock.move(days(10))
	if m := check(k.merge(keep, gone)); len(m.Transactions) != 0 || m.Card.StampsCount != 0 {
		t.Errorf("%+v", m)
	}
	if got := k.history(); !strings.HasSuffix(got, "expiry -2, expiry -5") {
		t.Errorf("the ledger has %s", got)
	}
	k.checkFile()
}

func refusedWith(t *testing.T, err error, code Code, part string) {
	t.Helper()
	refused(t, err, code)
	if e, ok := AsError(err); ok && !strings.Contains(e.Message, part) {
		t.Errorf("the refusal %q has no %q", e.Message, part)
	}
}

func TestMergeRefusals(t *testing.T) {
	k := startTill(t)
	single, _ := k.ladder(false, 10)
	repeating, _ := k.ladder(true, 10)
	other := k.in(k.shop(ShopFields{}))
	card, full, archived, erased := k.card(single), k.card(single), k.card(single), k.card(single)
	foreign := other.card(other.program(stamps("Other")))
	k.stamped(card, 5)
	k.stamped(full, 6)
	k.archive(archived)
	k.erase(erased)
	refusedBy := func(code Code, part, keep, gone string) {
		t.Helper()
		before := k.dump()
		_, err := k.merge(keep, gone)
		if refusedWith(t, err, code, part); k.dump() != before {
			t.Error("it wrote something")
		}
	}
	refusedBy(NotFound, "", card, foreign)
	refusedBy(NotFound, "", card, erased)
	refusedBy(NotFound, "", erased, card)
	refusedBy(Unprocessable, "Both are the same card", card, card)
	refusedBy(Unprocessable, "different programs", card, k.card(repeating))
	refusedBy(Conflict, "The card is archived.", archived, card)
	refusedBy(Conflict, "to go is archived", card, archived)
	refusedBy(Unprocessable, "The 6 stamps", card, full)
	// With repeat, a third card would be needed.
	a, b := k.card(repeating), k.card(repeating)
	k.stamped(a, 15)
	k.stamped(b, 16)
	child := k.lookup(a).Card.ID
	refusedBy(Unprocessable, "Both are the same card", a, child)
	refusedBy(Unprocessable, "The 16 stamps", a, b)
	codes := func(card string, texts ...string) {
		k.contact(card, HolderContactPatch{ContactPatch: ContactPatch{Codes: set(texts)}})
	}
	codes(a, "1", "2", "3")
	codes(b, "4", "5", "6")
	refusedBy(Conflict, "more than 5 codes", a, b)
	k.updateShop(ShopFields{SubscriptionState: set("suspended")})
	refusedBy(SubscriptionSuspended, "", card, full)
	k.checkFile()
}

// TestMergeOfOnePerson checks when a merge needs no confirmation.
func TestMergeOfOnePerson(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	issue := func(name, email, phone string) string {
		card := k.cardWith(program, CardFields{HolderName: optional(name), HolderEmail: optional(email)})
		k.contact(card, HolderContactPatch{ContactPatch: ContactPatch{PhoneField: PhoneField{optional(phone)}}})
		return card
	}
	const email, phone = "ada@example.com", "+390612345678"
	for _, x := range []struct {
		name, email, phone, otherName, otherEmail, otherPhone string
		certain                                               bool
	}{
		{"Ada", email, "", "ADA", "Ada@Example.com", "", true},
		{"Ada", email, "", "", email, "", true},
		{"Ada", email, "", "Ben", email, "", false},
		{"Ada Byron", "", phone, "Byron, Ada", "", phone, true},
		{"Ada", "", phone, "", "", phone, false},
		{"Ada", email, phone, "Ben", "", phone, false},
		{"Ada", email, "", "Ada", "", "", false},
		{"", "", "", "", "", "", false},
	} {
		keep, gone := issue(x.name, x.email, x.phone), issue(x.otherName, x.otherEmail, x.otherPhone)
		_, err := attempt(k.fixture, func(tx *Tx) (Merged, error) { return tx.MergeCards(k.a.Shop, keep, gone, MergeFields{}) })
		if x.certain != (err == nil) {
			t.Errorf("%+v: %v", x, err)
		}
		if !x.certain {
			refused(t, err, ValidationFailed)
			check(k.merge(keep, gone))
		}
	}
	k.checkFile()
}

// TestMergeMovesRequests checks that what a holder asks of the shop is open on one card after a merge, and that of two
// corrections none is lost.
func TestMergeMovesRequests(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	keep, gone := k.cardTo(program, "ada@example.com"), k.cardTo(program, "ada@example.com")
	ask := func(card, kind, correction string) {
		k.must(func(tx *Tx) error {
			return tx.AskAboutData(k.pageToken(k.key(KindCard, card), 0), DataRequest{set(kind), optional(correction)})
		})
	}
	ask(keep, AskCorrection, "Ada, not Eda")
	k.clock.move(time.Second)
	ask(gone, AskCorrection, "No number")
	ask(gone, AskErasure, "")
	k.must(func(tx *Tx) error { return errorOf(tx.MergeCards(k.a.Shop, keep, gone, MergeFields{})) })
	requests := func(card string) DataRequests {
		return view(k.fixture, func(v *View) (DataRequests, error) { return v.dataRequests(k.key(KindCard, card)), v.failed })
	}
	if kept, left := requests(keep), requests(gone); kept.Correction.V != "Ada, not Eda" || !kept.ErasureAt.Valid ||
		left.Correction.V != "No number" || left.ErasureAt.Valid {
		t.Errorf("%+v, %+v", kept, left)
	}
	k.must(func(tx *Tx) error { return tx.CloseDataRequest(k.a.Shop, gone, ClosedRequest{set(AskCorrection)}) })
	k.checkFile()
}
