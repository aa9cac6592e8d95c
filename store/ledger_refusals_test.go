package store

import (
	"slices"
	"testing"
	"time"
)

// These tests check the till's rules (see README.md) one by one.

// TestOrderOfRefusals adds reasons for a refusal one by one. The refusal must be for the last one.
func TestOrderOfRefusals(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	fields := stamps("Coffee")
	fields.LocationScope, fields.ScopedLocationIDs = set("selected_locations"), set([]string{k.location})
	program := k.program(fields)
	card := k.cardWith(program, CardFields{ExpiresAt: set(k.clock.at().Add(time.Hour))})
	action := func() (Stamped, error) { return k.stamp(card, 1) }
	k.settings(program, ProgramSettings{MinSpendCents: set(int64(100))})
	k.refuses(SpendRequired)(action()) // the action's own rules are checked last
	k.lock(card, true)
	k.refuses(CardSuspended)(action())
	k.clock.move(2 * time.Hour)
	_, err := action()
	refused(t, err, CardExpired)
	k.archive(card)
	k.refuses(Conflict)(action())
	k.action(program, Suspend)
	k.refuses(CardSuspended)(action())
	here := k.device
	k.device = k.till().device
	k.refuses(Unprocessable)(action())
	k.refuses(Unprocessable)(k.use(card))
	k.device = here
	k.refuses(Unprocessable)(k.use(card))
	k.refuses(Unprocessable)(k.topUp(card, 1))
	k.erase(card)
	k.refuses(NotFound)(action())
	for _, text := range []string{"", "crd_", "no card", k.ID(KindCard, 1<<40), k.ID(KindProgram, 1)} {
		k.refuses(NotFound)(k.stamp(text, 1))
	}
	k.checkFile()
}

func TestCardOfAnotherShopIsUnknown(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	theirs := k.in(k.shop(ShopFields{})).withLedger()
	k.refuses(NotFound)(k.stamp(theirs.card, 1))
	k.refuses(NotFound)(k.stamp(k.cardCode(k.key(KindCard, theirs.card), 0), 1))
	row := k.row(theirs, "stamp")
	k.refuses(NotFound)(k.reverse(row))
}

// TestActionsByProgramType checks that each action is refused on cards of other program types.
func TestActionsByProgramType(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	private := stamps("Secret")
	private.Type = set("private")
	cards := map[string]string{}
	for kind, fields := range map[string]ProgramFields{"standard": stamps("Coffee"), "private": private, "prepaid": prepaid("Gift", 1000), "access": access("Club"), "discount": discount("Off")} {
		cards[kind] = k.card(k.program(fields))
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
