package store

// Program is a card template as lists show it.
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

// ProgramDetail is a program as single reads and actions return it.
type ProgramDetail struct {
	Program
	Prizes            []Prize `json:"prizes" doc:"The prize ladder in order."`
	HasInstalledCards bool    `json:"has_installed_cards" doc:"The edit lock: true once any card minted from the program was installed on a device; never false again."`
}

// ProgramFields is the body of creating and updating a program.
type ProgramFields struct {
	Name                     Opt[string]            `json:"name" req:"true" min:"1" max:"200" format:"line"`
	NameLocalizations        Opt[map[string]string] `json:"name_localizations" keys:"it,en,es,fr,de,pt" limit:"localization" min:"1" format:"line" patch:"default" doc:"By language. In a PATCH, null empties it."`
	Description              Opt[string]            `json:"description" max:"2000" patch:"default" doc:"Default empty; in a PATCH, null empties it."`
	DescriptionLocalizations Opt[map[string]string] `json:"description_localizations" keys:"it,en,es,fr,de,pt" limit:"localization" patch:"default" doc:"By language. In a PATCH, null empties it."`
	Category                 Opt[string]            `json:"category" max:"64" pattern:"^[a-z0-9_]+$" words:"must be 1 to 64 lower-case letters from a to z, digits and underscores" doc:"Default other."`
	Type                     Opt[string]            `json:"type" req:"true" enum:"standard,private,discount,access,prepaid" patch:"not_allowed"`
	BrandColorHex            Opt[string]            `json:"brand_color_hex" format:"hex-color" doc:"Default #1F2937."`
	BgColorHex               Opt[string]            `json:"bg_color_hex" format:"hex-color" doc:"Default #FFFFFF."`
	TextColorHex             Opt[string]            `json:"text_color_hex" format:"hex-color" doc:"Default #111827."`
	LogoURL                  Opt[string]            `json:"logo_url" format:"url" max:"2048" patch:"nullable"`
	TotalStamps              Opt[int64]             `json:"total_stamps" min:"1" max:"1000" patch:"nullable" doc:"Required for stamp programs, not allowed for others."`
	RepeatAfterReset         Opt[bool]              `json:"repeat_after_reset" patch:"nullable" doc:"Stamp programs. Default false."`
	StampsExpireAfterDays    Opt[int64]             `json:"stamps_expire_after_days" min:"1" max:"3650" patch:"nullable" doc:"Stamp programs."`
	IconKey                  Opt[string]            `json:"icon_key" min:"1" max:"64" format:"line" patch:"nullable" doc:"Required for stamp programs, not allowed for others."`
	DiscountPercent          Opt[float64]           `json:"discount_percent" gt:"0" max:"100" patch:"nullable" doc:"Required for discount programs, not allowed for others."`
	AccessImageURL           Opt[string]            `json:"access_image_url" format:"url" max:"2048" patch:"nullable" doc:"Required for access programs, not allowed for others."`
	InitialBalanceCents      Opt[int64]             `json:"initial_balance_cents" min:"0" max:"100000000" patch:"nullable" doc:"Required for prepaid programs, not allowed for others."`
	DefaultExpireAfterDays   Opt[int64]             `json:"default_expire_after_days" min:"1" max:"3650" patch:"nullable"`
	VisibleInCatalog         Opt[bool]              `json:"visible_in_catalog" doc:"Default true."`
	BorderEnabled            Opt[bool]              `json:"border_enabled" doc:"Default false."`
	LocationScope            Opt[string]            `json:"location_scope" enum:"all_locations,selected_locations" doc:"Default all_locations."`
	ScopedLocationIDs        Opt[[]string]          `json:"scoped_location_ids" max:"1000" doc:"Required and not empty with selected_locations; each one of the shop's own."`
}

// Variant is one of the kinds of a body whose rules depend on the value of a field.
type Variant struct {
	Value      string
	Required   []string // besides the fields that every kind requires
	NotAllowed []string // unless they are null or false
}

// The types of programs.
const (
	ProgramStandard = "standard"
	ProgramPrivate  = "private"
	ProgramDiscount = "discount"
	ProgramAccess   = "access"
	ProgramPrepaid  = "prepaid"
)

// The location scopes of programs.
const (
	allLocations      = "all_locations"
	selectedLocations = "selected_locations"
)

var programTypes = []string{ProgramStandard, ProgramPrivate, ProgramDiscount, ProgramAccess, ProgramPrepaid}

// CollectsStamps reports whether programs of this type collect stamps.
func CollectsStamps(programType string) bool {
	return programType == ProgramStandard || programType == ProgramPrivate
}

// program is a ProgramDetail with the columns that no answer shows.
type program struct {
	ProgramDetail
	key                      int64
	nameLocalizations        string
	descriptionLocalizations string
	stampsExpireAfterDays    Null[int64]
	minSpendCents            Null[int64]
	maxStampsPerDay          Null[int64]
	welcomeStamps            int64
	visibleInCatalog         bool
	borderEnabled            bool
}

const programCols = `p.id, p.name, p.description, p.category, p.type, p.published_at, p.suspended_at, p.total_stamps,
	p.repeat_after_reset, p.discount_percent, p.initial_balance_cents, p.default_expire_after_days, p.logo_url,
	p.access_image_url, p.brand_color_hex, p.bg_color_hex, p.text_color_hex, p.icon_key, p.location_scope,
	(SELECT group_concat(location_id) FROM (SELECT location_id FROM program_locations WHERE program_id=p.id ORDER BY position)),
	p.created_at, p.updated_at`

func (g IDs) scanProgram(r *rows, key int64) Program {
	p := Program{ID: g.ID(KindProgram, key)}
	r.scan(&p.Name, &p.Description, &p.Category, &p.Type, &p.PublishedAt, &p.SuspendedAt, &p.TotalStamps, &p.RepeatAfterReset,
		&p.DiscountPercent, &p.InitialBalanceCents, &p.DefaultExpireAfterDays, &p.LogoURL, &p.AccessImageURL, &p.BrandColorHex,
		&p.BgColorHex, &p.TextColorHex, &p.IconKey, &p.LocationScope)
	p.ScopedLocationIDs = g.idsOf(KindLocation, r.keys(), nil)
	r.scan(&p.CreatedAt, &p.UpdatedAt)
	p.Active = p.PublishedAt.Valid && !p.SuspendedAt.Valid
	return p
}

const programByKeySQL = "SELECT " + programCols + `, p.has_installed_cards, p.name_localizations, p.description_localizations,
	p.stamps_expire_after_days, p.min_spend_cents, p.visible_in_catalog, p.border_enabled, p.max_stamps_per_day, p.welcome_stamps
	FROM programs p WHERE p.id=? AND p.shop_id=?`

// program finds a program of the shop by its id, with its ladder.
func (q *queries) program(a Access, id string) (p program, err error) {
	if key, ok := q.Key(KindProgram, id); ok {
		p = q.readProgram(programByKeySQL+" AND p.deleted_at IS NULL", key, a.Shop)
	}
	if p.key == 0 && q.failed == nil {
		return p, notFound("program")
	}
	return p, q.failed
}

// readProgram reads a program with its ladder. Its key is 0 if there is none.
func (q *queries) readProgram(sql string, key, shop int64) (p program) {
	q.one(func(r *rows) {
		p.key = r.int()
		p.Program = q.scanProgram(r, p.key)
		r.scan(&p.HasInstalledCards, &p.nameLocalizations, &p.descriptionLocalizations, &p.stampsExpireAfterDays, &p.minSpendCents,
			&p.visibleInCatalog, &p.borderEnabled, &p.maxStampsPerDay, &p.welcomeStamps)
	}, sql, key, shop)
	p.Prizes = q.ladder(key)
	return p
}

// ProgramFilter selects a page of programs.
type ProgramFilter struct {
	PageQuery
	Type Opt[string] `json:"type" enum:"standard,private,discount,access,prepaid" doc:"Only programs of this type."`
}

// Programs returns a page of the shop's programs, newest first, including unpublished
// ones: all, or those of one type. A key's restriction to locations does not matter.
func (v *View) Programs(a Access, f ProgramFilter) (Page[Program], error) {
	w := listQuery{list: listPrograms, shop: a.Shop, table: "programs p", alias: "p"}
	w.useIndex("p.shop_id=? AND p.deleted_at IS NULL", a.Shop)
	if f.Type.Set {
		w.filter("p.type=?", f.Type.V)
	}
	return page(v, w, f.PageQuery, epochColumn+", "+programCols, v.scanProgram)
}

// Program returns a program with its prize ladder.
func (v *View) Program(a Access, id string) (d ProgramDetail, err error) {
	v.snapshot()
	p, err := v.program(a, id)
	d = p.ProgramDetail
	return d, err
}
