package store

import (
	"fmt"
	"slices"

	"punchcard/store/event"
	"punchcard/store/password"
)

// Location is one of a shop's premises, where its tills are.
type Location struct {
	ID              string     `json:"id" min:"1" doc:"Opaque."`
	Name            string     `json:"name"`
	Address         string     `json:"address"`
	City            string     `json:"city"`
	PostalCode      string     `json:"postal_code"`
	CountryCode     string     `json:"country_code" pattern:"^([A-Z]{2})?$" doc:"Two letters, ISO 3166-1; empty if neither the location nor the shop was given a country."`
	Lat             float64    `json:"lat"`
	Lon             float64    `json:"lon"`
	RequireStaffPIN bool       `json:"require_staff_pin" doc:"Whether tills at this location ask for the staff PIN before each write."`
	Active          bool       `json:"active" doc:"False once the merchant disabled the location; change it with disable and enable."`
	DisabledAt      Null[Time] `json:"disabled_at"`
	CreatedAt       Time       `json:"created_at"`
	UpdatedAt       Time       `json:"updated_at"`
}

// LocationPatch is the body of PATCH /locations/{id}.
type LocationPatch struct {
	Name            Opt[string]  `json:"name" min:"1" max:"200" format:"line"`
	Address         Opt[string]  `json:"address" min:"1" max:"200" format:"line"`
	City            Opt[string]  `json:"city" min:"1" max:"200" format:"line"`
	PostalCode      Opt[string]  `json:"postal_code" min:"1" max:"20" format:"line"`
	CountryCode     Opt[string]  `json:"country_code" format:"country" doc:"Two letters A-Z, ISO 3166-1."`
	Lat             Opt[float64] `json:"lat" min:"-90" max:"90"`
	Lon             Opt[float64] `json:"lon" min:"-180" max:"180"`
	RequireStaffPIN Opt[bool]    `json:"require_staff_pin"`
}

// LocationSettings is a location with what people alone set: no key and no answer of the REST
// API has it.
type LocationSettings struct {
	Location
	RequireStaff bool `json:"require_staff" doc:"Whether tills at this location need a signed-in member of staff for each write. The staff PIN of the location does not replace the sign-in."`
}

// LocationSettingsPatch are the fields of UpdateLocationSettings.
type LocationSettingsPatch struct {
	LocationPatch
	StaffDemand
}

// StaffDemand is what people alone set of a location.
type StaffDemand struct {
	RequireStaff Opt[bool] `json:"require_staff" doc:"Whether tills of the location need a signed-in member of staff for each write. The staff PIN does not replace the sign-in."`
}

var locationCols = `l.name, address, city, postal_code, country_code, lat, lon, require_staff_pin, disabled_at, created_at,
	updated_at`

func (g IDs) scanLocation(r *rows, key int64) Location {
	l := Location{ID: g.ID(KindLocation, key)}
	r.scan(&l.Name, &l.Address, &l.City, &l.PostalCode, &l.CountryCode, &l.Lat, &l.Lon, &l.RequireStaffPIN, &l.DisabledAt, &l.CreatedAt,
		&l.UpdatedAt)
	l.Active = !l.DisabledAt.Valid
	return l
}

// location returns a location by its id. One of another shop is not_found, one
// outside the key's restriction unauthorized.
func (q *queries) location(a Access, id string) (key int64, l LocationSettings, err error) {
	key = q.keyOrNone(KindLocation, id)
	err = q.find("location", func(r *rows) { l = LocationSettings{q.scanLocation(r, key), r.bool()} },
		"SELECT "+locationCols+", require_staff FROM locations l WHERE id=? AND shop_id=?", key, a.Shop)
	if err == nil && !a.allows(key) {
		err = refuse(Unauthorized, "This key is restricted to other locations.")
	}
	return key, l, err
}

// Location returns a location with its settings.
func (v *View) Location(a Access, id string) (l LocationSettings, err error) {
	_, l, err = v.location(a, id)
	return l, err
}

// Locations returns a page of the shop's locations, newest first. A restricted
// key gets only its own.
func (v *View) Locations(a Access, q PageQuery) (Page[Location], error) {
	w := listQuery{list: listLocations, shop: a.Shop, table: "locations l", alias: "l"}
	w.useIndex("l.shop_id=?", a.Shop)
	if a.Restricted {
		w.filter("l.id IN (SELECT value FROM json_each(?))", jsonKeys(a.Locations))
	}
	return page(v, w, q, epochColumn+", l.id, "+locationCols, v.scanLocation)
}

// jsonKeys returns keys as a JSON array for json_each.
func jsonKeys(keys []int64) string {
	return jsonText(append([]int64{}, keys...))
}

// countOwn are queries that count the row of a key and a shop.
var countOwn = map[Kind]string{
	KindLocation: "SELECT count(*) FROM locations WHERE id=? AND shop_id=?",
	KindProgram:  "SELECT count(*) FROM programs WHERE id=? AND shop_id=? AND deleted_at IS NULL",
}

// ownKeys returns the keys of resources of the shop, each once, and an invalid_value detail
// for every id that is not one of them. The keys in have are accepted without a look.
func (q *queries) ownKeys(kind Kind, shop int64, field string, ids []string, have ...int64) (keys []int64, details []Detail) {
	for i, id := range ids {
		key := q.keyOrNone(kind, id)
		switch {
		case !slices.Contains(have, key) && q.number(countOwn[kind], key, shop) == 0:
			details = append(details,
				Detail{fmt.Sprintf("%s.%d", field, i), "invalid_value", "must be the id of a " + nouns[kind] + " of this shop"})
		case !slices.Contains(keys, key):
			keys = append(keys, key)
		}
	}
	return keys, details
}

// LocationFields are the fields of a new location. Absent ones are empty.
type LocationFields struct {
	LocationPatch
	StaffDemand
	StaffPIN Opt[string] `json:"staff_pin" min:"4" max:"8" pattern:"^[0-9]*$" words:"must be 4 to 8 digits from 0 to 9" doc:"4 to 8 digits that tills ask for. Giving one switches require_staff_pin on, unless that is false in the same request."`
}

// CreateLocation creates a location with a staff PIN, which is that of the fields. Without a
// country it is in that of the shop. More locations than the shop's max_locations are unprocessable.
func (tx *Tx) CreateLocation(shop int64, f LocationFields, pin StaffPIN) (Location, error) {
	l := LocationSettings{}
	sh := tx.shop(shop)
	have := tx.number("SELECT count(*) FROM locations WHERE shop_id=?", shop)
	if sh.MaxLocations.Valid && have >= sh.MaxLocations.V {
		return l.Location, refuse(Unprocessable, "The shop has %d locations, which is its maximum.", have)
	}
	l.RequireStaffPIN, l.CountryCode = pin.hash.Valid, sh.CountryCode.V
	merge(&l, f.LocationPatch)
	key := tx.insert(`INSERT INTO locations (id, shop_id, staff_pin, require_staff, created_at, name, address, city, postal_code,
		country_code, lat, lon, require_staff_pin, updated_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		append([]any{tx.nextKey("locations"), shop, pin.hash, f.RequireStaff.Or(false), tx.Now}, l.values(tx.Now)...)...)
	l, err := tx.recordLocationChange(Access{Shop: shop}, key, "location.create", event.LocationCreated)
	return l.Location, err
}

// recordLocationChange audits a change of a location, ends the caching of it, emits
// its event, if it has one, and returns the location.
func (tx *Tx) recordLocationChange(a Access, key int64, action string, name event.Name) (l LocationSettings, err error) {
	tx.bumpAuth()
	tx.shopChanged(a.Shop)
	tx.audit(a.Shop, action, KindLocation, key)
	if name != "" {
		tx.emit(pendingEvent{name: name, shop: a.Shop, location: key})
	}
	_, l, err = tx.location(a, tx.ID(KindLocation, key))
	return l, err
}

// UpdateLocation does what UpdateLocationSettings does for a caller who does not see the settings.
func (tx *Tx) UpdateLocation(a Access, id string, f LocationPatch) (Location, error) {
	l, err := tx.UpdateLocationSettings(a, id, LocationSettingsPatch{LocationPatch: f})
	return l.Location, err
}

// UpdateLocationSettings changes the fields that f names. A location that has the values
// already stays as it is. A change of require_staff alone fires no event, since no payload
// has it.
func (tx *Tx) UpdateLocationSettings(a Access, id string, f LocationSettingsPatch) (l LocationSettings, err error) {
	key, l, err := tx.location(a, id)
	if err != nil {
		return l, err
	}
	old := l
	merge(&l, f.LocationPatch)
	merge(&l, f.StaffDemand)
	if l == old {
		return l, nil
	}
	name := event.LocationUpdated
	if l.Location == old.Location {
		name = ""
	}
	tx.exec(`UPDATE locations SET name=?, address=?, city=?, postal_code=?, country_code=?, lat=?, lon=?, require_staff_pin=?,
		updated_at=?, require_staff=? WHERE id=?`, append(l.values(tx.Now), l.RequireStaff, key)...)
	return tx.recordLocationChange(a, key, "location.update", name)
}

// values returns the values of the columns that creating and updating a location write, as of
// a time.
func (l Location) values(now Time) []any {
	return []any{l.Name, l.Address, l.City, l.PostalCode, l.CountryCode, l.Lat, l.Lon, l.RequireStaffPIN, now}
}

// SetLocationActive disables or enables a location. It does nothing if the
// location is in that state already.
func (tx *Tx) SetLocationActive(a Access, id string, active bool) (Location, error) {
	key, l, err := tx.location(a, id)
	if err != nil || l.Active == active {
		return l.Location, err
	}
	action, name := "location.disable", event.LocationDisabled
	if active {
		action, name = "location.enable", event.LocationEnabled
	}
	tx.exec("UPDATE locations SET disabled_at=?, updated_at=? WHERE id=?", Null[Time]{tx.Now, !active}, tx.Now, key)
	l, err = tx.recordLocationChange(a, key, action, name)
	return l.Location, err
}

// SetStaffPIN sets the PIN that tills of the location ask for from then on, since it
// sets require_staff_pin too. The zero value removes the PIN and leaves
// require_staff_pin as it is.
func (tx *Tx) SetStaffPIN(shop int64, id string, pin StaffPIN) (Location, error) {
	a := Access{Shop: shop}
	key, l, err := tx.location(a, id)
	if err != nil {
		return l.Location, err
	}
	tx.exec("UPDATE locations SET staff_pin=?, require_staff_pin=?, updated_at=? WHERE id=?", pin.hash,
		l.RequireStaffPIN || pin.hash.Valid, tx.Now, key)
	l, err = tx.recordLocationChange(a, key, "location.set_pin", "")
	return l.Location, err
}

// StaffPIN is a staff PIN as it is stored. The zero value is none.
type StaffPIN struct {
	hash Null[string] // argon2id in PHC form
}

// HashStaffPIN hashes a valid PIN; null gives none. It takes tens of milliseconds, so
// no write should do it.
func HashStaffPIN(pin Null[string]) StaffPIN {
	if !pin.Valid {
		return StaffPIN{}
	}
	return StaffPIN{Some(password.Hash(pin.V))}
}

// CheckPIN reports whether a PIN is the one of a stored hash.
func CheckPIN(pin, stored string) bool {
	ok, err := password.Check(pin, stored)
	return ok && err == nil
}
