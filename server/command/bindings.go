package command

import (
	"slices"

	"punchcard/server/operation"
)

// The arguments of commands on one resource. An argument on its own is called id in the help of
// the commands whose name has been that.
var (
	programArg    = naming("program", programKind, "id", "The program: its id or name.")
	programIDArg  = naming("id", programKind, "id", programArg[0].help)
	locationArg   = naming("location", locationKind, "id", "The location: its id or name.")
	locationIDArg = naming("id", locationKind, "id", locationArg[0].help)
	prizeArg      = naming("prize", prizeKind, "prizeId", "The prize: its id or name.")
	memberArg     = naming("id", memberKind, "id", "The person: the id or name.")
	deviceArg     = naming("id", deviceKind, "id", "The device: its id or name.")
	keyArg        = naming("id", keyKind, "id", "The key: its id or name.")
	personArg     = naming("person", personKind, "id", "The person's id or email.")
	webhookArg    = naming("webhook", webhookKind, "webhookId", "The webhook: its id, URL or description.")
	cardArg       = naming("card", cardKind, "id",
		"The card: its id or code, or its holder's name, email or reference, if only one card has it.")
)

// naming returns an argument that names a resource, whose id is a parameter of the operation.
func naming(name string, kind *resource, param, help string) []argument {
	return []argument{{name: name, help: help, kind: kind, param: param}}
}

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
		args:    locationArg,
		columns: settingColumns,
	},
	{
		path:    "location update",
		help:    "Change a location, and whether its tills need a signed-in member of staff.",
		op:      operation.UpdateLocationSettings,
		args:    locationArg,
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
		args:    locationIDArg,
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
		args:    memberArg,
		columns: staffColumns,
		texts:   staffTexts,
	},
	{
		path:    "staff disable",
		help:    "Disable a member of staff, and end the sessions at tills.",
		op:      operation.DisableStaff,
		args:    memberArg,
		columns: staffColumns,
	},
	{
		path:    "staff enable",
		help:    "Enable a disabled member of staff.",
		op:      operation.EnableStaff,
		args:    memberArg,
		columns: staffColumns,
	},
	{
		path:    "staff set-pin",
		help:    "Set the PIN of a member of staff, which is read from standard input.",
		op:      operation.SetStaffMemberPIN,
		args:    memberArg,
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
		args:    deviceArg,
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
		args:    keyArg,
		extra:   flags[keyLimits],
		columns: keyColumns,
		below:   once("The key", "key"),
	},
	{
		path:    "key revoke",
		help:    "Revoke a key, from the next request on.",
		op:      operation.RevokeKey,
		args:    keyArg,
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
