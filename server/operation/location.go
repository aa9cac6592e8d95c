package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// PageQuery is the query of a list without filters.
type PageQuery struct{ store.PageQuery }

// ListLocations lists the locations of the shop.
var ListLocations = kernel.Read(
	assisted(locations.reads("listLocations", "List locations",
		"Newest first. A restricted key sees only its own locations.")),
	func(v *store.View, c *kernel.Call, q PageQuery) (store.Page[store.Location], error) {
		return v.Locations(c.Access, q.PageQuery)
	})

// GetLocation returns a location. Keys list locations instead.
var GetLocation = kernel.Read(
	locations.only(viewer, "getLocation", "Get a location", "", store.NotFound),
	byID((*store.View).Location))

// UpdateLocation changes a location's fields.
var UpdateLocation = kernel.Write(
	assisted(locations.manages("updateLocation", "Update a location",
		"An absent field is left alone; no field is nullable. `active` is not a field: use disable and enable. A location outside a restricted key's own is 403.",
		store.NotFound)),
	wire.Patch, withID((*store.Tx).UpdateLocation))

// DisableLocation disables a location, so that cards cannot be used there.
var DisableLocation = kernel.Write(
	assisted(locations.manages("disableLocation", "Disable a location",
		"The location's cards stop working there immediately. Billing is not affected. A disabled location stays as it is.",
		store.NotFound)),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Location, error) {
		return tx.SetLocationActive(c.Access, c.Param("id"), false)
	})

// EnableLocation enables a disabled location.
var EnableLocation = kernel.Write(
	assisted(locations.manages("enableLocation", "Enable a location",
		"The location accepts cards again immediately. An active location stays as it is.",
		store.NotFound)),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Location, error) {
		return tx.SetLocationActive(c.Access, c.Param("id"), true)
	})

// CreateLocation adds a location to the shop.
var CreateLocation = kernel.WritePrepared(locations.only(owner, "createLocation", "Create a location", "", store.Unprocessable),
	wire.Create,
	func(f store.LocationFields) hashed[store.LocationFields] { return hashPIN(f, f.StaffPIN) },
	func(tx *store.Tx, c *kernel.Call, f hashed[store.LocationFields]) (store.Location, error) {
		if f.fields.Name.Or("") == "" {
			return store.Location{}, store.Invalid(store.Detail{Field: "name", Code: wire.CodeRequired, Message: "is required"})
		}
		return tx.CreateLocation(c.Access.Shop, f.fields, f.pin)
	})

// StaffPINFields are the fields of SetStaffPIN.
type StaffPINFields struct {
	StaffPIN store.Opt[string] `json:"staff_pin" min:"4" max:"8" pattern:"^[0-9]*$" words:"must be 4 to 8 digits from 0 to 9" doc:"4 to 8 digits, which tills require from then on (require_staff_pin becomes true); absent removes the PIN."`
}

// SetStaffPIN sets or removes the staff PIN of a location.
var SetStaffPIN = kernel.WritePrepared(locations.only(manager, "setStaffPIN", "Set a location's staff PIN", "", store.NotFound),
	wire.Create,
	func(f StaffPINFields) hashed[StaffPINFields] { return hashPIN(f, f.StaffPIN) },
	func(tx *store.Tx, c *kernel.Call, f hashed[StaffPINFields]) (store.Location, error) {
		return tx.SetStaffPIN(c.Access.Shop, c.Param("id"), f.pin)
	})

// hashed are the fields of an operation with the hash of the staff PIN among them.
type hashed[F any] struct {
	fields F
	pin    store.StaffPIN
}

// hashPIN returns the fields with the hash of their staff PIN.
func hashPIN[F any](f F, pin store.Opt[string]) hashed[F] {
	return hashed[F]{f, store.HashStaffPIN(pin.Value())}
}
