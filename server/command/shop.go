package command

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"punchcard/server/app"
	"punchcard/server/wire"
	"punchcard/store"
)

// Shop groups what is done to shops.
type Shop struct {
	Create ShopCreate `cmd:"" help:"Make a shop; creates the file when absent."`
	List   ShopList   `cmd:"" help:"List the shops of the file."`
	Update ShopUpdate `cmd:"" help:"Change a shop's plan, subscription or limits."`
}

// ShopFlags are what can be said of a shop.
type ShopFlags struct {
	Name              *string  `env:"-" help:"Its name."`
	Timezone          *string  `env:"-" help:"IANA time zone, such as Europe/Rome."`
	SubscriptionState *string  `env:"-" enum:"active,past_due,suspended,cancelled" help:"active, past_due, suspended or cancelled."`
	APIAddon          *bool    `name:"api-addon" env:"-" negatable:"" help:"Whether the shop has the Business API add-on."`
	MCPAccess         *bool    `name:"mcp-access" env:"-" negatable:"" help:"Whether the shop may use the MCP connector."`
	GrantExpiresAt    *instant `env:"-" placeholder:"TIME" help:"API access without the add-on until then; none takes it away."`
	IncludedLocations *int64   `env:"-" help:"Locations in the plan."`
	MaxLocations      *number  `env:"-" placeholder:"N" help:"Most locations; none for no limit."`
	MaxCards          *number  `env:"-" placeholder:"N" help:"Most live cards; none for no limit."`
}

func (f ShopFlags) fields() (s store.ShopFields, err error) {
	if err = text("name", f.Name, 200); err != nil {
		return s, err
	}
	if f.IncludedLocations != nil && *f.IncludedLocations < 0 {
		return s, fmt.Errorf("--included-locations: must not be negative")
	}
	s = store.ShopFields{Name: given(f.Name), Timezone: given(f.Timezone), SubscriptionState: given(f.SubscriptionState), APIAddon: given(f.APIAddon),
		MCPAccess: given(f.MCPAccess), IncludedLocations: given(f.IncludedLocations)}
	// Before a file is made for a shop that is refused.
	if d := store.CheckTimezone(s.Timezone); d != nil {
		return s, plain(store.Invalid(d...))
	}
	if s.GrantExpiresAt, err = f.GrantExpiresAt.opt("grant-expires-at"); err != nil {
		return s, err
	}
	if s.MaxLocations, err = f.MaxLocations.opt("max-locations"); err != nil {
		return s, err
	}
	s.MaxCards, err = f.MaxCards.opt("max-cards")
	return s, err
}

func printShops(w io.Writer, shops ...store.Shop) {
	fmt.Fprintln(w, "ID\tNAME\tMODE\tTIMEZONE\tSUBSCRIPTION\tAPI ADD-ON")
	for _, s := range shops {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%t\n", s.ID, s.Name, s.Mode, s.Timezone, s.SubscriptionState, s.APIAddon)
	}
}

// ShopCreate makes a shop that has everything on.
type ShopCreate struct {
	File
	Mode string `env:"-" enum:"live,test" default:"live" help:"live or test; decides the prefix of its keys."`
	ShopFlags
}

// Run makes it.
func (c *ShopCreate) Run() error {
	f, err := c.fields()
	if err != nil {
		return err
	}
	if !f.Name.Set {
		return fmt.Errorf("--name: is required")
	}
	f.Mode = given(&c.Mode)
	var sh store.Shop
	err = c.with(store.Options{}, func(st *store.Store) error {
		return st.Write(context.Background(), store.Write{Actor: person(), Do: func(tx *store.Tx) (err error) {
			_, sh, err = tx.CreateShop(f)
			return err
		}})
	})
	if err != nil {
		return err
	}
	return c.show(&sh, func(w io.Writer) { printShops(w, sh) })
}

// ShopList lists shops.
type ShopList struct{ File }

// Run lists.
func (c *ShopList) Run() error {
	var shops []store.Shop
	err := c.with(store.Options{MustExist: true, Readers: 1}, func(st *store.Store) error {
		return st.View(0, func(v *store.View) (err error) {
			shops, err = v.Shops()
			return err
		})
	})
	if err != nil {
		return err
	}
	return c.show(&list[store.Shop]{shops}, func(w io.Writer) { printShops(w, shops...) })
}

// ShopUpdate changes a shop.
type ShopUpdate struct {
	OfShop
	ShopFlags
}

// Run changes it.
func (c *ShopUpdate) Run() error {
	f, err := c.fields()
	if err != nil {
		return err
	}
	var sh store.Shop
	err = c.change(store.Limits{}, func(tx *store.Tx, shop int64) (err error) {
		sh, err = tx.UpdateShop(shop, f)
		return err
	})
	if err != nil {
		return err
	}
	return c.show(&sh, func(w io.Writer) { printShops(w, sh) })
}

// Location groups what is done to locations.
type Location struct {
	Create LocationCreate `cmd:"" help:"Make a location."`
	List   LocationList   `cmd:"" help:"List the shop's locations, newest first."`
	SetPin LocationSetPin `cmd:"" help:"Set or take away the staff PIN."`
}

func printLocations(w io.Writer, locations ...store.Location) {
	fmt.Fprintln(w, "ID\tNAME\tCITY\tACTIVE\tPIN DEMANDED")
	for _, l := range locations {
		fmt.Fprintf(w, "%s\t%s\t%s\t%t\t%t\n", l.ID, l.Name, l.City, l.Active, l.RequireStaffPIN)
	}
}

// LocationCreate makes a location.
type LocationCreate struct {
	OfShop
	Name            string  `env:"-" required:"" help:"Its name."`
	Address         string  `env:"-" required:"" help:"Street and number."`
	City            string  `env:"-" required:"" help:"City."`
	PostalCode      string  `env:"-" required:"" help:"Postal code."`
	CountryCode     string  `env:"-" required:"" help:"Two letters A-Z."`
	Lat             float64 `env:"-" help:"Latitude."`
	Lon             float64 `env:"-" help:"Longitude."`
	RequireStaffPIN bool    `name:"require-staff-pin" env:"-" help:"Tills ask for the staff PIN."`
	StaffPIN        *string `name:"staff-pin" env:"-" help:"4 to 8 digits."`
}

// Run makes it.
func (c *LocationCreate) Run() error {
	// The same rules as for a request's fields.
	var f store.LocationPatch
	if details := wire.DecodeQuery(url.Values{"name": {c.Name}, "address": {c.Address}, "city": {c.City}, "postal_code": {c.PostalCode}, "country_code": {c.CountryCode},
		"lat": {fmt.Sprint(c.Lat)}, "lon": {fmt.Sprint(c.Lon)}, "require_staff_pin": {fmt.Sprint(c.RequireStaffPIN)}}, &f, nil); details != nil {
		return plain(store.Invalid(details...))
	}
	var l store.Location
	err := c.change(store.Limits{}, func(tx *store.Tx, shop int64) (err error) {
		l, err = tx.CreateLocation(shop, store.LocationFields{LocationPatch: f, StaffPIN: given(c.StaffPIN)})
		return err
	})
	if err != nil {
		return err
	}
	return c.show(&l, func(w io.Writer) { printLocations(w, l) })
}

// LocationList lists locations.
type LocationList struct{ OfShop }

// Run lists.
func (c *LocationList) Run() error {
	var all []store.Location
	err := c.read(func(v *store.View, shop int64) (err error) {
		all, err = pages(func(q store.PageQuery) (store.Page[store.Location], error) {
			return v.Locations(store.Access{Shop: shop}, q)
		}, 0)
		return err
	})
	if err != nil {
		return err
	}
	return c.show(&list[store.Location]{all}, func(w io.Writer) { printLocations(w, all...) })
}

// pages reads a list to its end, or to most items where that is not 0.
func pages[T any](page func(store.PageQuery) (store.Page[T], error), most int) (all []T, err error) {
	q := store.PageQuery{}
	for {
		p, err := page(q)
		all = append(all, p.Data...)
		if most > 0 && len(all) >= most {
			return all[:most], err
		}
		if err != nil || !p.NextCursor.Valid {
			return all, err
		}
		q.Cursor = given(&p.NextCursor.V)
	}
}

// LocationSetPin sets the PIN.
type LocationSetPin struct {
	OfShop
	ID  string `arg:"" help:"The location."`
	PIN string `arg:"" optional:"" help:"4 to 8 digits; absent takes the PIN away."`
}

// Run sets it.
func (c *LocationSetPin) Run() error {
	var l store.Location
	err := c.change(store.Limits{}, func(tx *store.Tx, shop int64) (err error) {
		l, err = tx.SetStaffPIN(shop, c.ID, c.PIN)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s", strings.Replace(err.Error(), "--staff-pin", "PIN", 1))
	}
	return c.show(&l, func(w io.Writer) { printLocations(w, l) })
}

// Key groups what is done to keys.
type Key struct {
	Create    KeyCreate    `cmd:"" help:"Make a key and print it, once."`
	List      KeyList      `cmd:"" help:"List the shop's keys, newest first."`
	Rotate    KeyRotate    `cmd:"" help:"Make a successor and print it, once; the old key lives on for the overlap."`
	Revoke    KeyRevoke    `cmd:"" help:"End a key from the very next request on."`
	RevokeAll KeyRevokeAll `cmd:"" help:"End every key of the shop."`
}

func printKeys(w io.Writer, now store.Time, keys ...store.Key) {
	fmt.Fprintln(w, "ID\tPREFIX\tCLASS\tNAME\tSTATE\tSCOPES\tLOCATIONS")
	for _, k := range keys {
		state := "valid"
		switch {
		case k.RevokedAt.Valid:
			state = "revoked"
		case k.ExpiresAt.Valid && k.ExpiresAt.V <= now, k.RetiresAt.Valid && k.RetiresAt.V <= now:
			state = "expired"
		case k.RetiresAt.Valid:
			state = "until " + k.RetiresAt.V.String()
		case k.DisabledByPlanAt.Valid:
			state = "suspended"
		}
		scopes := fmt.Sprint(len(k.Scopes))
		if len(k.Scopes) == len(store.Scopes) {
			scopes = "all"
		}
		locations := "all"
		if n := len(k.LocationIDs); n > 0 {
			locations = fmt.Sprint(n)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Prefix, k.Class, k.Name, state, scopes, locations)
	}
}

// made is a key with its secret, as it is printed once.
type made struct {
	store.Key
	Secret string `json:"key"`
}

func (c OfShop) showKey(m made) error {
	return c.show(&m, func(w io.Writer) {
		printKeys(w, store.TimeOf(time.Now()), m.Key)
		fmt.Fprintf(w, "\nThe key, shown this once:\n\n%s\n", m.Secret)
	})
}

// KeyCreate makes a key.
type KeyCreate struct {
	OfShop
	Name          string   `env:"-" required:"" help:"What the key is for."`
	Class         string   `env:"-" enum:"api,mcp" default:"api" help:"api or mcp."`
	Scope         []string `env:"-" help:"Scopes such as cards:read; default: every scope."`
	Location      []string `env:"-" help:"Restrict the key to these locations."`
	Expires       *instant `env:"-" placeholder:"WHEN" help:"A time, a number of days such as 90d, or never. Default: never."`
	app.KeyLimits `group:"Limits:"`
}

// Run makes it.
func (c *KeyCreate) Run() error {
	if err := c.KeyLimits.Check(); err != nil {
		return err
	}
	if err := text("name", &c.Name, 200); err != nil {
		return err
	}
	f := store.KeyFields{Name: given(&c.Name), Class: given(&c.Class)}
	if len(c.Scope) > 0 {
		f.Scopes = given(&c.Scope)
	}
	if len(c.Location) > 0 {
		f.LocationIDs = given(&c.Location)
	}
	var err error
	if f.ExpiresAt, err = c.Expires.opt("expires"); err != nil {
		return err
	}
	if f.ExpiresAt.Null { // never, as without the flag
		f.ExpiresAt = store.Opt[store.Time]{}
	}
	var m made
	err = c.change(c.KeyLimits.Store(), func(tx *store.Tx, shop int64) (err error) {
		m.Key, m.Secret, err = tx.CreateKey(shop, f)
		return err
	})
	if err != nil {
		return err
	}
	return c.showKey(m)
}

// KeyList lists keys.
type KeyList struct{ OfShop }

// Run lists.
func (c *KeyList) Run() error {
	var keys []store.Key
	err := c.read(func(v *store.View, shop int64) (err error) {
		keys, err = v.Keys(shop)
		return err
	})
	if err != nil {
		return err
	}
	return c.show(&list[store.Key]{keys}, func(w io.Writer) { printKeys(w, store.TimeOf(time.Now()), keys...) })
}

// KeyRotate makes a successor.
type KeyRotate struct {
	OfShop
	ID            string `arg:"" help:"The key's id."`
	app.KeyLimits `group:"Limits:"`
}

// Run makes it.
func (c *KeyRotate) Run() error {
	if err := c.KeyLimits.Check(); err != nil {
		return err
	}
	var m made
	err := c.change(c.KeyLimits.Store(), func(tx *store.Tx, shop int64) (err error) {
		m.Key, m.Secret, err = tx.RotateKey(shop, c.ID, store.Null[time.Duration]{})
		return err
	})
	if err != nil {
		return err
	}
	return c.showKey(m)
}

// KeyRevoke ends a key.
type KeyRevoke struct {
	OfShop
	ID string `arg:"" help:"The key's id."`
}

// Run ends it.
func (c *KeyRevoke) Run() error {
	var k store.Key
	err := c.change(store.Limits{}, func(tx *store.Tx, shop int64) (err error) {
		k, err = tx.RevokeKey(shop, c.ID)
		return err
	})
	if err != nil {
		return err
	}
	return c.show(&k, func(w io.Writer) { printKeys(w, store.TimeOf(time.Now()), k) })
}

// KeyRevokeAll ends all keys.
type KeyRevokeAll struct{ OfShop }

// Run ends them.
func (c *KeyRevokeAll) Run() error {
	var answer struct {
		Revoked int64 `json:"revoked"`
	}
	err := c.change(store.Limits{}, func(tx *store.Tx, shop int64) (err error) {
		answer.Revoked, err = tx.RevokeAllKeys(shop)
		return err
	})
	if err != nil {
		return err
	}
	return c.show(&answer, func(w io.Writer) { fmt.Fprintf(w, "%d keys revoked\n", answer.Revoked) })
}
