package store

import (
	"maps"
	"slices"
	"testing"
)

// TestProgramForm checks that the form of a program has the fields that answers to API keys leave
// out.
func TestProgramForm(t *testing.T) {
	f := start(t)
	fields := stamps("Coffee")
	fields.NameLocalizations = set(map[string]string{"it": "Caffè"})
	fields.StampsExpireAfterDays = setInt(90)
	id := f.draft(fields)
	f.must(func(tx *Tx) error {
		if _, err := tx.UpdateProgramSettings(
			f.a.Shop, id, ProgramSettings{MinSpendCents: setInt(300), MaxStampsPerDay: setInt(2), WelcomeStamps: setInt(0)},
		); err != nil {
			return err
		}
		_, err := tx.AddPrize(
			f.a,
			id,
			PrizeFields{Threshold: setInt(1), Name: set("Cup"), DescriptionLocalizations: set(map[string]string{"de": "Tasse"})},
		)
		return err
	})
	f.view(func(v *View) error {
		p, err := v.ProgramForm(f.a.Shop, id)
		if err != nil {
			return err
		}
		if p.Name != "Coffee" || !maps.Equal(p.NameLocalizations, map[string]string{"it": "Caffè"}) ||
			len(p.DescriptionLocalizations) != 0 || p.StampsExpireAfterDays.V != 90 ||
			p.MinSpendCents.V != 300 || p.MaxStampsPerDay.V != 2 || !p.VisibleInCatalog || len(p.Prizes) != 1 ||
			p.Prizes[0].Name != "Cup" ||
			p.Prizes[0].DescriptionLocalizations["de"] != "Tasse" {
			t.Errorf("%+v", p)
		}
		refused(t, errorOf(v.ProgramForm(f.a.Shop+1, id)), NotFound)
		return nil
	})
}

// TestProgramImpact checks the figures of a program after some use.
func TestProgramImpact(t *testing.T) {
	f := start(t)
	k := f.till()
	coffee, prizes := k.ladderOf(stamps("Coffee"), 2)
	gift := f.program(prepaid("Gift", 500))
	a, b := f.card(coffee), f.card(coffee)
	k.stamped(a, 3)
	k.stamped(b, 1)
	k.redeemed(a, prizes[0])
	check(k.spend(f.card(gift), 120))
	for id, want := range map[string]ProgramImpact{
		coffee: {ActiveCards: 2, Stamps: 4, Redemptions: 1}, gift: {ActiveCards: 1, BalanceCents: 380},
	} {
		f.view(func(v *View) error {
			got, err := v.ProgramImpact(f.a, id)
			if got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
			return err
		})
	}
}

// TestOrderPrizes checks that prizes get the order of a list of their ids, and that a list without
// exactly the ids of all prizes is refused.
func TestOrderPrizes(t *testing.T) {
	f := start(t)
	program, z := f.till().ladderOf(stamps("Coffee"), 1, 2, 3)
	order := func(ids ...string) (names []string, err error) {
		err = f.do(func(tx *Tx) error { return errorOf(tx.OrderPrizes(f.a, program, PrizeOrder{PrizeIDs: set(ids)})) })
		f.view(func(v *View) error {
			p, err := v.Program(f.a, program)
			for _, z := range p.Prizes {
				names = append(names, z.ID)
			}
			return err
		})
		return names, err
	}
	want := []string{z[2], z[0], z[1]}
	if got, err := order(want...); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
	for _, ids := range [][]string{{}, {z[0], z[1]}, {z[0], z[0], z[1]}, {z[0], z[1], z[2], z[2]}, {z[0], z[1], "prz_x"}} {
		if got, err := order(ids...); err == nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q (%v)", ids, got, err)
		}
	}
}
