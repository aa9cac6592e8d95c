package store

import (
	"encoding/json"
	"slices"

	"punchcard/store/event"
)

// Program is a card template (spec Program): the list's shape.
type Program struct {
	ID                     string        `json:"id" min:"1" doc:"Opaque."`
	Name                   string        `json:"name"`
	Description            string        `json:"description"`
	Category               string        `json:"category" pattern:"^[a-z0-9_]{1,64}$"`
	Type                   string        `json:"type" enum:"standard,private,discount,access,prepaid" doc:"standard and private are the stamp programs."`
	Active                 bool          `json:"active" doc:"Published and not suspended."`
	PublishedAt            Null[Time]    `json:"published_at" doc:"Null while unpublished."`
	SuspendedAt            Null[Time]    `json:"suspended_at"`
	TotalStamps            Null[int64]   `json:"total_stamps" doc:"Stamp programs."`
	RepeatAfterReset       bool          `json:"repeat_after_reset"`
	DiscountPercent        Null[float64] `json:"discount_percent" doc:"Discount programs."`
	InitialBalanceCents    Null[int64]   `json:"initial_balance_cents" doc:"Prepaid programs."`
	DefaultExpireAfterDays Null[int64]   `json:"default_expire_after_days"`
	LogoURL                Null[string]  `json:"logo_url" format:"url"`
	AccessImageURL         Null[string]  `json:"access_image_url" format:"url" doc:"Access programs."`
	BrandColorHex          string        `json:"brand_color_hex" format:"hex-color"`
	BgColorHex             string        `json:"bg_color_hex" format:"hex-color"`
	TextColorHex           string        `json:"text_color_hex" format:"hex-color"`
	IconKey                Null[string]  `json:"icon_key" doc:"Stamp programs."`
	LocationScope          string        `json:"location_scope" enum:"all_locations,selected_locations"`
	ScopedLocationIDs      []string      `json:"scoped_location_ids" doc:"The locations the cards work at when location_scope is selected_locations; else empty."`
	CreatedAt              Time          `json:"created_at"`
	UpdatedAt              Time          `json:"updated_at"`
}

// ProgramDetail is a program as every single read and action answers it.
type ProgramDetail struct {
	Program
	Prizes            []Prize `json:"prizes" doc:"The prize ladder in order."`
	HasInstalledCards bool    `json:"has_installed_cards" doc:"The edit lock: true once any card minted from the program was installed on a device; never false again."`
}

// ProgramFields is the body of POST and PATCH program (contract section 4).
type ProgramFields struct {
	Name                     Opt[string]            `json:"name" req:"true" min:"1" max:"200"`
	NameLocalizations        Opt[map[string]string] `json:"name_localizations" keys:"it,en,es,fr,de,pt" limit:"localization" patch:"default" doc:"By language. In a PATCH, null empties it."`
	Description              Opt[string]            `json:"description" max:"2000" patch:"default" doc:"Default empty; in a PATCH, null empties it."`
	DescriptionLocalizations Opt[map[string]string] `json:"description_localizations" keys:"it,en,es,fr,de,pt" limit:"localization" patch:"default" doc:"By language. In a PATCH, null empties it."`
	Category                 Opt[string]            `json:"category" min:"1" pattern:"^[a-z0-9_]{1,64}$" doc:"Default other."`
	Type                     Opt[string]            `json:"type" req:"true" enum:"standard,private,discount,access,prepaid" patch:"not_allowed"`
	BrandColorHex            Opt[string]            `json:"brand_color_hex" format:"hex-color" doc:"Default #1F2937."`
	BgColorHex               Opt[string]            `json:"bg_color_hex" format:"hex-color" doc:"Default #FFFFFF."`
	TextColorHex             Opt[string]            `json:"text_color_hex" format:"hex-color" doc:"Default #111827."`
	LogoURL                  Opt[string]            `json:"logo_url" format:"url" max:"2048" patch:"nullable"`
	TotalStamps              Opt[int64]             `json:"total_stamps" min:"1" max:"1000" patch:"nullable" doc:"Required for stamp programs, not allowed for others."`
	RepeatAfterReset         Opt[bool]              `json:"repeat_after_reset" patch:"nullable" doc:"Stamp programs. Default false."`
	StampsExpireAfterDays    Opt[int64]             `json:"stamps_expire_after_days" min:"1" max:"3650" patch:"nullable" doc:"Stamp programs."`
	IconKey                  Opt[string]            `json:"icon_key" min:"1" max:"64" patch:"nullable" doc:"Required for stamp programs, not allowed for others."`
	DiscountPercent          Opt[float64]           `json:"discount_percent" gt:"0" max:"100" patch:"nullable" doc:"Required for discount programs, not allowed for others."`
	AccessImageURL           Opt[string]            `json:"access_image_url" format:"url" max:"2048" patch:"nullable" doc:"Required for access programs, not allowed for others."`
	InitialBalanceCents      Opt[int64]             `json:"initial_balance_cents" min:"0" max:"100000000" patch:"nullable" doc:"Required for prepaid programs, not allowed for others."`
	DefaultExpireAfterDays   Opt[int64]             `json:"default_expire_after_days" min:"1" max:"3650" patch:"nullable"`
	VisibleInCatalog         Opt[bool]              `json:"visible_in_catalog" doc:"Default true."`
	BorderEnabled            Opt[bool]              `json:"border_enabled" doc:"Default false."`
	LocationScope            Opt[string]            `json:"location_scope" enum:"all_locations,selected_locations" doc:"Default all_locations."`
	ScopedLocationIDs        Opt[[]string]          `json:"scoped_location_ids" max:"1000" doc:"Required and not empty with selected_locations; each one of the shop's own."`
}

var programTypes = []string{"standard", "private", "discount", "access", "prepaid"}

// Stamps tells whether programs of this type collect stamps.
func Stamps(programType string) bool { return programType == "standard" || programType == "private" }

// program is a row with the columns that no resource shows.
type program struct {
	ProgramDetail
	key                      int64
	nameLocalizations        string
	descriptionLocalizations string
	stampsExpireAfterDays    Null[int64]
	minSpendCents            Null[int64]
	visibleInCatalog         bool
	borderEnabled            bool
}

var programCols = []string{"p.name", "p.description", "p.category", "p.type", "p.published_at", "p.suspended_at", "p.total_stamps", "p.repeat_after_reset",
	"p.discount_percent", "p.initial_balance_cents", "p.default_expire_after_days", "p.logo_url", "p.access_image_url",
	"p.brand_color_hex", "p.bg_color_hex", "p.text_color_hex", "p.icon_key", "p.location_scope",
	"(SELECT group_concat(location_id) FROM (SELECT location_id FROM program_locations WHERE program_id=p.id ORDER BY position))",
	"p.created_at", "p.updated_at"}

func (s *Store) scanProgram(r *rows, key int64) Program {
	p := Program{ID: s.ID(KindProgram, key), Name: r.str(), Description: r.str(), Category: r.str(), Type: r.str(), PublishedAt: r.nullTime(), SuspendedAt: r.nullTime(),
		TotalStamps: r.nullInt(), RepeatAfterReset: r.bool(), DiscountPercent: r.nullFloat(), InitialBalanceCents: r.nullInt(), DefaultExpireAfterDays: r.nullInt(),
		LogoURL: r.nullStr(), AccessImageURL: r.nullStr(), BrandColorHex: r.str(), BgColorHex: r.str(), TextColorHex: r.str(), IconKey: r.nullStr(),
		LocationScope: r.str()}
	for _, l := range r.keys() {
		p.ScopedLocationIDs = append(p.ScopedLocationIDs, s.ID(KindLocation, l))
	}
	p.CreatedAt, p.UpdatedAt = r.time(), r.time()
	p.Active = p.PublishedAt.Valid && !p.SuspendedAt.Valid
	return p
}

var programByKeySQL = "SELECT " + columns(append(append([]string{"p.id"}, programCols...), "p.has_installed_cards", "p.name_localizations", "p.description_localizations",
	"p.stamps_expire_after_days", "p.min_spend_cents", "p.visible_in_catalog", "p.border_enabled")...) + " FROM programs p WHERE p.id=? AND p.shop_id=?"

// program finds a program of the shop by its id, with its ladder.
func (s *Store) program(c *conn, a Access, id string) (p program, err error) {
	key, ok := s.Key(KindProgram, id)
	if !ok {
		return p, notFound("program")
	}
	ok, err = c.one(func(r *rows) { s.scanWholeProgram(r, &p) }, programByKeySQL+" AND p.deleted_at IS NULL", key, a.Shop)
	if err != nil {
		return p, err
	}
	if !ok {
		return p, notFound("program")
	}
	p.Prizes, err = s.ladder(c, key)
	return p, err
}

func (s *Store) scanWholeProgram(r *rows, p *program) {
	p.key = r.int()
	p.Program = s.scanProgram(r, p.key)
	p.HasInstalledCards, p.nameLocalizations, p.descriptionLocalizations = r.bool(), r.str(), r.str()
	p.stampsExpireAfterDays, p.minSpendCents, p.visibleInCatalog, p.borderEnabled = r.nullInt(), r.nullInt(), r.bool(), r.bool()
}

// Programs is a page of the shop's programs, newest first: unpublished ones
// and all types, or only one type. Location restrictions do not matter here.
func (v *View) Programs(a Access, programType Opt[string], q PageQuery) (Page[Program], error) {
	w := walk{list: listPrograms, shop: a.Shop, table: "programs p", alias: "p"}
	w.follow("p.shop_id=? AND p.deleted_at IS NULL", a.Shop)
	if programType.Set {
		w.filter("p.type=?", programType.V)
	}
	return page(v, w, q, columns(append([]string{epochColumn, "p.id"}, programCols...)...), v.s.scanProgram)
}

// Program is one program with its prize ladder.
func (v *View) Program(a Access, id string) (d ProgramDetail, err error) {
	err = v.snapshot(func() error {
		p, err := v.s.program(v.conn, a, id)
		d = p.ProgramDetail
		return err
	})
	return d, err
}

// CreateProgram makes an unpublished program.
func (tx *Tx) CreateProgram(a Access, f ProgramFields) (d ProgramDetail, err error) {
	p := program{}
	p.Type, p.Category, p.BrandColorHex, p.BgColorHex, p.TextColorHex = f.Type.V, "other", "#1F2937", "#FFFFFF", "#111827"
	p.LocationScope, p.visibleInCatalog = "all_locations", true
	scope, err := tx.merge(a, &p, f)
	if err != nil {
		return d, err
	}
	id, err := tx.nextKey("programs")
	if err != nil {
		return d, err
	}
	p.key, err = tx.insert(`INSERT INTO programs (id, shop_id, type, name, name_localizations, description, description_localizations, category, total_stamps,
		repeat_after_reset, stamps_expire_after_days, discount_percent, initial_balance_cents, default_expire_after_days, logo_url, access_image_url,
		brand_color_hex, bg_color_hex, text_color_hex, icon_key, visible_in_catalog, border_enabled, location_scope, created_at, updated_at)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, append(append([]any{id, a.Shop, p.Type}, p.columns()...), tx.Now, tx.Now)...)
	if err != nil {
		return d, err
	}
	if err = tx.setScope(p.key, scope); err != nil {
		return d, err
	}
	if _, err = tx.exec("INSERT INTO program_counts (program_id) VALUES (?)", p.key); err != nil {
		return d, err
	}
	if err = tx.audit(a.Shop, "program.create", KindProgram, p.key, ""); err != nil {
		return d, err
	}
	if err = tx.bumpAuth(); err != nil { // taken back, its key may be another's
		return d, err
	}
	tx.emit(pendingEvent{name: event.ProgramCreated, shop: a.Shop, program: p.key})
	p, err = tx.s.program(tx.conn, a, tx.s.ID(KindProgram, p.key))
	return p.ProgramDetail, err
}

func (p *program) columns() []any {
	return []any{p.Name, p.nameLocalizations, p.Description, p.descriptionLocalizations, p.Category, p.TotalStamps, p.RepeatAfterReset,
		p.stampsExpireAfterDays, p.DiscountPercent, p.InitialBalanceCents, p.DefaultExpireAfterDays, p.LogoURL, p.AccessImageURL,
		p.BrandColorHex, p.BgColorHex, p.TextColorHex, p.IconKey, p.visibleInCatalog, p.borderEnabled, p.LocationScope}
}

// UpdateProgram changes what f names. Once a card was installed the template
// is frozen: any named field is refused.
func (tx *Tx) UpdateProgram(a Access, id string, f ProgramFields) (d ProgramDetail, err error) {
	p, err := tx.s.program(tx.conn, a, id)
	if err != nil || !named(&f) {
		return p.ProgramDetail, err
	}
	if p.HasInstalledCards {
		return d, errInstalled()
	}
	scope, err := tx.merge(a, &p, f)
	if err != nil {
		return d, err
	}
	for _, z := range p.Prizes {
		if p.TotalStamps.Valid && z.Threshold > p.TotalStamps.V {
			return d, refuse(Unprocessable, "total_stamps cannot be below the prize threshold %d.", z.Threshold)
		}
	}
	if _, err = tx.exec(`UPDATE programs SET name=?, name_localizations=?, description=?, description_localizations=?, category=?, total_stamps=?,
		repeat_after_reset=?, stamps_expire_after_days=?, discount_percent=?, initial_balance_cents=?, default_expire_after_days=?, logo_url=?, access_image_url=?,
		brand_color_hex=?, bg_color_hex=?, text_color_hex=?, icon_key=?, visible_in_catalog=?, border_enabled=?, location_scope=?, updated_at=? WHERE id=?`,
		append(p.columns(), tx.Now, p.key)...); err != nil {
		return d, err
	}
	if err = tx.setScope(p.key, scope); err != nil {
		return d, err
	}
	return tx.changedProgram(a, p.key, "program.update", event.ProgramUpdated)
}

func errInstalled() *Error {
	return refuse(ProgramHasInstalledCards, "A card of this program is installed on a device; the program and its prizes are frozen.")
}

func (tx *Tx) changedProgram(a Access, key int64, action string, name event.Name) (d ProgramDetail, err error) {
	if err = tx.audit(a.Shop, action, KindProgram, key, ""); err != nil {
		return d, err
	}
	if err = tx.bumpAuth(); err != nil { // programs are kept for an epoch
		return d, err
	}
	tx.emit(pendingEvent{name: name, shop: a.Shop, program: key})
	p, err := tx.s.program(tx.conn, a, tx.s.ID(KindProgram, key))
	return p.ProgramDetail, err
}

// merge puts f's fields over p and applies the rules that need both: which
// fields a type takes and needs, and the location scope. It returns the keys
// of the scoped locations.
func (tx *Tx) merge(a Access, p *program, f ProgramFields) (scope []int64, err error) {
	p.Name = f.Name.Or(p.Name)
	p.Category = f.Category.Or(p.Category)
	p.BrandColorHex, p.BgColorHex, p.TextColorHex = f.BrandColorHex.Or(p.BrandColorHex), f.BgColorHex.Or(p.BgColorHex), f.TextColorHex.Or(p.TextColorHex)
	p.visibleInCatalog, p.borderEnabled = f.VisibleInCatalog.Or(p.visibleInCatalog), f.BorderEnabled.Or(p.borderEnabled)
	p.DefaultExpireAfterDays, p.LogoURL = f.DefaultExpireAfterDays.Apply(p.DefaultExpireAfterDays), f.LogoURL.Apply(p.LogoURL)
	if f.Description.Set {
		p.Description = f.Description.Or("")
	}
	p.nameLocalizations = localized(f.NameLocalizations, p.nameLocalizations)
	p.descriptionLocalizations = localized(f.DescriptionLocalizations, p.descriptionLocalizations)

	details := p.mergeTyped(f)
	scope, more, err := tx.mergeScope(a, p, f)
	if err != nil {
		return nil, err
	}
	if details = append(details, more...); details != nil {
		return nil, Invalid(details...)
	}
	return scope, nil
}

// localized is the stored form of a localisation object after a change.
func localized(f Opt[map[string]string], old string) string {
	if f.Set || old == "" {
		v := f.Or(nil)
		if v == nil {
			v = map[string]string{}
		}
		b, _ := json.Marshal(v)
		return string(b)
	}
	return old
}

// Check finds the fields that a new program's type does not take, or lacks. In
// a patch, which names no type, the program itself decides.
func (f ProgramFields) Check(Time) []Detail {
	if !slices.Contains(programTypes, f.Type.V) {
		return nil // absent, or at fault itself
	}
	p := program{}
	p.Type = f.Type.V
	return append(p.mergeTyped(f), p.scopeShape(f)...)
}

// mergeTyped applies the fields that belong to one type of program: another
// type may only name them null (or false), its own type may not lack them.
func (p *program) mergeTyped(f ProgramFields) (details []Detail) {
	stamps := Stamps(p.Type)
	rule := func(field string, mine, given, present, required bool) {
		switch {
		case !mine && given:
			details = append(details, Detail{field, "not_allowed", "does not apply to programs of type " + p.Type})
		case mine && required && !present:
			details = append(details, Detail{field, "required", "is required for programs of type " + p.Type})
		}
	}
	p.TotalStamps = f.TotalStamps.Apply(p.TotalStamps)
	rule("total_stamps", stamps, f.TotalStamps.Value().Valid, p.TotalStamps.Valid, true)
	p.IconKey = f.IconKey.Apply(p.IconKey)
	rule("icon_key", stamps, f.IconKey.Value().Valid, p.IconKey.Valid, true)
	p.stampsExpireAfterDays = f.StampsExpireAfterDays.Apply(p.stampsExpireAfterDays)
	rule("stamps_expire_after_days", stamps, f.StampsExpireAfterDays.Value().Valid, true, false)
	if stamps && f.RepeatAfterReset.Null {
		details = append(details, Detail{"repeat_after_reset", "invalid_type", "must be a boolean"})
	}
	p.RepeatAfterReset = f.RepeatAfterReset.Or(p.RepeatAfterReset)
	rule("repeat_after_reset", stamps, f.RepeatAfterReset.Or(false), true, false)
	p.DiscountPercent = f.DiscountPercent.Apply(p.DiscountPercent)
	rule("discount_percent", p.Type == "discount", f.DiscountPercent.Value().Valid, p.DiscountPercent.Valid, true)
	p.AccessImageURL = f.AccessImageURL.Apply(p.AccessImageURL)
	rule("access_image_url", p.Type == "access", f.AccessImageURL.Value().Valid, p.AccessImageURL.Valid, true)
	p.InitialBalanceCents = f.InitialBalanceCents.Apply(p.InitialBalanceCents)
	rule("initial_balance_cents", p.Type == "prepaid", f.InitialBalanceCents.Value().Valid, p.InitialBalanceCents.Valid, true)
	return details
}

// mergeScope applies location_scope and scoped_location_ids and returns the
// keys of the scoped locations. Going back to all locations forgets them.
func (tx *Tx) mergeScope(a Access, p *program, f ProgramFields) (scope []int64, details []Detail, err error) {
	if details = p.scopeShape(f); details != nil || p.LocationScope != "selected_locations" {
		return nil, details, nil
	}
	ids := p.ScopedLocationIDs
	if f.ScopedLocationIDs.Set {
		ids = f.ScopedLocationIDs.V
	}
	return tx.ownLocations(a.Shop, "scoped_location_ids", ids)
}

// scopeShape merges location_scope into p and tells whether the list of
// locations fits it.
func (p *program) scopeShape(f ProgramFields) []Detail {
	p.LocationScope = f.LocationScope.Or(p.LocationScope)
	selected := p.LocationScope == "selected_locations"
	given := len(f.ScopedLocationIDs.V)
	switch {
	case !selected && given > 0:
		return []Detail{{"scoped_location_ids", "not_allowed", "must be empty with location_scope all_locations"}}
	case selected && given == 0 && (f.ScopedLocationIDs.Set || len(p.ScopedLocationIDs) == 0):
		return []Detail{{"scoped_location_ids", "required", "must name at least one location with location_scope selected_locations"}}
	}
	return nil
}

func (tx *Tx) setScope(program int64, scope []int64) error {
	if _, err := tx.exec("DELETE FROM program_locations WHERE program_id=?", program); err != nil {
		return err
	}
	for i, l := range scope {
		if _, err := tx.exec("INSERT INTO program_locations (program_id, location_id, position) VALUES (?,?,?)", program, l, i); err != nil {
			return err
		}
	}
	return nil
}

// Actions on a program's lifecycle.
const (
	Publish   = "publish"
	Unpublish = "unpublish"
	Suspend   = "suspend"
	Unsuspend = "unsuspend"
)

// ProgramAction moves a program along the lifecycle table of contract section
// 4: a step to where it already is changes nothing, a step that the table has
// not is a conflict.
func (tx *Tx) ProgramAction(a Access, id, action string) (d ProgramDetail, err error) {
	p, err := tx.s.program(tx.conn, a, id)
	if err != nil {
		return d, err
	}
	state := "unpublished"
	if p.SuspendedAt.Valid {
		state = "suspended"
	} else if p.PublishedAt.Valid {
		state = "published"
	}
	step := map[string][3]string{ // unpublished, published, suspended
		Publish:   {"UPDATE programs SET published_at=?1, updated_at=?1 WHERE id=?2", "", "conflict"},
		Unpublish: {"", "UPDATE programs SET published_at=NULL, updated_at=?1 WHERE id=?2", "conflict"},
		Suspend:   {"conflict", "UPDATE programs SET suspended_at=?1, updated_at=?1 WHERE id=?2", ""},
		Unsuspend: {"conflict", "", "UPDATE programs SET suspended_at=NULL, updated_at=?1 WHERE id=?2"},
	}[action][slices.Index([]string{"unpublished", "published", "suspended"}, state)]
	switch step {
	case "":
		return p.ProgramDetail, nil
	case "conflict":
		return d, refuse(Conflict, "Cannot %s a program that is %s.", action, state)
	}
	if _, err = tx.exec(step, tx.Now, p.key); err != nil {
		return d, err
	}
	return tx.changedProgram(a, p.key, "program."+action, map[string]event.Name{
		Publish: event.ProgramPublished, Unpublish: event.ProgramUnpublished, Suspend: event.ProgramSuspended, Unsuspend: event.ProgramUnsuspended}[action])
}

// SetMinSpend sets what a stamp must cost at least, in cents; null takes the
// demand away, absent leaves it. Only operators do this, also on a frozen program.
func (tx *Tx) SetMinSpend(shop int64, id string, cents Opt[int64]) (d ProgramDetail, err error) {
	p, err := tx.s.program(tx.conn, Access{Shop: shop}, id)
	if err != nil || !cents.Set {
		return p.ProgramDetail, err
	}
	if _, err = tx.exec("UPDATE programs SET min_spend_cents=?, updated_at=? WHERE id=?", cents.Value(), tx.Now, p.key); err != nil {
		return d, err
	}
	return tx.changedProgram(Access{Shop: shop}, p.key, "program.update", event.ProgramUpdated)
}

// DeleteProgram makes a program not_found and archives all its cards; its
// webhooks go, its ledger stays. Operators only (spec "What the service does").
func (tx *Tx) DeleteProgram(shop int64, id string) error {
	p, err := tx.s.program(tx.conn, Access{Shop: shop}, id)
	if err != nil {
		return err
	}
	r := tx.query("SELECT id FROM cards WHERE program_id=? AND deleted_at IS NULL AND archived_at IS NULL ORDER BY id", p.key)
	for r.next() {
		tx.emit(pendingEvent{name: event.CardArchived, shop: shop, program: p.key, card: r.int()})
	}
	if err := r.close(); err != nil {
		return err
	}
	if _, err := tx.exec("UPDATE shops SET live_cards=live_cards-(SELECT count(*) FROM cards WHERE program_id=? AND live=1 AND deleted_at IS NULL) WHERE id=?", p.key, shop); err != nil {
		return err
	}
	if _, err := tx.exec("UPDATE cards SET archived_at=ifnull(archived_at, ?1), updated_at=?1, live=0 WHERE program_id=?2 AND deleted_at IS NULL AND (archived_at IS NULL OR live=1)", tx.Now, p.key); err != nil {
		return err
	}
	if _, err := tx.exec("UPDATE programs SET deleted_at=?1, updated_at=?1 WHERE id=?2", tx.Now, p.key); err != nil {
		return err
	}
	if err := tx.dropWebhooks(p.key); err != nil {
		return err
	}
	if _, err := tx.exec("DELETE FROM mails WHERE card_id IN (SELECT id FROM cards WHERE program_id=? AND deleted_at IS NULL)", p.key); err != nil {
		return err
	}
	if err := tx.audit(shop, "program.delete", KindProgram, p.key, ""); err != nil {
		return err
	}
	tx.emit(pendingEvent{name: event.ProgramDeleted, shop: shop, program: p.key})
	return tx.bumpAuth()
}
