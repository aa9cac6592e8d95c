package store

import (
	"slices"
	"testing"
)

// TestCopyProgram checks that a copy is unpublished, for all locations and otherwise as the program
// is, and that amounts are not copied into another currency.
func TestCopyProgram(t *testing.T) {
	f := start(t)
	other, dollars := f.shop(ShopFields{Name: set("Test")}), f.shop(ShopFields{Currency: set("USD")})
	fields := stamps("Coffee")
	fields.NameLocalizations, fields.StampsExpireAfterDays = set(map[string]string{"it": "Caffè"}), setInt(90)
	id := f.program(onlyAt(fields, f.location()))
	f.addPrize(id, PrizeFields{Threshold: setInt(5), Name: set("Second"), Ordinal: setInt(7)})
	f.addPrize(id, PrizeFields{Threshold: setInt(3), Name: set("First"),
		DescriptionLocalizations: set(map[string]string{"de": "Tasse"}),
		Ordinal:                  setInt(2)})
	f.settings(id, ProgramSettings{MinSpendCents: setInt(300), MaxStampsPerDay: setInt(2), WelcomeStamps: setInt(1)})
	f.must(func(tx *Tx) error {
		return errorOf(tx.SetProgramLogo(f.a.Shop, id, &Logo{Hash: "abc", ContentType: "image/png", Bytes: []byte("x")}))
	})
	copied := must(f, func(tx *Tx) (ProgramDetail, error) { return tx.CopyProgram(f.a.Shop, id, other.Shop) })
	if copied.Active || copied.LocationScope != "all_locations" || len(copied.ScopedLocationIDs) != 0 || len(copied.Prizes) != 2 {
		t.Errorf("%+v", copied)
	}
	const all = `SELECT json_array(type, name, name_localizations, description, category, total_stamps, repeat_after_reset,
		stamps_expire_after_days, min_spend_cents, max_stamps_per_day, welcome_stamps, logo_hash, brand_color_hex, icon_key,
		(SELECT json_group_array(json_array(threshold, z.name, z.name_localizations, z.description_localizations, ordinal) ORDER BY ordinal)
		FROM prizes z WHERE program_id=p.id)) FROM programs p WHERE id=?`
	if got, want := f.lines(all, f.key(KindProgram, copied.ID)), f.lines(all, f.key(KindProgram, id)); !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	before := f.dump()
	refused(t, f.do(func(tx *Tx) error { return errorOf(tx.CopyProgram(f.a.Shop, id, dollars.Shop)) }), Unprocessable)
	refused(t, f.do(func(tx *Tx) error { return errorOf(tx.CopyProgram(f.a.Shop, copied.ID, other.Shop)) }), NotFound)
	if f.dump() != before {
		t.Error("a refused copy changed the file")
	}
	f.checkFile()
}
