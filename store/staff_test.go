package store

import (
	"slices"
	"strings"
	"testing"
)

// TestStaffLocations checks at which tills staff may sign in: at those of their locations, or at all of
// the shop. An export says the same.
func TestStaffLocations(t *testing.T) {
	k := startTill(t)
	here, there := k.location, k.fixture.location()
	ids := map[string]string{}
	add := func(a Access, name string, locations ...string) {
		f := StaffPatch{Name: set(name), LocationIDs: set(locations)}
		ids[name] = must(k.fixture, func(tx *Tx) (StaffMember, error) { return tx.CreateStaff(a.Shop, f, StaffPIN{Some("x")}) }).ID
	}
	other := k.shop(ShopFields{})
	add(other, "Theirs")
	add(k.a, "Ada", here)
	add(k.a, "Bruno", there, here, there)
	add(k.a, "Cleo")
	add(k.a, "Dora", there)
	lists := func(location, want string) {
		t.Helper()
		var names []string
		for _, m := range view(k.fixture, func(v *View) ([]TillStaff, error) {
			return v.tillStaff(Till{Shop: k.a.Shop, Location: k.key(KindLocation, location)}), nil
		}) {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s lists %q, want %q", location, got, want)
		}
	}
	update := func(name string, f StaffPatch) (StaffMember, error) {
		return attempt(k.fixture, func(tx *Tx) (StaffMember, error) { return tx.UpdateStaff(k.a.Shop, ids[name], f) })
	}
	lists(here, "Ada Bruno Cleo")
	lists(there, "Bruno Cleo Dora")
	check(update("Ada", StaffPatch{LocationIDs: set([]string{there})}))
	check(update("Bruno", StaffPatch{LocationIDs: set([]string{here})}))
	check(update("Cleo", StaffPatch{Name: set("Clea")})) // stays at all locations
	lists(here, "Bruno Clea")
	lists(there, "Ada Clea Dora")
	if m := check(update("Dora", StaffPatch{LocationIDs: null[[]string]()})); len(m.LocationIDs) != 0 {
		t.Errorf("null leaves %q", m.LocationIDs)
	}
	lists(here, "Bruno Clea Dora")
	lists(k.fixture.location(), "Clea Dora")

	before := k.dump()
	check(update("Ada", StaffPatch{Name: set("Ada"), LocationIDs: set([]string{there})}))
	foreign := k.in(other).location()
	kept := k.dump()
	_, err := update("Ada", StaffPatch{Name: set("Eve"), LocationIDs: set([]string{here, foreign})})
	if e, _ := AsError(err); e == nil || len(e.Details) != 1 || e.Details[0].Field != "location_ids.1" {
		t.Errorf("a location of another shop: %v", err)
	}
	if after := k.dump(); after != kept || strings.Count(before, "staff.update") != strings.Count(kept, "staff.update") {
		t.Errorf("what changes nothing wrote %s", firstDifference(kept, after))
	}
	_, files := k.export(t, "csv", nil)
	var rows []string
	for _, row := range files.table(t, "staff") {
		rows = append(rows, row["name"]+" "+row["location_ids"])
	}
	want := []string{`Ada ["` + there + `"]`, `Bruno ["` + here + `"]`, "Clea []", "Dora []"}
	if !slices.Equal(rows, want) {
		t.Errorf("the export has %q, want %q", rows, want)
	}
	k.checkFile()
}
