package store

import (
	"cmp"
	"slices"
	"time"

	"punchcard/store/event"
)

// Access says which data an operation may read and write: those of one shop, and,
// for a restricted key, of its locations.
type Access struct {
	Shop       int64
	Restricted bool
	Locations  []int64
}

// allows reports whether the access includes a location.
func (a Access) allows(location int64) bool {
	return !a.Restricted || slices.Contains(a.Locations, location)
}

// Shop is a shop as operators see it.
type Shop struct {
	ID                string       `json:"id"`
	Name              string       `json:"name"`
	Mode              string       `json:"mode" enum:"live,test"`
	Timezone          string       `json:"timezone"`
	SubscriptionState string       `json:"subscription_state" enum:"active,past_due,suspended,cancelled"`
	APIAddon          bool         `json:"api_addon"`
	MCPAccess         bool         `json:"mcp_access"`
	GrantExpiresAt    Null[Time]   `json:"grant_expires_at"`
	IncludedLocations int64        `json:"included_locations"`
	MaxLocations      Null[int64]  `json:"max_locations"`
	MaxCards          Null[int64]  `json:"max_cards"`
	Currency          string       `json:"currency" doc:"ISO 4217."`
	Language          string       `json:"language"`
	RequireTOTP       bool         `json:"require_totp" doc:"Whether owners and managers need a second factor."`
	CountryCode       Null[string] `json:"country_code" doc:"ISO 3166-1 alpha-2. Phone numbers without a country are read as of this one."`
	Closed            Null[string] `json:"closed" enum:"moving,moved" doc:"Null: it is open. While it moves to a file of its own its data can be read; afterwards nothing can."`
	PublicURL         Null[string] `json:"public_url" doc:"What the links of its cards and tills begin with; null: the public URL of the server."`
	MovedTo           Null[string] `json:"moved_to" doc:"Public URL of the server that it moves to."`
	ForgetAfterMonths Null[int64]  `json:"forget_after_months" doc:"Cards that were not seen for longer are erased with their persons' data. Null: none."`
	ForgetSince       Null[Time]   `json:"forget_since" doc:"When that was switched on or made shorter. Nothing is erased in the month after it."`
	CreatedAt         Time         `json:"created_at"`
	UpdatedAt         Time         `json:"updated_at"`
}

// ShopFields are the fields of a shop that an operator sets.
type ShopFields struct {
	Name              Opt[string] `json:"name" min:"1" max:"200" format:"line"`
	Mode              Opt[string] `json:"mode" enum:"live,test" patch:"not_allowed"`
	Timezone          Opt[string] `json:"timezone" min:"1" max:"64"`
	SubscriptionState Opt[string] `json:"subscription_state" enum:"active,past_due,suspended,cancelled"`
	APIAddon          Opt[bool]   `json:"api_addon"`
	MCPAccess         Opt[bool]   `json:"mcp_access"`
	GrantExpiresAt    Opt[Time]   `json:"grant_expires_at" patch:"nullable"`
	IncludedLocations Opt[int64]  `json:"included_locations" min:"0" max:"1000000"`
	MaxLocations      Opt[int64]  `json:"max_locations" min:"0" max:"1000000" patch:"nullable"`
	MaxCards          Opt[int64]  `json:"max_cards" min:"0" max:"1000000000" patch:"nullable"`
	Currency          Opt[string] `json:"currency" min:"3" max:"3" doc:"ISO 4217, such as EUR, which is the default."`
	Language          Opt[string] `json:"language" enum:"en,it,es,fr,de,pt" doc:"Of the shop's pages and mail. Default en."`
	RequireTOTP       Opt[bool]   `json:"require_totp" doc:"Whether owners and managers need a second factor. Default false."`
	CountryCode       Opt[string] `json:"country_code" format:"country" patch:"nullable" doc:"Two letters A-Z, ISO 3166-1."`
	PublicURL         Opt[string] `json:"public_url" min:"1" max:"300" patch:"nullable" doc:"What the links of its cards and tills begin with: https and a host that no other shop has, such as https://cards.example.com. Null: the public URL of the server."`
	ForgetAfterMonths Opt[int64]  `json:"forget_after_months" min:"12" max:"120" patch:"nullable" doc:"Erase cards that were not seen for longer, with their persons' data."`
}

var shopCols = `id, name, mode, timezone, subscription_state, api_addon, mcp_access, grant_expires_at, included_locations,
	max_locations, max_cards, currency, language, require_totp, country_code, closed, public_url, moved_to, forget_after_months,
	forget_since, created_at, updated_at`

func (g IDs) scanShop(r *rows) (s Shop) {
	r.scan(g.into(KindShop, &s.ID), &s.Name, &s.Mode, &s.Timezone, &s.SubscriptionState, &s.APIAddon, &s.MCPAccess, &s.GrantExpiresAt,
		&s.IncludedLocations, &s.MaxLocations, &s.MaxCards, &s.Currency, &s.Language, &s.RequireTOTP, &s.CountryCode, &s.Closed,
		&s.PublicURL, &s.MovedTo, &s.ForgetAfterMonths, &s.ForgetSince, &s.CreatedAt, &s.UpdatedAt)
	return s
}

// notDeleted is the condition on a shop that it was not deleted. The rows of a deleted one are being
// erased, so that no sum of theirs is right.
const notDeleted = "closed IS NOT 'deleted'"

// findShop returns a shop by its key. Without one, or where it was deleted, the error is not_found.
func (q *queries) findShop(key int64) (Shop, error) {
	return findOne(q, "shop", q.scanShop, "SELECT "+shopCols+" FROM shops WHERE id=? AND "+notDeleted, key)
}

// namedShop returns a shop that exists by id, name and time zone.
func (q *queries) namedShop(key int64) NamedShop {
	sh := q.shop(key)
	return NamedShop{sh.ID, sh.Name, sh.Timezone}
}

// shop returns a shop that exists.
func (q *queries) shop(key int64) Shop {
	sh, err := q.findShop(key)
	q.fail(err)
	return sh
}

// The errors of ResolveShop without an id.
var (
	ErrNoShop       error = refuse(NotFound, "The file has no shop yet.")
	ErrSeveralShops error = refuse(BadRequest, "The file has several shops.")
)

// ResolveShop returns the key of a shop's id. An empty id means the only shop of
// the file.
func (s *Store) ResolveShop(id string) (key int64, err error) {
	err = s.View(0, func(v *View) error {
		if id != "" {
			key = s.keyOrNone(KindShop, id)
			v.shop(key)
			return v.failed
		}
		keys := v.keys("SELECT id FROM shops WHERE " + notDeleted + " LIMIT 2")
		switch len(keys) {
		case 0:
			return cmp.Or[error](v.failed, ErrNoShop)
		case 2:
			return ErrSeveralShops
		}
		key = keys[0]
		return nil
	})
	return key, err
}

// Shops returns all shops of the file, oldest first.
func (v *View) Shops() ([]Shop, error) {
	return collect(v, v.scanShop, "SELECT "+shopCols+" FROM shops WHERE "+notDeleted+" ORDER BY id"), v.failed
}

// CheckTimezone returns a detail if the name is not that of a time zone.
func CheckTimezone(name Opt[string]) []Detail {
	if !name.Set || name.Null {
		return nil
	}
	if _, err := time.LoadLocation(name.V); err != nil || name.V == "" || name.V == "Local" {
		return []Detail{{Field: "timezone", Code: "invalid_value", Message: "must be an IANA time zone, such as Europe/Rome"}}
	}
	return nil
}

// Check validates the time zone, the currency and the public URL.
func (f ShopFields) Check(Time) []Detail {
	return slices.Concat(CheckTimezone(f.Timezone), CheckCurrency(f.Currency), checkShopURL(f.PublicURL))
}

// CreateShop creates a shop. Unless f says otherwise it is a live shop with an
// active subscription, API and MCP access, the time zone UTC, euros and English.
func (tx *Tx) CreateShop(f ShopFields) (key int64, sh Shop, err error) {
	if d := f.Check(tx.Now); d != nil {
		return 0, sh, Invalid(d...)
	}
	sh = Shop{Mode: "live", Timezone: "UTC", SubscriptionState: "active", APIAddon: true, MCPAccess: true, IncludedLocations: 1,
		Currency: "EUR", Language: "en"}
	merge(&sh, f)
	if err := tx.setShopURL(&sh, 0); err != nil {
		return 0, sh, err
	}
	sh.noteForgetting(Shop{}, tx.Now)
	key = tx.insert(`INSERT INTO shops (id, mode, created_at, name, timezone, subscription_state, api_addon, mcp_access, grant_expires_at,
		included_locations, max_locations, max_cards, currency, language, require_totp, country_code, forget_after_months, forget_since,
		public_url, updated_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		append([]any{tx.nextKey("shops"), sh.Mode, tx.Now}, sh.values(tx.Now)...)...)
	tx.bumpAuth() // operators see all shops
	tx.audit(key, "shop.create", KindShop, key)
	sh = tx.shop(key)
	return key, sh, tx.failed
}

// UpdateShop changes the fields that f names. Removing the API add-on sets
// disabled_by_plan_at of the shop's keys, and adding it clears that. Both hold
// from the next request on. A shop that has the values already stays as it is. reason
// is for the event of a changed subscription and may be empty.
func (tx *Tx) UpdateShop(key int64, f ShopFields, reason string) (sh Shop, err error) {
	if d := f.Check(tx.Now); d != nil {
		return sh, Invalid(d...)
	}
	old := tx.shop(key)
	changed := old
	merge(&changed, f)
	changed.Mode = old.Mode
	if err := tx.setShopURL(&changed, key); err != nil {
		return sh, err
	}
	if changed == old {
		return old, nil
	}
	changed.noteForgetting(old, tx.Now)
	tx.exec(`UPDATE shops SET name=?, timezone=?, subscription_state=?, api_addon=?, mcp_access=?, grant_expires_at=?,
		included_locations=?, max_locations=?, max_cards=?, currency=?, language=?, require_totp=?, country_code=?,
		forget_after_months=?, forget_since=?, public_url=?, updated_at=? WHERE id=?`, append(changed.values(tx.Now), key)...)
	if changed.APIAddon != old.APIAddon {
		tx.exec("UPDATE keys SET disabled_by_plan_at=? WHERE shop_id=? AND class='api' AND revoked_at IS NULL",
			Null[Time]{tx.Now, !changed.APIAddon}, key)
	}
	tx.bumpAuth()
	tx.shopChanged(key)
	if changed.Timezone != old.Timezone {
		tx.recountLocal(nil, " WHERE p.shop_id=?", key)
		tx.fillLastSeen(nil, " WHERE p.shop_id=?", key)
	}
	tx.audit(key, "shop.update", KindShop, key)
	if to := changed.SubscriptionState; to != old.SubscriptionState {
		tx.emit(pendingEvent{
			name: event.SubscriptionStateChanged,
			shop: key,
			data: event.Data{"from_state", old.SubscriptionState, "to_state", to, "reason", reason},
		})
	}
	return tx.shop(key), tx.failed
}

// values returns the values of the columns that CreateShop and UpdateShop write, as of a time.
func (sh Shop) values(now Time) []any {
	return []any{sh.Name, sh.Timezone, sh.SubscriptionState, sh.APIAddon, sh.MCPAccess, sh.GrantExpiresAt, sh.IncludedLocations,
		sh.MaxLocations, sh.MaxCards, sh.Currency, sh.Language, sh.RequireTOTP, sh.CountryCode, sh.ForgetAfterMonths,
		sh.ForgetSince, sh.PublicURL, now}
}

// bumpAuth makes every process read identities, and whatever else it caches for
// an epoch, again before it answers its next request.
func (tx *Tx) bumpAuth() {
	tx.s.subscribers = map[int64][]subscriber{}
	tx.s.epoch++
	tx.exec("UPDATE meta SET auth_epoch=auth_epoch+1, hook_epoch=hook_epoch+1 WHERE id=1")
}

// OwnShop returns the caller's shop and the number of its locations.
func (v *View) OwnShop(a Access) (sh Shop, locations int64, err error) {
	sh = v.shop(a.Shop)
	locations = v.number("SELECT count(*) FROM locations WHERE shop_id=?", a.Shop)
	return sh, locations, v.failed
}

// nouns are the kinds of resources that belong to a shop. The table of each has
// its plural as its name, but for that of the staff.
var nouns = map[Kind]string{
	KindProgram:  "program",
	KindCard:     "card",
	KindLocation: "location",
	KindKey:      "key",
	KindDevice:   "device",
	KindStaff:    "member of staff",
}

// Owner returns the shop that a program, card, location, key, device or member of staff
// belongs to, since operators name a resource by its id alone.
func (s *Store) Owner(kind Kind, id string) (shop int64, err error) {
	table := nouns[kind] + "s"
	if kind == KindStaff {
		table = "staff"
	}
	err = s.View(0, func(v *View) error {
		return v.find(nouns[kind], into(&shop), "SELECT shop_id FROM "+table+" WHERE id=?", s.keyOrNone(kind, id))
	})
	return shop, err
}
