package operation

import (
	"context"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// PageQuery is the query of a list without filters.
type PageQuery struct{ store.PageQuery }

// ListLocations lists the locations of the shop.
var ListLocations = kernel.NewOperation(kernel.Of[PageQuery, store.Page[store.Location]]{
	ID:               "listLocations",
	Group:            locations,
	Title:            "List locations",
	Doc:              "Newest first. A restricted key sees only its own locations.",
	Callers:          assisted(readers("locations")),
	WithoutLocations: true,
	Read: func(v *store.View, c *kernel.Call, q PageQuery) (store.Page[store.Location], error) {
		return v.Locations(c.Access, q.PageQuery)
	},
	LookUp: kernel.LookUp(func(v *store.View, c *kernel.Call, q PageQuery, _ func(string) bool) error {
		_, err := v.Locations(c.Access, oneAfter(q.Cursor))
		return err
	}),
})

// GetLocation returns a location. Keys list locations instead.
var GetLocation = kernel.NewOperation(kernel.Of[struct{}, store.LocationSettings]{
	ID:               "getLocation",
	Group:            locations,
	Title:            "Get a location",
	Callers:          viewer,
	Codes:            []store.Code{store.NotFound},
	WithoutLocations: true,
	Read:             byID((*store.View).Location),
})

// UpdateLocation changes a location's fields.
var UpdateLocation = kernel.NewOperation(kernel.Of[store.LocationPatch, store.Location]{
	ID:    "updateLocation",
	Group: locations,
	Title: "Update a location",
	Doc: "An absent field is left alone; no field is nullable. `active` is not a field: use disable and enable. A location " +
		"outside a restricted key's own is 403.",
	Callers:          assisted(writers("locations")),
	Codes:            []store.Code{store.NotFound},
	WithoutLocations: true,
	Mode:             wire.Patch,
	Write:            withID((*store.Tx).UpdateLocation),
})

// UpdateLocationSettings changes a location's fields and what people alone set of it.
var UpdateLocationSettings = kernel.NewOperation(kernel.Of[store.LocationSettingsPatch, store.LocationSettings]{
	ID:               "updateLocationSettings",
	Group:            locations,
	Title:            "Update a location and its settings",
	Callers:          manager,
	Codes:            []store.Code{store.NotFound},
	WithoutLocations: true,
	Mode:             wire.Patch,
	Write:            withID((*store.Tx).UpdateLocationSettings),
})

// DisableLocation disables a location, so that cards cannot be used there.
var DisableLocation = kernel.NewOperation(kernel.Of[struct{}, store.Location]{
	ID:               "disableLocation",
	Group:            locations,
	Title:            "Disable a location",
	Doc:              "The location's cards stop working there immediately. Billing is not affected. A disabled location stays as it is.",
	Callers:          assisted(writers("locations")),
	Codes:            []store.Code{store.NotFound},
	WithoutLocations: true,
	Write: func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Location, error) {
		return tx.SetLocationActive(c.Access, c.Param("id"), false)
	},
})

// EnableLocation enables a disabled location.
var EnableLocation = kernel.NewOperation(kernel.Of[struct{}, store.Location]{
	ID:               "enableLocation",
	Group:            locations,
	Title:            "Enable a location",
	Doc:              "The location accepts cards again immediately. An active location stays as it is.",
	Callers:          assisted(writers("locations")),
	Codes:            []store.Code{store.NotFound},
	WithoutLocations: true,
	Write: func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Location, error) {
		return tx.SetLocationActive(c.Access, c.Param("id"), true)
	},
})

// CreateLocation adds a location to the shop.
var CreateLocation = kernel.NewOperation(kernel.Of[store.LocationFields, store.Location]{
	ID:               "createLocation",
	Group:            locations,
	Title:            "Create a location",
	Callers:          owner,
	Codes:            []store.Code{store.Unprocessable},
	WithoutLocations: true,
	Prepare: kernel.Prepare(func(_ context.Context, c *kernel.Call, f store.LocationFields) (func(*store.Tx) (store.Location, error), error) {
		pin := store.HashStaffPIN(f.StaffPIN.Value())
		return func(tx *store.Tx) (store.Location, error) {
			if f.Name.Or("") == "" {
				return store.Location{}, store.Invalid(store.Detail{Field: "name", Code: wire.CodeRequired, Message: "is required"})
			}
			return tx.CreateLocation(c.Access.Shop, f, pin)
		}, nil
	}),
})

// StaffPINFields are the fields of SetStaffPIN.
type StaffPINFields struct {
	StaffPIN store.Opt[string] `json:"staff_pin" min:"4" max:"8" pattern:"^[0-9]*$" words:"must be 4 to 8 digits from 0 to 9" doc:"4 to 8 digits, which tills require from then on (require_staff_pin becomes true); absent removes the PIN."`
}

// SetStaffPIN sets or removes the staff PIN of a location.
var SetStaffPIN = kernel.NewOperation(kernel.Of[StaffPINFields, store.Location]{
	ID:               "setStaffPIN",
	Group:            locations,
	Title:            "Set a location's staff PIN",
	Callers:          manager,
	Codes:            []store.Code{store.NotFound},
	WithoutLocations: true,
	Prepare: kernel.Prepare(func(_ context.Context, c *kernel.Call, f StaffPINFields) (func(*store.Tx) (store.Location, error), error) {
		pin := store.HashStaffPIN(f.StaffPIN.Value())
		return func(tx *store.Tx) (store.Location, error) {
			return tx.SetStaffPIN(c.Access.Shop, c.Param("id"), pin)
		}, nil
	}),
})
