package store

import (
	"slices"
	"time"
	_ "time/tzdata" // the small box may have no zone files
)

// Access is whose data an operation may touch: one shop, and where a key is
// restricted only its locations.
type Access struct {
	Shop       int64
	Restricted bool
	Locations  []int64
}

// allows tells whether a location is within the restriction.
func (a Access) allows(location int64) bool {
	return !a.Restricted || slices.Contains(a.Locations, location)
}

// Shop is an account as operators see it.
type Shop struct {
	ID                string      `json:"id"`
	Name              string      `json:"name"`
	Mode              string      `json:"mode" enum:"live,test"`
	Timezone          string      `json:"timezone"`
	SubscriptionState string      `json:"subscription_state" enum:"active,past_due,suspended,cancelled"`
	APIAddon          bool        `json:"api_addon"`
	MCPAccess         bool        `json:"mcp_access"`
	GrantExpiresAt    Null[Time]  `json:"grant_expires_at"`
	IncludedLocations int64       `json:"included_locations"`
	MaxLocations      Null[int64] `json:"max_locations"`
	MaxCards          Null[int64] `json:"max_cards"`
	CreatedAt         Time        `json:"created_at"`
	UpdatedAt         Time        `json:"updated_at"`
}

// ShopFields are what an operator sets; a shop starts with everything on.
type ShopFields struct {
	Name              Opt[string] `json:"name" min:"1" max:"200"`
	Mode              Opt[string] `json:"mode" enum:"live,test" patch:"not_allowed"`
	Timezone          Opt[string] `json:"timezone" min:"1" max:"64"`
	SubscriptionState Opt[string] `json:"subscription_state" enum:"active,past_due,suspended,cancelled"`
	APIAddon          Opt[bool]   `json:"api_addon"`
	MCPAccess         Opt[bool]   `json:"mcp_access"`
	GrantExpiresAt    Opt[Time]   `json:"grant_expires_at" patch:"nullable"`
	IncludedLocations Opt[int64]  `json:"included_locations" min:"0" max:"1000000"`
	MaxLocations      Opt[int64]  `json:"max_locations" min:"0" max:"1000000" patch:"nullable"`
	MaxCards          Opt[int64]  `json:"max_cards" min:"0" max:"1000000000" patch:"nullable"`
}

var shopCols = columns("id", "name", "mode", "timezone", "subscription_state", "api_addon", "mcp_access", "grant_expires_at",
	"included_locations", "max_locations", "max_cards", "created_at", "updated_at")

func (s *Store) scanShop(r *rows) (key int64, sh Shop) {
	key = r.int()
	sh = Shop{ID: s.ID(KindShop, key), Name: r.str(), Mode: r.str(), Timezone: r.str(), SubscriptionState: r.str(), APIAddon: r.bool(), MCPAccess: r.bool(),
		GrantExpiresAt: r.nullTime(), IncludedLocations: r.int(), MaxLocations: r.nullInt(), MaxCards: r.nullInt(), CreatedAt: r.time(), UpdatedAt: r.time()}
	return key, sh
}

// shop reads one shop by key; the error for a key that is none is not_found.
func (s *Store) shop(c *conn, key int64) (sh Shop, err error) {
	ok, err := c.one(func(r *rows) { _, sh = s.scanShop(r) }, "SELECT "+shopCols+" FROM shops WHERE id=?", key)
	if err == nil && !ok {
		err = notFound("shop")
	}
	return sh, err
}

// Refusals of ResolveShop without an id.
var (
	ErrNoShop       error = refuse(NotFound, "The file has no shop yet.")
	ErrSeveralShops error = refuse(BadRequest, "The file has several shops.")
)

// ResolveShop turns a shop's id into its key; an empty id stands for the only
// shop of the file.
func (s *Store) ResolveShop(id string) (key int64, err error) {
	err = s.View(0, func(v *View) error {
		if id != "" {
			k, ok := s.Key(KindShop, id)
			if !ok {
				return notFound("shop")
			}
			key = k
			_, err := s.shop(v.conn, k)
			return err
		}
		r := v.query("SELECT id FROM shops LIMIT 2")
		n := 0
		for r.next() {
			key = r.int()
			n++
		}
		if err := r.close(); err != nil {
			return err
		}
		switch n {
		case 0:
			return ErrNoShop
		case 2:
			return ErrSeveralShops
		}
		return nil
	})
	return key, err
}

// Shops lists all shops of the file, oldest first.
func (v *View) Shops() (list []Shop, err error) {
	r := v.query("SELECT " + shopCols + " FROM shops ORDER BY id")
	for r.next() {
		_, sh := v.s.scanShop(r)
		list = append(list, sh)
	}
	return list, r.close()
}

// CheckTimezone tells what is wrong with the name of a time zone.
func CheckTimezone(name Opt[string]) []Detail {
	if !name.Set || name.Null {
		return nil
	}
	if _, err := time.LoadLocation(name.V); err != nil || name.V == "" || name.V == "Local" {
		return []Detail{{Field: "timezone", Code: "invalid_value", Message: "is not an IANA time zone"}}
	}
	return nil
}

// Check finds a time zone that there is none of.
func (f ShopFields) Check(Time) []Detail { return CheckTimezone(f.Timezone) }

// CreateShop makes a shop that has everything on unless f says otherwise.
func (tx *Tx) CreateShop(f ShopFields) (key int64, sh Shop, err error) {
	if d := CheckTimezone(f.Timezone); d != nil {
		return 0, sh, Invalid(d...)
	}
	id, err := tx.nextKey("shops")
	if err != nil {
		return 0, sh, err
	}
	key, err = tx.insert(`INSERT INTO shops (id, name, mode, timezone, subscription_state, api_addon, mcp_access, grant_expires_at,
		included_locations, max_locations, max_cards, created_at, updated_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		id, f.Name.Or("My shop"), f.Mode.Or("test"), f.Timezone.Or("UTC"), f.SubscriptionState.Or("active"), f.APIAddon.Or(true), f.MCPAccess.Or(true),
		f.GrantExpiresAt.Value(), f.IncludedLocations.Or(1), f.MaxLocations.Value(), f.MaxCards.Value(), tx.Now, tx.Now)
	if err != nil {
		return 0, sh, err
	}
	if err = tx.audit(key, "shop.create", KindShop, key, ""); err != nil {
		return 0, sh, err
	}
	sh, err = tx.s.shop(tx.conn, key)
	return key, sh, err
}

// UpdateShop changes what f names. Taking the add-on away stamps
// disabled_by_plan_at on the shop's keys, giving it back clears it; both hold
// from the next request on (spec Authentication 9).
func (tx *Tx) UpdateShop(key int64, f ShopFields) (sh Shop, err error) {
	if d := CheckTimezone(f.Timezone); d != nil {
		return sh, Invalid(d...)
	}
	old, err := tx.s.shop(tx.conn, key)
	if err != nil || !namesAnyField(&f) {
		return old, err
	}
	if _, err = tx.exec(`UPDATE shops SET name=?, timezone=?, subscription_state=?, api_addon=?, mcp_access=?, grant_expires_at=?,
		included_locations=?, max_locations=?, max_cards=?, updated_at=? WHERE id=?`,
		f.Name.Or(old.Name), f.Timezone.Or(old.Timezone), f.SubscriptionState.Or(old.SubscriptionState), f.APIAddon.Or(old.APIAddon),
		f.MCPAccess.Or(old.MCPAccess), f.GrantExpiresAt.Apply(old.GrantExpiresAt), f.IncludedLocations.Or(old.IncludedLocations),
		f.MaxLocations.Apply(old.MaxLocations), f.MaxCards.Apply(old.MaxCards), tx.Now, key); err != nil {
		return sh, err
	}
	if addon := f.APIAddon.Or(old.APIAddon); addon != old.APIAddon {
		at := Some(tx.Now)
		if addon {
			at = Null[Time]{}
		}
		if _, err = tx.exec("UPDATE keys SET disabled_by_plan_at=? WHERE shop_id=? AND class='api' AND revoked_at IS NULL", at, key); err != nil {
			return sh, err
		}
	}
	if err = tx.bumpAuth(); err != nil {
		return sh, err
	}
	if f.Timezone.Or(old.Timezone) != old.Timezone {
		// Its days and hours are others now.
		if err = tx.s.recountLocal(" WHERE p.shop_id=?", key); err != nil {
			return sh, err
		}
	}
	if err = tx.audit(key, "shop.update", KindShop, key, ""); err != nil {
		return sh, err
	}
	if to := f.SubscriptionState.Or(old.SubscriptionState); to != old.SubscriptionState {
		tx.emitSubscription(key, old.SubscriptionState, to)
	}
	return tx.s.shop(tx.conn, key)
}

// bumpAuth makes every process read identities, and whatever else is kept for
// an epoch, anew before it answers its next request.
func (tx *Tx) bumpAuth() error {
	tx.s.subscribers = map[int64][]subscriber{}
	tx.s.epoch++
	_, err := tx.exec("UPDATE meta SET auth_epoch=auth_epoch+1, hook_epoch=hook_epoch+1 WHERE id=1")
	return err
}

// OwnShop is the caller's shop and the number of its locations.
func (v *View) OwnShop(a Access) (sh Shop, locations int64, err error) {
	if sh, err = v.s.shop(v.conn, a.Shop); err != nil {
		return sh, 0, err
	}
	locations, err = v.number("SELECT count(*) FROM locations WHERE shop_id=?", a.Shop)
	return sh, locations, err
}

// owners are the tables whose rows belong to a shop, by the kind of their id.
var owners = map[Kind]string{KindProgram: "programs", KindCard: "cards", KindLocation: "locations", KindKey: "keys", KindDevice: "devices"}

// Owner finds the shop that a program, card, location, key or device belongs
// to: operators name a resource by its id alone.
func (s *Store) Owner(kind Kind, id string) (shop int64, err error) {
	err = s.View(0, func(v *View) (err error) {
		if key, ok := s.Key(kind, id); ok {
			shop, err = v.number("SELECT shop_id FROM "+owners[kind]+" WHERE id=?", key)
		}
		if err == nil && shop == 0 {
			err = notFound(map[Kind]string{KindProgram: "program", KindCard: "card", KindLocation: "location", KindKey: "key", KindDevice: "device"}[kind])
		}
		return err
	})
	return shop, err
}
