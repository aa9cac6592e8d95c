package operation

import (
	"context"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// ListLocations lists the locations of the shop.
var ListLocations = declare(kernel.Operation{
	ID:               "listLocations",
	Group:            locations,
	Title:            "List locations",
	Doc:              "Newest first. A restricted key sees only its own locations.",
	Callers:          assisted(readers("locations")),
	WithoutLocations: true,
	Read:             query((*store.View).Locations),
})

// GetLocation returns a location. Keys list locations instead.
var GetLocation = declare(kernel.Operation{
	ID:               "getLocation",
	Group:            locations,
	Title:            "Get a location",
	Callers:          viewer,
	Codes:            notFound,
	WithoutLocations: true,
	Read:             byID((*store.View).Location),
})

// UpdateLocation changes a location's fields.
var UpdateLocation = declare(kernel.Operation{
	ID:    "updateLocation",
	Group: locations,
	Title: "Update a location",
	Doc: "An absent field is left alone; no field is nullable. `active` is not a field: use disable and enable. A location " +
		"outside a restricted key's own is 403.",
	Callers:          assisted(writers("locations")),
	Codes:            notFound,
	WithoutLocations: true,
	Mode:             wire.Patch,
	Write:            withID((*store.Tx).UpdateLocation),
})

// UpdateLocationSettings changes a location's fields and what people alone set of it.
var UpdateLocationSettings = declare(kernel.Operation{
	ID:               "updateLocationSettings",
	Group:            locations,
	Title:            "Update a location and its settings",
	Callers:          manager,
	Codes:            notFound,
	WithoutLocations: true,
	Mode:             wire.Patch,
	Write:            withID((*store.Tx).UpdateLocationSettings),
})

// The operations that disable a location, so that cards cannot be used there, and enable it again.
var (
	DisableLocation = locationSwitch("disableLocation", "Disable a location", false,
		"The location's cards stop working there immediately. Billing is not affected. A disabled location stays as it is.")
	EnableLocation = locationSwitch("enableLocation", "Enable a location", true,
		"The location accepts cards again immediately. An active location stays as it is.")
)

// locationSwitch returns the operation that disables or enables a location.
func locationSwitch(id, title string, active bool, doc string) *kernel.Operation {
	return declare(kernel.Operation{
		ID:               id,
		Group:            locations,
		Title:            title,
		Doc:              doc,
		Callers:          assisted(writers("locations")),
		Codes:            notFound,
		WithoutLocations: true,
		Write: kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (store.Location, error) {
			return tx.SetLocationActive(c.Access, c.Param("id"), active)
		}),
	})
}

// CreateLocation adds a location to the shop.
var CreateLocation = declare(kernel.Operation{
	ID:               "createLocation",
	Group:            locations,
	Title:            "Create a location",
	Callers:          owner,
	Codes:            unprocessable,
	WithoutLocations: true,
	Prepare: kernel.Prepare(
		func(_ context.Context, c *kernel.Call, f store.LocationFields) (kernel.Prepared[store.Location], error) {
			pin := store.HashStaffPIN(f.StaffPIN.Value())
			return func(tx *store.Tx) (store.Location, error) {
				if f.Name.V == "" {
					return store.Location{}, store.InvalidField("name", wire.CodeRequired, "is required")
				}
				return tx.CreateLocation(c.Access.Shop, f, pin)
			}, nil
		},
	),
})

// StaffPINFields are the fields of SetStaffPIN.
type StaffPINFields struct {
	StaffPIN store.Opt[string] `json:"staff_pin" min:"4" max:"8" pattern:"^[0-9]*$" words:"must be 4 to 8 digits from 0 to 9" doc:"4 to 8 digits, which tills require from then on (require_staff_pin becomes true); absent removes the PIN."`
}

// SetStaffPIN sets or removes the staff PIN of a location.
var SetStaffPIN = declare(kernel.Operation{
	ID:               "setStaffPIN",
	Group:            locations,
	Title:            "Set a location's staff PIN",
	Callers:          manager,
	Codes:            notFound,
	WithoutLocations: true,
	Prepare: kernel.Prepare(func(_ context.Context, c *kernel.Call, f StaffPINFields) (kernel.Prepared[store.Location], error) {
		pin := store.HashStaffPIN(f.StaffPIN.Value())
		return func(tx *store.Tx) (store.Location, error) {
			return tx.SetStaffPIN(c.Access.Shop, c.Param("id"), pin)
		}, nil
	}),
})
