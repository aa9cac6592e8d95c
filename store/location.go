package store

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/argon2"

	"punchcard/store/event"
)

// Location is a site with a till (spec Location).
type Location struct {
	ID              string     `json:"id" min:"1" doc:"Opaque."`
	Name            string     `json:"name"`
	Address         string     `json:"address"`
	City            string     `json:"city"`
	PostalCode      string     `json:"postal_code"`
	CountryCode     string     `json:"country_code" format:"country" doc:"Two letters, ISO 3166-1."`
	Lat             float64    `json:"lat"`
	Lon             float64    `json:"lon"`
	RequireStaffPIN bool       `json:"require_staff_pin" doc:"Whether tills at this location ask for the staff PIN before each write."`
	Active          bool       `json:"active" doc:"False once the merchant disabled the location; change it with disable and enable."`
	DisabledAt      Null[Time] `json:"disabled_at"`
	CreatedAt       Time       `json:"created_at"`
	UpdatedAt       Time       `json:"updated_at"`
}

// LocationPatch is what PATCH /locations/{id} takes; active is not among it.
type LocationPatch struct {
	Name            Opt[string]  `json:"name" min:"1" max:"200"`
	Address         Opt[string]  `json:"address" min:"1" max:"200"`
	City            Opt[string]  `json:"city" min:"1" max:"200"`
	PostalCode      Opt[string]  `json:"postal_code" min:"1" max:"20"`
	CountryCode     Opt[string]  `json:"country_code" format:"country" doc:"Two letters A-Z, ISO 3166-1."`
	Lat             Opt[float64] `json:"lat" min:"-90" max:"90"`
	Lon             Opt[float64] `json:"lon" min:"-180" max:"180"`
	RequireStaffPIN Opt[bool]    `json:"require_staff_pin"`
}

var locationCols = columns("id", "name", "address", "city", "postal_code", "country_code", "lat", "lon", "require_staff_pin", "disabled_at", "created_at", "updated_at")

func (s *Store) scanLocation(r *rows, key int64) Location {
	l := Location{ID: s.ID(KindLocation, key), Name: r.str(), Address: r.str(), City: r.str(), PostalCode: r.str(), CountryCode: r.str(),
		Lat: r.float(), Lon: r.float(), RequireStaffPIN: r.bool(), DisabledAt: r.nullTime(), CreatedAt: r.time(), UpdatedAt: r.time()}
	l.Active = !l.DisabledAt.Valid
	return l
}

// location finds a location by its id: not_found where the shop has none such,
// unauthorized outside the key's restriction (contract section 2).
func (s *Store) location(c *conn, a Access, id string) (key int64, l Location, err error) {
	key, ok := s.Key(KindLocation, id)
	if !ok {
		return 0, l, notFound("location")
	}
	ok, err = c.one(func(r *rows) { l = s.scanLocation(r, r.int()) }, "SELECT "+locationCols+" FROM locations WHERE id=? AND shop_id=?", key, a.Shop)
	switch {
	case err != nil:
	case !ok:
		err = notFound("location")
	case !a.allows(key):
		err = refuse(Unauthorized, "This key is restricted to other locations.")
	}
	return key, l, err
}

// Locations is a page of the shop's locations, newest first; a restricted key
// sees its own.
func (v *View) Locations(a Access, q PageQuery) (Page[Location], error) {
	w := listQuery{list: listLocations, shop: a.Shop, table: "locations l", alias: "l"}
	w.useIndex("l.shop_id=?", a.Shop)
	if a.Restricted {
		w.filter("l.id IN (SELECT value FROM json_each(?))", jsonKeys(a.Locations))
	}
	cols := columns(epochColumn, "l.id", "l.name", "address", "city", "postal_code", "country_code", "lat", "lon", "require_staff_pin", "disabled_at", "created_at", "updated_at")
	return page(v, w, q, cols, v.s.scanLocation)
}

// jsonKeys writes keys as the JSON array that json_each reads.
func jsonKeys(keys []int64) string {
	return strings.ReplaceAll(fmt.Sprint(append([]int64{}, keys...)), " ", ",")
}

// ownLocations turns ids into keys, each once; every id that is not one of the
// shop's own is an invalid_value detail.
func (tx *Tx) ownLocations(shop int64, field string, ids []string) (keys []int64, details []Detail, err error) {
	for i, id := range ids {
		key, _, err := tx.s.location(tx.conn, Access{Shop: shop}, id)
		if _, refused := AsError(err); refused {
			details = append(details, Detail{fmt.Sprintf("%s.%d", field, i), "invalid_value", "is not a location of this shop"})
		} else if err != nil {
			return nil, nil, err
		} else if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, details, nil
}

// LocationFields are what an operator makes a location from.
type LocationFields struct {
	LocationPatch
	StaffPIN Opt[string] `json:"staff_pin" doc:"4 to 8 digits that tills ask for."`
}

// CreateLocation makes a location; over the shop's max_locations it is
// unprocessable.
func (tx *Tx) CreateLocation(shop int64, f LocationFields) (l Location, err error) {
	sh, err := tx.s.shop(tx.conn, shop)
	if err != nil {
		return l, err
	}
	have, err := tx.number("SELECT count(*) FROM locations WHERE shop_id=?", shop)
	if err != nil {
		return l, err
	}
	if sh.MaxLocations.Valid && have >= sh.MaxLocations.V {
		return l, refuse(Unprocessable, "The shop has %d locations, which is its maximum.", have)
	}
	pin := Null[string]{}
	if f.StaffPIN.Set && !f.StaffPIN.Null {
		if pin.V, err = hashPIN(f.StaffPIN.V); err != nil {
			return l, err
		}
		pin.Valid = true
	}
	id, err := tx.nextKey("locations")
	if err != nil {
		return l, err
	}
	key, err := tx.insert(`INSERT INTO locations (id, shop_id, name, address, city, postal_code, country_code, lat, lon, require_staff_pin, staff_pin, created_at, updated_at)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)`, id, shop, f.Name.Or("Main street"), f.Address.Or("Main street 1"), f.City.Or("Springfield"), f.PostalCode.Or("00000"),
		f.CountryCode.Or("IT"), f.Lat.Or(0), f.Lon.Or(0), f.RequireStaffPIN.Or(false), pin, tx.Now, tx.Now)
	if err != nil {
		return l, err
	}
	if err = tx.auditLocation(shop, "location.create", key); err != nil {
		return l, err
	}
	tx.emit(pendingEvent{name: event.LocationCreated, shop: shop, location: key})
	_, l, err = tx.s.location(tx.conn, Access{Shop: shop}, tx.s.ID(KindLocation, key))
	return l, err
}

func (tx *Tx) auditLocation(shop int64, action string, key int64) error {
	if err := tx.bumpAuth(); err != nil {
		return err
	}
	return tx.audit(shop, action, KindLocation, key, "")
}

// UpdateLocation changes what f names; nothing named changes nothing.
func (tx *Tx) UpdateLocation(a Access, id string, f LocationPatch) (l Location, err error) {
	key, l, err := tx.s.location(tx.conn, a, id)
	if err != nil || !namesAnyField(&f) {
		return l, err
	}
	if _, err = tx.exec("UPDATE locations SET name=?, address=?, city=?, postal_code=?, country_code=?, lat=?, lon=?, require_staff_pin=?, updated_at=? WHERE id=?",
		f.Name.Or(l.Name), f.Address.Or(l.Address), f.City.Or(l.City), f.PostalCode.Or(l.PostalCode), f.CountryCode.Or(l.CountryCode),
		f.Lat.Or(l.Lat), f.Lon.Or(l.Lon), f.RequireStaffPIN.Or(l.RequireStaffPIN), tx.Now, key); err != nil {
		return l, err
	}
	if err = tx.auditLocation(a.Shop, "location.update", key); err != nil {
		return l, err
	}
	tx.emit(pendingEvent{name: event.LocationUpdated, shop: a.Shop, location: key})
	_, l, err = tx.s.location(tx.conn, a, id)
	return l, err
}

// SetLocationActive disables or enables a location at once; asking for the
// state it is in is no error and changes nothing (spec Location).
func (tx *Tx) SetLocationActive(a Access, id string, active bool) (l Location, err error) {
	key, l, err := tx.s.location(tx.conn, a, id)
	if err != nil || l.Active == active {
		return l, err
	}
	at, action, name := Some(tx.Now), "location.disable", event.LocationDisabled
	if active {
		at, action, name = Null[Time]{}, "location.enable", event.LocationEnabled
	}
	if _, err = tx.exec("UPDATE locations SET disabled_at=?, updated_at=? WHERE id=?", at, tx.Now, key); err != nil {
		return l, err
	}
	if err = tx.auditLocation(a.Shop, action, key); err != nil {
		return l, err
	}
	tx.emit(pendingEvent{name: name, shop: a.Shop, location: key})
	_, l, err = tx.s.location(tx.conn, a, id)
	return l, err
}

// SetStaffPIN sets the PIN of 4 to 8 digits that tills of the location ask
// for; empty takes it away. Only its argon2id hash is stored.
func (tx *Tx) SetStaffPIN(shop int64, id, pin string) (l Location, err error) {
	key, l, err := tx.s.location(tx.conn, Access{Shop: shop}, id)
	if err != nil {
		return l, err
	}
	hash := Null[string]{}
	if pin != "" {
		if hash.V, err = hashPIN(pin); err != nil {
			return l, err
		}
		hash.Valid = true
	}
	if _, err = tx.exec("UPDATE locations SET staff_pin=?, updated_at=? WHERE id=?", hash, tx.Now, key); err != nil {
		return l, err
	}
	if err = tx.auditLocation(shop, "location.set_pin", key); err != nil {
		return l, err
	}
	_, l, err = tx.s.location(tx.conn, Access{Shop: shop}, id)
	return l, err
}

func hashPIN(pin string) (string, error) {
	digits := strings.Trim(pin, "0123456789") == ""
	if len(pin) < 4 || len(pin) > 8 || !digits {
		return "", Invalid(Detail{"staff_pin", "invalid_format", "must be 4 to 8 digits"})
	}
	salt := make([]byte, 16)
	rand.Read(salt)
	const time, memory, threads = 2, 19 * 1024, 1 // OWASP's minimum for argon2id
	sum := argon2.IDKey([]byte(pin), salt, time, memory, threads, 32)
	e := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, time, threads, e.EncodeToString(salt), e.EncodeToString(sum)), nil
}

// CheckPIN compares a PIN with a stored hash in constant time.
func CheckPIN(pin, stored string) bool {
	var version, memory, time, threads int
	parts := strings.Split(stored, "$")
	if len(parts) != 6 {
		return false
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &time, &threads); err != nil {
		return false
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	want, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil {
		return false
	}
	got := argon2.IDKey([]byte(pin), salt, uint32(time), uint32(memory), uint8(threads), uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1
}
