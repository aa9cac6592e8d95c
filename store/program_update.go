package store

import (
	"slices"

	"punchcard/store/event"
)

// CreateProgram creates an unpublished program.
func (tx *Tx) CreateProgram(a Access, f ProgramFields) (d ProgramDetail, err error) {
	p := program{}
	p.Type, p.Category, p.BrandColorHex, p.BgColorHex, p.TextColorHex = f.Type.V, "other", "#1F2937", "#FFFFFF", "#111827"
	p.LocationScope, p.visibleInCatalog = allLocations, true
	scope, err := tx.merge(a, &p, f)
	if err != nil {
		return d, err
	}
	tx.insertProgram(a.Shop, &p)
	tx.setScope(p.key, scope)
	return tx.recordProgramChange(a, p.key, "program.create", event.ProgramCreated)
}

// insertProgram inserts a program into a shop, with sums of 0, and sets its key.
func (tx *Tx) insertProgram(shop int64, p *program) {
	p.key = tx.insert(
		`INSERT INTO programs (id, shop_id, type, name, name_localizations, description, description_localizations, category, total_stamps,
		repeat_after_reset, stamps_expire_after_days, discount_percent, initial_balance_cents, default_expire_after_days, logo_url,
		access_image_url,
		brand_color_hex, bg_color_hex, text_color_hex, icon_key, visible_in_catalog, border_enabled, location_scope, created_at, updated_at)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		append(append([]any{tx.nextKey("programs"), shop, p.Type}, p.columns()...), tx.Now, tx.Now)...)
	tx.exec("INSERT INTO program_counts (program_id) VALUES (?)", p.key)
}

// columns returns the values of the columns that creating and updating write.
func (p *program) columns() []any {
	return []any{p.Name, p.nameLocalizations, p.Description, p.descriptionLocalizations, p.Category, p.TotalStamps, p.RepeatAfterReset,
		p.stampsExpireAfterDays, p.DiscountPercent, p.InitialBalanceCents, p.DefaultExpireAfterDays, p.LogoURL, p.AccessImageURL,
		p.BrandColorHex, p.BgColorHex, p.TextColorHex, p.IconKey, p.visibleInCatalog, p.borderEnabled, p.LocationScope}
}

// UpdateProgram changes the fields that f sets. Once a card was installed, the program
// is frozen and any field is refused. A program that has the values already stays as it
// is. A restricted key may not set the locations, since they decide which cards such keys
// see.
func (tx *Tx) UpdateProgram(a Access, id string, f ProgramFields) (d ProgramDetail, err error) {
	p, err := tx.program(a, id)
	if err != nil || !namesAnyField(&f) {
		return p.ProgramDetail, err
	}
	if a.Restricted && (f.LocationScope.Set || f.ScopedLocationIDs.Set) {
		return d, refuse(Unauthorized, "This key is restricted to locations and cannot change location_scope or scoped_location_ids.")
	}
	if p.HasInstalledCards {
		return d, errInstalled
	}
	old := p
	scope, err := tx.merge(a, &p, f)
	if err != nil {
		return d, err
	}
	if slices.Equal(p.columns(), old.columns()) &&
		slices.EqualFunc(scope, old.ScopedLocationIDs, func(key int64, id string) bool { return tx.ID(KindLocation, key) == id }) {
		return p.ProgramDetail, nil
	}
	for _, z := range p.Prizes {
		if p.TotalStamps.Valid && z.Threshold > p.TotalStamps.V {
			return d, refuse(Unprocessable, "total_stamps cannot be below the prize threshold %d.", z.Threshold)
		}
	}
	if err := tx.checkBalance(&old, &p); err != nil {
		return d, err
	}
	if err := p.checkWelcome(p.TotalStamps.V); err != nil {
		return d, err
	}
	tx.exec(`UPDATE programs SET name=?, name_localizations=?, description=?, description_localizations=?, category=?, total_stamps=?,
		repeat_after_reset=?, stamps_expire_after_days=?, discount_percent=?, initial_balance_cents=?, default_expire_after_days=?,
		logo_url=?, access_image_url=?,
		brand_color_hex=?, bg_color_hex=?, text_color_hex=?, icon_key=?, visible_in_catalog=?, border_enabled=?, location_scope=?,
		updated_at=? WHERE id=?`,
		append(p.columns(), tx.Now, p.key)...)
	tx.setScope(p.key, scope)
	tx.countLadder(&old, &p)
	return tx.recordProgramChange(a, p.key, "program.update", event.ProgramUpdated)
}

// checkBalance refuses to give new cards money while customers can make cards themselves.
// UpdateEnrolment refuses the other order.
func (tx *Tx) checkBalance(old, p *program) error {
	if p.InitialBalanceCents.V > 0 && p.InitialBalanceCents != old.InitialBalanceCents &&
		tx.number("SELECT count(*) FROM enrolments WHERE program_id=? AND enabled", p.key) > 0 {
		return refuse(
			Unprocessable,
			"Customers can make cards of this program themselves, so its cards cannot begin with money. "+
				"Turn the form for new cards off first.",
		)
	}
	return tx.failed
}

// ProgramDetail returns a program as the write has changed it so far.
func (tx *Tx) ProgramDetail(a Access, id string) (ProgramDetail, error) {
	p, err := tx.program(a, id)
	return p.ProgramDetail, err
}

var errInstalled = refuse(ProgramHasInstalledCards,
	"A card of this program is installed on a device; the program and its prizes are frozen.")

// recordProgramChange audits a change of a program, emits its event and returns the
// program.
func (tx *Tx) recordProgramChange(a Access, key int64, action string, name event.Name) (d ProgramDetail, err error) {
	tx.audit(a.Shop, action, KindProgram, key)
	// Programs are cached by epoch. The key of a created one may become another's
	// after a rollback.
	tx.bumpAuth()
	tx.programChanged(key)
	tx.emit(pendingEvent{name: name, shop: a.Shop, program: key})
	p, err := tx.program(a, tx.ID(KindProgram, key))
	return p.ProgramDetail, err
}

// merge sets f's fields in p and applies the rules that need both: which fields the
// type allows and requires, and the location scope. It returns the keys of the scoped
// locations.
func (tx *Tx) merge(a Access, p *program, f ProgramFields) (scope []int64, err error) {
	p.visibleInCatalog, p.borderEnabled = f.VisibleInCatalog.Or(p.visibleInCatalog), f.BorderEnabled.Or(p.borderEnabled)
	p.nameLocalizations = localizedJSON(f.NameLocalizations, p.nameLocalizations)
	p.descriptionLocalizations = localizedJSON(f.DescriptionLocalizations, p.descriptionLocalizations)

	details := p.mergeTypeFields(f)
	scope, more := tx.mergeScope(a, p, f)
	if details = append(details, more...); details != nil {
		return nil, Invalid(details...)
	}
	return scope, nil
}

// localizedJSON returns the stored form of a localization object after a change.
func localizedJSON(f Opt[map[string]string], old string) string {
	if f.Set || old == "" {
		v := f.Or(nil)
		if v == nil {
			v = map[string]string{}
		}
		return jsonText(v)
	}
	return old
}

// Check finds the fields that the type of a new program does not allow or lacks. For
// a PATCH, which has no type, UpdateProgram does that.
func (f ProgramFields) Check(Time) []Detail {
	if !f.Type.Set {
		return nil // the type is absent or invalid
	}
	p := program{}
	p.Type = f.Type.V
	return append(p.mergeTypeFields(f), p.checkScopeField(f)...)
}

// Variants returns the field of a new program that tells its rules apart, and for each of
// its values the fields that are required and those that are not allowed, by asking Check.
func (ProgramFields) Variants() (field string, by []Variant) {
	every := ProgramFields{
		TotalStamps:           Given(int64(1)),
		RepeatAfterReset:      Given(true),
		StampsExpireAfterDays: Given(int64(1)),
		IconKey:               Given("i"),
		DiscountPercent:       Given(1.0),
		AccessImageURL:        Given("https://example.com"),
		InitialBalanceCents:   Given(int64(1)),
	}
	for _, kind := range programTypes {
		v := Variant{Value: kind}
		for _, d := range (ProgramFields{Type: Given(kind)}).Check(0) {
			v.Required = append(v.Required, d.Field)
		}
		every.Type = Given(kind)
		for _, d := range every.Check(0) {
			v.NotAllowed = append(v.NotAllowed, d.Field)
		}
		by = append(by, v)
	}
	return "type", by
}

// mergeTypeFields sets the fields of p that answers show. Some belong to certain types of program. Other types
// may only set them to null (or false); their own type may require them.
func (p *program) mergeTypeFields(f ProgramFields) (details []Detail) {
	stamps := CollectsStamps(p.Type)
	merge(&p.Program, f)
	if !slices.Contains(programTypes, p.Type) {
		return nil
	}
	rule := func(field string, allowed, given, missing bool) {
		switch {
		case !allowed && given:
			details = append(details, Detail{field, "not_allowed", "is not allowed for programs of type " + p.Type})
		case allowed && missing:
			details = append(details, Detail{field, "required", "is required for programs of type " + p.Type})
		}
	}
	rule("total_stamps", stamps, f.TotalStamps.Value().Valid, !p.TotalStamps.Valid)
	rule("icon_key", stamps, f.IconKey.Value().Valid, !p.IconKey.Valid)
	p.stampsExpireAfterDays = f.StampsExpireAfterDays.Apply(p.stampsExpireAfterDays)
	rule("stamps_expire_after_days", stamps, f.StampsExpireAfterDays.Value().Valid, false)
	if stamps && f.RepeatAfterReset.Null {
		details = append(details, Detail{"repeat_after_reset", "invalid_type", "must be true or false"})
	}
	rule("repeat_after_reset", stamps, f.RepeatAfterReset.Or(false), false)
	rule("discount_percent", p.Type == ProgramDiscount, f.DiscountPercent.Value().Valid, !p.DiscountPercent.Valid)
	rule("access_image_url", p.Type == ProgramAccess, f.AccessImageURL.Value().Valid, !p.AccessImageURL.Valid)
	rule("initial_balance_cents", p.Type == ProgramPrepaid, f.InitialBalanceCents.Value().Valid, !p.InitialBalanceCents.Valid)
	return details
}

// mergeScope returns the keys of the scoped locations, which
// are none with all_locations.
func (tx *Tx) mergeScope(a Access, p *program, f ProgramFields) (scope []int64, details []Detail) {
	if details = p.checkScopeField(f); details != nil || p.LocationScope == allLocations {
		return nil, details
	}
	ids := p.ScopedLocationIDs
	if f.ScopedLocationIDs.Set {
		ids = f.ScopedLocationIDs.V
	}
	return tx.ownKeys(KindLocation, a.Shop, "scoped_location_ids", ids)
}

// checkScopeField checks that scoped_location_ids is
// empty or not empty as the scope demands.
func (p *program) checkScopeField(f ProgramFields) []Detail {
	selected := p.LocationScope == selectedLocations
	given := len(f.ScopedLocationIDs.V)
	switch {
	case !selected && p.LocationScope != allLocations: // at fault itself
	case !selected && given > 0:
		return []Detail{{"scoped_location_ids", "not_allowed", "must be empty with location_scope all_locations"}}
	case selected && given == 0 && (f.ScopedLocationIDs.Set || len(p.ScopedLocationIDs) == 0):
		return []Detail{
			{"scoped_location_ids", "required", "must name at least one location with location_scope selected_locations"},
		}
	}
	return nil
}

func (tx *Tx) setScope(program int64, scope []int64) {
	tx.exec("DELETE FROM program_locations WHERE program_id=?", program)
	for i, l := range scope {
		tx.exec("INSERT INTO program_locations (program_id, location_id, position) VALUES (?,?,?)", program, l, i)
	}
}
