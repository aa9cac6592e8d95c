package store

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// shortCode returns the short code of a chain by the id of its root.
func (f *fixture) shortCode(root string) (code string) {
	f.must(func(tx *Tx) error {
		key := f.key(KindCard, root)
		code = tx.shortCode(tx.number("SELECT shop_id FROM cards WHERE id=?", key), key)
		return tx.failed
	})
	return code
}

// hasShortCode reports whether a card has a short code.
func (f *fixture) hasShortCode(card string) bool {
	return f.lines("SELECT short_code IS NOT NULL FROM cards WHERE id=?", f.key(KindCard, card))[0] == "1"
}

// TestShortCode checks that a short code names its whole chain, in every form that
// people type, until a reissue replaces it.
func TestShortCode(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 5)
	root := k.card(program)
	if k.hasShortCode(root) {
		t.Error("a new card has a short code, which nobody needs yet")
	}
	code := k.shortCode(root)
	if !regexp.MustCompile("^[0-9a-hjkmnp-tv-z]{8}$").MatchString(code) {
		t.Fatalf("the short code is %q", code)
	}
	child := k.stamped(code, 13).OverflowCard.ID
	if k.hasShortCode(child) {
		t.Error("a child has a short code of its own")
	}
	typed := strings.NewReplacer("0", "O", "1", "l").Replace(strings.ToUpper(code))
	for _, text := range []string{
		code, strings.ToUpper(code), typed, strings.ReplaceAll(typed, "l", "i"), typed[:4] + "-" + typed[4:],
		" " + typed[:4] + " " + typed[4:] + " ",
	} {
		if l := k.lookup(text); l.Card.ID != child || !IsShortCode(text) {
			t.Errorf("%q names %s", text, l.Card.ID)
		}
	}
	for _, text := range []string{"", code[1:], code + "0", "u" + code[1:], "é" + code[1:], root} {
		if IsShortCode(text) {
			t.Errorf("%q has the form of a short code", text)
		}
	}

	k.newLink(root)
	if k.shortCode(root) != code {
		t.Error("a new link has changed the short code")
	}
	k.reissue(root, ReissueFields{})
	again := k.shortCode(root)
	k.refuses(NotFound)(k.stamp(code, 1))
	k.stamped(again, 1)

	// Another shop has no such card.
	other := k.device
	other.Shop = k.shop(ShopFields{}).Shop
	if err := k.View(0, func(v *View) error { return errorOf(v.Lookup(other, again)) }); err != ErrUnknownCode {
		t.Errorf("another shop's till gets %v", err)
	}
	k.erase(root)
	k.refuses(NotFound)(k.stamp(again, 1))
	if k.hasShortCode(root) {
		t.Error("an erased card has a short code")
	}
}

// TestHeldCode checks that a held code names its card for eight days or until a reissue. It does so
// in writes only, and in no other shop.
func TestHeldCode(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	card := k.card(program)
	root := k.key(KindCard, card)
	hold := func(code string) (held string) {
		t.Helper()
		succeed(k.View(0, func(v *View) error { held = v.HoldCode(code); return nil }))
		return held
	}
	code := k.cardCode(root, 0)
	held := hold(code)
	for _, text := range []string{"", card, k.shortCode(card), held, code[1:]} {
		if got := hold(text); got != "" {
			t.Errorf("%q is held as %q", text, got)
		}
	}
	k.device.AcceptsCardIDs = false
	k.stamped(held, 1)
	if err := k.View(0, func(v *View) error { return errorOf(v.Lookup(k.device, held)) }); err != ErrUnknownCode {
		t.Errorf("a lookup by a held code: %v", err)
	}
	there := k.in(k.shop(ShopFields{})).till()
	there.refuses(NotFound)(there.stamp(held, 1))
	k.clock.move(days(heldDays))
	k.stamped(held, 1)
	if named, err := k.named(held); err != nil || len(named) != 1 || named[0] != root {
		t.Errorf("the held code names %v, %v", named, err)
	}
	k.clock.move(24 * time.Hour)
	k.refuses(NotFound)(k.stamp(held, 1))

	held = hold(code)
	k.writes(func(tx *Tx) { check(tx.Stamp(k.device, held, StampFields{Once: once(1)})) })
	k.reissue(card, ReissueFields{})
	k.refuses(NotFound)(k.stamp(held, 1))
	_, _, err := k.again(Repeat{Once: once(1), Types: []string{TransactionStamp}, Code: held}, func(tx *Tx) (Stamped, error) {
		return tx.Stamp(k.device, held, StampFields{Once: once(1)})
	})
	if err != nil {
		t.Errorf("a repeat after the reissue: %v", err)
	}
	if got := hold(k.cardCode(root, maxHeldGeneration)); got != "" {
		t.Errorf("a generation above the highest that can be held is held as %q", got)
	}
}

// named returns the keys of the cards that a text names.
func (k till) named(text string) (keys []int64, err error) {
	err = k.View(0, func(v *View) (err error) {
		keys, err = v.CardsNamed([]string{text})
		return err
	})
	return keys, err
}

// TestShortCodesAreUnique checks that a card does not get the short code of another card
// of the shop, and that it may get that of a card of another shop.
func TestShortCodesAreUnique(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Coffee"))
	first := f.card(program)
	next := f.key(KindCard, first) + 1
	candidate := string(f.seal(nil, kindShortCode, 0, next)[:shortCodeLen])
	f.sql("UPDATE cards SET short_code=? WHERE id=?", candidate, f.key(KindCard, first))
	second := f.card(program)
	if code := f.shortCode(second); f.key(KindCard, second) != next || code == candidate || len(code) != shortCodeLen {
		t.Errorf("the card %d has the code %q beside %q", f.key(KindCard, second), code, candidate)
	}
	other := f.shop(ShopFields{})
	candidate = string(f.seal(nil, kindShortCode, 0, next+1)[:shortCodeLen])
	f.sql("UPDATE cards SET short_code=? WHERE id=?", candidate, f.key(KindCard, first))
	if third := f.in(other).card(f.in(other).program(stamps("Tea"))); f.shortCode(third) != candidate {
		t.Errorf("another shop's card has the code %q, not %q", f.shortCode(third), candidate)
	}
}
