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
	locations.reads("listLocations", "List locations",
		"Newest first. A restricted key sees only its own locations."),
	func(v *store.View, c *kernel.Call, q PageQuery) (store.Page[store.Location], error) {
		return v.Locations(c.Access, q.PageQuery)
	})

// UpdateLocation changes a location's fields.
var UpdateLocation = kernel.Write(
	locations.manages("updateLocation", "Update a location",
		"An absent field is left alone; no field is nullable. `active` is not a field: use disable and enable. A location outside a restricted key's own is 403.",
		store.NotFound),
	wire.Patch, withID((*store.Tx).UpdateLocation))

// DisableLocation disables a location, so that cards cannot be used there.
var DisableLocation = kernel.Write(
	locations.manages("disableLocation", "Disable a location",
		"The location's cards stop working there immediately. Billing is not affected. A disabled location stays as it is.",
		store.NotFound),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Location, error) {
		return tx.SetLocationActive(c.Access, c.Param("id"), false)
	})

// EnableLocation enables a disabled location.
var EnableLocation = kernel.Write(
	locations.manages("enableLocation", "Enable a location",
		"The site accepts cards again immediately. An active location stays as it is.",
		store.NotFound),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Location, error) {
		return tx.SetLocationActive(c.Access, c.Param("id"), true)
	})

// CreateLocation adds a location to the shop.
var CreateLocation = kernel.Write(locations.only(owner, "createLocation", "Create a location", "", store.Unprocessable),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.LocationFields) (store.Location, error) {
		return tx.CreateLocation(c.Access.Shop, f)
	})

// StaffPINFields are the fields of SetStaffPIN.
type StaffPINFields struct {
	StaffPIN store.Opt[string] `json:"staff_pin" min:"4" max:"8" pattern:"^[0-9]*$" words:"must be 4 to 8 digits from 0 to 9" doc:"4 to 8 digits, which tills ask for from then on (require_staff_pin is switched on); absent takes the PIN away."`
}

// SetStaffPIN sets or removes the staff PIN of a location.
var SetStaffPIN = kernel.Write(locations.only(manager, "setStaffPIN", "Set a location's staff PIN", "", store.NotFound),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f StaffPINFields) (store.Location, error) {
		return tx.SetStaffPIN(c.Access.Shop, c.Param("id"), f.StaffPIN.Value())
	})
