package store

// ProgramForm is a program with the fields that no other answer shows, for a person
// who edits it.
type ProgramForm struct {
	Program
	HasInstalledCards        bool              `json:"has_installed_cards"`
	NameLocalizations        map[string]string `json:"name_localizations"`
	DescriptionLocalizations map[string]string `json:"description_localizations"`
	StampsExpireAfterDays    Null[int64]       `json:"stamps_expire_after_days"`
	MinSpendCents            Null[int64]       `json:"min_spend_cents"`
	MaxStampsPerDay          Null[int64]       `json:"max_stamps_per_day"`
	WelcomeStamps            int64             `json:"welcome_stamps"`
	VisibleInCatalog         bool              `json:"visible_in_catalog"`
	BorderEnabled            bool              `json:"border_enabled"`
	LogoHash                 Null[string]      `json:"logo_hash" doc:"Of the logo that pages show; null: none was uploaded."`
	Prizes                   []PrizeForm       `json:"prizes"`
}

// PrizeForm is a prize with the fields that no other answer shows.
type PrizeForm struct {
	Prize
	NameLocalizations        map[string]string `json:"name_localizations"`
	DescriptionLocalizations map[string]string `json:"description_localizations"`
	Redemptions              int64             `json:"redemptions" doc:"Reversed ones too. A prize that has any cannot be deleted."`
}

// ProgramForm returns a program with all of its fields.
func (v *View) ProgramForm(shop int64, id string) (f ProgramForm, err error) {
	v.snapshot()
	p, err := v.program(Access{Shop: shop}, id)
	if err != nil {
		return f, err
	}
	f = ProgramForm{
		Program:               p.Program,
		HasInstalledCards:     p.HasInstalledCards,
		StampsExpireAfterDays: p.stampsExpireAfterDays,
		MinSpendCents:         p.minSpendCents,
		MaxStampsPerDay:       p.maxStampsPerDay,
		WelcomeStamps:         p.welcomeStamps,
		VisibleInCatalog:      p.visibleInCatalog,
		BorderEnabled:         p.borderEnabled,
	}
	v.one(into(&f.NameLocalizations, &f.DescriptionLocalizations, &f.LogoHash),
		"SELECT name_localizations, description_localizations, ifnull(logo_hash, '') FROM programs WHERE id=?", p.key)
	next := 0
	f.Prizes = collect(v, func(r *rows) PrizeForm {
		z := PrizeForm{Prize: p.Prizes[next]}
		r.scan(&z.NameLocalizations, &z.DescriptionLocalizations, &z.Redemptions)
		next++
		return z
	}, "SELECT name_localizations, description_localizations, redemptions FROM prizes WHERE program_id=? ORDER BY ordinal, id", p.key)
	return f, v.failed
}

// ProgramImpact says what a change of a program's state concerns.
type ProgramImpact struct {
	ActiveCards    int64 `json:"active_cards" doc:"Cards in use."`
	InstalledCards int64 `json:"installed_cards" doc:"Of those, on a phone. A card and those it overflowed into count once."`
	Stamps         int64 `json:"stamps" doc:"Without reversed ones."`
	Redemptions    int64 `json:"redemptions" doc:"Without reversed ones."`
	Uses           int64 `json:"uses" doc:"Without reversed ones."`
	BalanceCents   int64 `json:"balance_cents" doc:"On cards that are not archived."`
	Webhooks       int64 `json:"webhooks" doc:"Of the program, which end with it."`
}

// ProgramImpact returns what a change of a program's state concerns. It reads stored
// sums.
func (v *View) ProgramImpact(a Access, id string) (im ProgramImpact, err error) {
	v.snapshot()
	p, err := v.program(a, id)
	if err != nil {
		return im, err
	}
	platforms := v.platforms(p.key)
	im.ActiveCards, im.InstalledCards = v.activeCards(p.key), platforms.Apple+platforms.Google
	v.programCounts(p.key, "stamps, redemptions, uses, balance", &im.Stamps, &im.Redemptions, &im.Uses, &im.BalanceCents)
	im.Webhooks = v.number("SELECT count(*) FROM webhooks WHERE program_id=? AND deleted_at IS NULL", p.key)
	return im, v.failed
}
