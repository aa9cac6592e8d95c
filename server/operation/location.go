package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// PageQuery is the query of a list without filters.
type PageQuery struct{ store.PageQuery }

// ListLocations lists the locations of the shop.
var ListLocations = kernel.Read(kernel.Operation{
	ID:               "listLocations",
	Group:            "Locations",
	Title:            "List locations",
	Doc:              "Newest first. A restricted key sees only its own locations.",
	Callers:          reads("locations:read"),
	WithoutLocations: true,
}, func(v *store.View, c *kernel.Call, q PageQuery) (store.Page[store.Location], error) {
	return v.Locations(c.Access, q.PageQuery)
})

// UpdateLocation changes a location's fields.
var UpdateLocation = kernel.Write(kernel.Operation{
	ID:               "updateLocation",
	Group:            "Locations",
	Title:            "Update a location",
	Doc:              "An absent field is left alone; no field is nullable. `active` is not a field: use disable and enable. A location outside a restricted key's own is 403.",
	Callers:          manages("locations:write"),
	WithoutLocations: true,
	Codes:            []store.Code{store.NotFound},
}, wire.Patch, func(tx *store.Tx, c *kernel.Call, f store.LocationPatch) (store.Location, error) {
	return tx.UpdateLocation(c.Access, c.Param("id"), f)
})

// DisableLocation disables a location, so that cards cannot be used there.
var DisableLocation = kernel.Write(kernel.Operation{
	ID:               "disableLocation",
	Group:            "Locations",
	Title:            "Disable a location",
	Doc:              "The location's cards stop working there immediately. Billing is not affected. A disabled location stays as it is.",
	Callers:          manages("locations:write"),
	WithoutLocations: true,
	Codes:            []store.Code{store.NotFound},
}, wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Location, error) {
	return tx.SetLocationActive(c.Access, c.Param("id"), false)
})

// EnableLocation enables a disabled location.
var EnableLocation = kernel.Write(kernel.Operation{
	ID:               "enableLocation",
	Group:            "Locations",
	Title:            "Enable a location",
	Doc:              "The site accepts cards again immediately. An active location stays as it is.",
	Callers:          manages("locations:write"),
	WithoutLocations: true,
	Codes:            []store.Code{store.NotFound},
}, wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Location, error) {
	return tx.SetLocationActive(c.Access, c.Param("id"), true)
})

// CreateLocation adds a location to the shop.
var CreateLocation = kernel.Write(kernel.Operation{
	ID:      "createLocation",
	Group:   "Locations",
	Title:   "Create a location",
	Callers: owners,
	Codes:   []store.Code{store.Unprocessable},
}, wire.Create, func(tx *store.Tx, c *kernel.Call, f store.LocationFields) (store.Location, error) {
	return tx.CreateLocation(c.Access.Shop, f)
})

// StaffPINFields are the fields of SetStaffPIN.
type StaffPINFields struct {
	StaffPIN store.Opt[string] `json:"staff_pin" doc:"4 to 8 digits; absent takes the PIN away."`
}

// SetStaffPIN sets or removes the staff PIN of a location.
var SetStaffPIN = kernel.Write(kernel.Operation{
	ID:      "setStaffPIN",
	Group:   "Locations",
	Title:   "Set a location's staff PIN",
	Callers: managers,
	Codes:   []store.Code{store.NotFound},
}, wire.Create, func(tx *store.Tx, c *kernel.Call, f StaffPINFields) (store.Location, error) {
	return tx.SetStaffPIN(c.Access.Shop, c.Param("id"), f.StaffPIN.Or(""))
})
