package store

import (
	"slices"
	"testing"
	"time"
)

// TestCardShowsCurrentLocations checks that a change of a location by any process is visible to the
// next read of a card, although its locations are cached.
func TestCardShowsCurrentLocations(t *testing.T) {
	f := start(t)
	second := f.second()
	north, south := f.location(), f.location()
	everywhere, card := f.card(f.program(stamps("Everywhere"))), f.card(f.program(onlyAt(stamps("South only"), south)))
	rename := func(f *fixture, id, name string) { f.updateLocation(id, LocationPatch{Name: set(name)}) }
	show := func(when string, all, one []string) {
		t.Helper()
		for _, reader := range []*fixture{f, second} {
			for id, want := range map[string][]string{everywhere: all, card: one} {
				for range 2 {
					d := check(reader.read(id))
					var got []string
					for _, l := range d.Locations {
						got = append(got, l.Name)
					}
					if !slices.Equal(got, want) || d.AllLocations != (id == everywhere) {
						t.Errorf("%s: the card lists %v, all %t; want %v", when, got, d.AllLocations, want)
					}
				}
			}
		}
	}
	rename(f, north, "North")
	rename(f, south, "South")
	show("named", []string{"North", "South"}, []string{"South"})
	rename(second, north, "Zenith")
	show("renamed by another process", []string{"South", "Zenith"}, []string{"South"})
	f.setActive(south, false)
	show("one location disabled", []string{"Zenith"}, nil)
	second.setActive(south, true)
	show("enabled by another process", []string{"South", "Zenith"}, []string{"South"})
	f.do(func(tx *Tx) error {
		tx.SetLocationActive(f.a, north, false)
		tx.UpdateCard(f.a, everywhere, CardPatch{HolderName: set("Ada")})
		return notFound("anything")
	})
	show("disabled in a write that was rolled back", []string{"South", "Zenith"}, []string{"South"})
	f.must(func(tx *Tx) error {
		return errorOf(tx.CreateLocation(f.a.Shop, LocationFields{LocationPatch: LocationPatch{Name: set("Alley")}}, StaffPIN{}))
	})
	show("one location added", []string{"Alley", "South", "Zenith"}, []string{"South"})
}

// TestRotationKeepsTheRestriction checks that the successor of a restricted key is restricted, even
// if none of the key's locations exists any more.
func TestRotationKeepsTheRestriction(t *testing.T) {
	f := start(t)
	key := f.apiKey(KeyFields{LocationIDs: set([]string{f.location()})})
	f.sql("DELETE FROM key_locations")
	secret := must(f, func(tx *Tx) (string, error) {
		_, secret, err := tx.RotateKey(f.a.Shop, key, Null[time.Duration]{})
		return secret, err
	})
	id, err := f.Identify(Hash(secret))
	if err != nil || !id.Restricted || len(id.Locations) != 0 {
		t.Errorf("%+v, %v", id, err)
	}
}

// TestCountryOfLocation checks that a location without a country of its own is in that of the shop.
func TestCountryOfLocation(t *testing.T) {
	f := start(t)
	for _, c := range []struct{ shop, given, want Opt[string] }{
		{want: set("")},
		{given: set("CH"), want: set("CH")},
		{shop: set("IT"), want: set("IT")},
		{given: set("CH"), want: set("CH")},
	} {
		f.updateShop(ShopFields{CountryCode: c.shop})
		l := must(f, func(tx *Tx) (Location, error) {
			return tx.CreateLocation(f.a.Shop, LocationFields{LocationPatch: LocationPatch{CountryCode: c.given}}, StaffPIN{})
		})
		if l.CountryCode != c.want.V {
			t.Errorf("shop %q, location %q: the country is %q, want %q", c.shop.V, c.given.V, l.CountryCode, c.want.V)
		}
	}
}
