package command

import (
	"slices"

	"punchcard/server/operation"
)

// The arguments of commands on one resource. An argument on its own is called id in the help of
// the commands whose name has been that.
var (
	programArg    = argument{name: "program", help: "The program: its id or name.", kind: programKind, param: "id"}
	programIDArg  = argument{name: "id", help: programArg.help, kind: programKind, param: "id"}
	locationArg   = argument{name: "location", help: "The location: its id or name.", kind: locationKind, param: "id"}
	locationIDArg = argument{name: "id", help: locationArg.help, kind: locationKind, param: "id"}
	prizeArg      = argument{name: "prize", help: "The prize: its id or name.", kind: prizeKind, param: "prizeId"}
	memberArg     = argument{name: "id", help: "The person: the id or name.", kind: memberKind, param: "id"}
	deviceArg     = argument{name: "id", help: "The device: its id or name.", kind: deviceKind, param: "id"}
	keyArg        = argument{name: "id", help: "The key: its id or name.", kind: keyKind, param: "id"}
	personArg     = argument{name: "person", help: "The person's id or email.", kind: personKind, param: "id"}
	webhookArg    = argument{name: "webhook", help: "The webhook: its id, URL or description.", kind: webhookKind, param: "webhookId"}
	cardArg       = argument{name: "card", kind: cardKind, param: "id",
		help: "The card: its id or code, or its holder's name, email or reference, if only one card has it."}
)

// bindings are the commands that are made of operations, in the order of the help.
var bindings = slices.Concat(shopBindings, programBindings, walletBindings)

// shopBindings are the commands on shops, locations, people at tills, devices and keys.
var shopBindings = []binding{
	{
		path:     "shop create",
		help:     "Create a shop, and the file if it does not exist.",
		op:       operation.CreateShop,
		required: []string{"name"},
		ofServer: true,
		columns:  shopColumns,
		below:    hintShops,
		texts:    shopTexts,
	},
	{path: "shop list", help: "List the shops of the file.", op: operation.ListShops, ofServer: true, columns: listedShops},
	{
		path:    "shop update",
		help:    "Change a shop's plan, subscription or limits.",
		op:      operation.UpdateShop,
		columns: shopColumns,
		texts:   shopTexts,
	},

	{
		path:    "location show",
		help:    "Show a location with its settings.",
		op:      operation.GetLocation,
		args:    []argument{locationArg},
		columns: settingColumns,
	},
	{
		path:    "location update",
		help:    "Change a location, and whether its tills need a signed-in member of staff.",
		op:      operation.UpdateLocationSettings,
		args:    []argument{locationArg},
		columns: settingColumns,
	},
	{
		path:     "location create",
		help:     "Create a location.",
		op:       operation.CreateLocation,
		required: []string{"name", "address", "city", "postal_code", "country_code"},
		columns:  locationColumns,
		extra:    flags[pinRefusal],
		texts:    locationTexts,
	},
	{
		path:    "location list",
		help:    "List the shop's locations, newest first.",
		op:      operation.ListLocations,
		columns: locationColumns,
	},
	{
		path:    "location set-pin",
		op:      operation.SetStaffPIN,
		args:    []argument{locationIDArg},
		pin:     "staff_pin",
		extra:   flags[noneFlag],
		columns: locationColumns,
		help:    "Set or remove the staff PIN.",
	},

	{
		path:     "staff add",
		help:     "Add a member of staff. The PIN is read from standard input.",
		op:       operation.CreateStaff,
		pin:      "pin",
		columns:  staffColumns,
		required: []string{"name"},
		texts:    staffTexts,
	},
	{path: "staff list", help: "List the staff.", op: operation.ListStaff, columns: staffColumns},
	{
		path:    "staff update",
		help:    "Change the name of a member of staff, or the locations where the person works.",
		op:      operation.UpdateStaff,
		args:    []argument{memberArg},
		columns: staffColumns,
		texts:   staffTexts,
	},
	{
		path:    "staff disable",
		help:    "Disable a member of staff, and end the sessions at tills.",
		op:      operation.DisableStaff,
		args:    []argument{memberArg},
		columns: staffColumns,
	},
	{
		path:    "staff enable",
		help:    "Enable a disabled member of staff.",
		op:      operation.EnableStaff,
		args:    []argument{memberArg},
		columns: staffColumns,
	},
	{
		path:    "staff set-pin",
		help:    "Set the PIN of a member of staff, which is read from standard input.",
		op:      operation.SetStaffMemberPIN,
		args:    []argument{memberArg},
		pin:     "pin",
		columns: staffColumns,
	},

	{
		path:     "device create",
		help:     "Create a device at a location and print its token, which is shown only once.",
		op:       operation.CreateDevice,
		columns:  deviceColumns,
		required: []string{"location_id"},
		below:    once("The token", "token"),
		texts:    deviceTexts,
	},
	{
		path: "device pair",
		help: "Print a QR code, a link and a code by which a phone or tablet becomes a device at a location. " +
			"They work once, for ten minutes.",
		op:       operation.CreatePairing,
		extra:    flags[publicURLFlag],
		required: []string{"location_id"},
		below:    printPairing,
		texts:    deviceTexts,
	},
	{path: "device list", help: "List the shop's devices, newest first.", op: operation.ListDevices, columns: deviceColumns},
	{
		path:    "device revoke",
		help:    "Revoke a device's token, from the next request on.",
		op:      operation.RevokeDevice,
		args:    []argument{deviceArg},
		columns: deviceColumns,
	},

	{
		path:     "key create",
		help:     "Create a key and print it; it is shown only once.",
		op:       operation.CreateKey,
		required: []string{"name"},
		extra:    flags[keyLimits],
		columns:  keyColumns,
		below:    once("The key", "key"),
		texts:    keyTexts,
	},
	{
		path:    "key list",
		help:    "List the shop's keys, newest first, with the calls of MCP keys today and in 30 days, by UTC.",
		op:      operation.ListKeyInfos,
		columns: keyInfoColumns,
	},
	{
		path:    "key rotate",
		help:    "Create a successor and print it, only once; the old key stays valid for the overlap.",
		op:      operation.RotateKey,
		args:    []argument{keyArg},
		extra:   flags[keyLimits],
		columns: keyColumns,
		below:   once("The key", "key"),
	},
	{
		path:    "key revoke",
		help:    "Revoke a key, from the next request on.",
		op:      operation.RevokeKey,
		args:    []argument{keyArg},
		columns: keyColumns,
	},
	{
		path:  "key revoke-all",
		help:  "Revoke all keys of the shop.",
		op:    operation.RevokeAllKeys,
		asks:  "Revoke all keys of the shop?",
		extra: flags[confirmFlag],
		below: countOf("key", "revoked"),
	},
}

// flags returns the flags of a struct, for a binding.
func flags[T any, P interface {
	*T
	extra
}]() extra {
	return P(new(T))
}
