package command

import (
	"punchcard/server/operation"
)

// The arguments of commands on one resource. An argument on its own is called id in the help of
// the commands whose name has been that.
var (
	theProgram    = argument{name: "program", help: "The program: its id or name.", kind: aProgram, param: "id"}
	theProgramID  = argument{name: "id", help: theProgram.help, kind: aProgram, param: "id"}
	theLocation   = argument{name: "location", help: "The location: its id or name.", kind: aLocation, param: "id"}
	theLocationID = argument{name: "id", help: theLocation.help, kind: aLocation, param: "id"}
	thePrize      = argument{name: "prize", help: "The prize: its id or name.", kind: aPrize, param: "prizeId"}
	theMember     = argument{name: "id", help: "The person: the id or name.", kind: aMember, param: "id"}
	theDevice     = argument{name: "id", help: "The device: its id or name.", kind: aDevice, param: "id"}
	theKey        = argument{name: "id", help: "The key: its id or name.", kind: aKey, param: "id"}
	thePerson     = argument{name: "person", help: "The person's id or email.", kind: aPerson, param: "id"}
)

// bindings are the commands that are made of operations, in the order of the help.
var bindings = []binding{
	{
		path:     "shop create",
		help:     "Create a shop, and the file if it does not exist.",
		action:   shopCreation(),
		extra:    flags[shopCreateFlags],
		own:      true,
		ofServer: true,
	},
	{path: "shop list", help: "List the shops of the file.", action: bindList(operation.ListShops, printShops), ofServer: true},
	{
		path:   "shop update",
		help:   "Change a shop's plan, subscription or limits.",
		action: bindRow(operation.UpdateShop, printShops),
		extra:  flags[shopUpdateFlags],
		own:    true,
	},

	{
		path:   "location show",
		help:   "Show a location with its settings.",
		action: bind(operation.GetLocation, printLocationSettings),
		args:   []argument{theLocation},
	},
	{
		path:   "location update",
		help:   "Change a location, and whether its tills need a signed-in member of staff.",
		action: bind(operation.UpdateLocationSettings, printLocationSettings),
		args:   []argument{theLocation},
	},
	{
		path:   "location create",
		help:   "Create a location.",
		action: bindRow(operation.CreateLocation, printLocations),
		extra:  flags[locationFlags],
		own:    true,
	},
	{
		path:   "location list",
		help:   "List the shop's locations, newest first.",
		action: bindPages(operation.ListLocations, printLocations),
	},
	{
		path:   "location set-pin",
		help:   "Set or remove the staff PIN.",
		action: bindRow(operation.SetStaffPIN, printLocations),
		args:   []argument{theLocationID},
		extra:  flags[locationPINFlags],
		own:    true,
	},

	{
		path:   "staff add",
		help:   "Add a member of staff to a location. The PIN is read from standard input.",
		action: bindRow(operation.CreateStaff, printStaff),
		extra:  flags[staffFlags],
		own:    true,
	},
	{path: "staff list", help: "List the staff by location.", action: bindList(operation.ListStaff, printStaff)},
	{
		path:   "staff disable",
		help:   "Disable a member of staff, and end the sessions at tills.",
		action: bindRow(operation.DisableStaff, printStaff),
		args:   []argument{theMember},
	},
	{
		path:   "staff enable",
		help:   "Enable a disabled member of staff.",
		action: bindRow(operation.EnableStaff, printStaff),
		args:   []argument{theMember},
	},
	{
		path:   "staff set-pin",
		help:   "Set the PIN of a member of staff, which is read from standard input.",
		action: bindRow(operation.SetStaffMemberPIN, printStaff),
		args:   []argument{theMember},
		extra:  flags[pinFlags],
		own:    true,
	},

	{
		path:   "device create",
		help:   "Create a device at a location and print its token, which is shown only once.",
		action: bind(operation.CreateDevice, printCreatedDevice),
		extra:  flags[deviceFlags],
		own:    true,
	},
	{
		path: "device pair",
		help: "Print a QR code, a link and a code by which a phone or tablet becomes a device at a location. " +
			"They work once, for ten minutes.",
		action: bind(operation.CreatePairing, printPairing),
		extra:  flags[pairFlags],
		own:    true,
	},
	{path: "device list", help: "List the shop's devices, newest first.", action: bindList(operation.ListDevices, printDevices)},
	{
		path:   "device revoke",
		help:   "Revoke a device's token, from the next request on.",
		action: bindRow(operation.RevokeDevice, printDevices),
		args:   []argument{theDevice},
	},

	{
		path:   "key create",
		help:   "Create a key and print it; it is shown only once.",
		action: bind(operation.CreateKey, printCreatedKey),
		extra:  flags[keyFlags],
		own:    true,
	},
	{
		path:   "key list",
		help:   "List the shop's keys, newest first, with the calls of MCP keys today and in 30 days, by UTC.",
		action: bindList(operation.ListKeyInfos, printKeys),
	},
	{
		path:   "key rotate",
		help:   "Create a successor and print it, only once; the old key stays valid for the overlap.",
		action: bind(operation.RotateKey, printCreatedKey),
		args:   []argument{theKey},
		extra:  flags[keyLimits],
		own:    true,
	},
	{
		path:   "key revoke",
		help:   "Revoke a key, from the next request on.",
		action: bind(operation.RevokeKey, printKey),
		args:   []argument{theKey},
	},
	{
		path:   "key revoke-all",
		help:   "Revoke all keys of the shop.",
		action: bind(operation.RevokeAllKeys, printRevokedKeys),
		extra:  flags[confirmFlag],
		asks:   "Revoke all keys of the shop?",
	},

	{
		path:   "program create",
		help:   "Create a program with its prizes, unpublished.",
		action: bind(operation.CreateProgramWithPrizes, printProgram),
		extra:  flags[templateFlags],
	},
	{
		path:   "program list",
		help:   "List the programs, newest first.",
		action: bindPages(operation.ListPrograms, printPrograms),
		extra:  flags[limitFlag],
	},
	{
		path:   "program show",
		help:   "Show a program with its prizes.",
		action: bind(operation.GetProgram, printProgram),
		args:   []argument{theProgram},
	},
	{
		path:   "program publish",
		help:   "Publish a program, so that cards can be issued.",
		action: bind(operation.PublishProgram, printProgramState),
		args:   []argument{theProgram},
	},
	{
		path:   "program unpublish",
		help:   "Unpublish a program: its cards keep working, and no more are issued.",
		action: bind(operation.UnpublishProgram, printProgramState),
		args:   []argument{theProgram},
	},
	{
		path:   "program suspend",
		help:   "Suspend a program: its cards stop earning and redeeming.",
		action: bind(operation.SuspendProgram, printProgramState),
		args:   []argument{theProgram},
	},
	{
		path:   "program unsuspend",
		help:   "End the suspension of a program.",
		action: bind(operation.UnsuspendProgram, printProgramState),
		args:   []argument{theProgram},
	},
	{
		path:   "program delete",
		help:   "Delete a program: its cards are archived, its webhooks are deleted, its ledger stays.",
		action: remover(operation.DeleteProgram, "id"),
		args:   []argument{theProgram},
		extra:  flags[confirmFlag],
		asks:   "Delete the program %s with all its cards?",
	},
	{
		path:   "program update",
		help:   "Change the settings that keys cannot set.",
		action: bind(operation.UpdateProgramSettings, printProgramName),
		other:  &alternative{bind(operation.UpdateEnrolment, printEnrolment), enrolls},
		args:   []argument{theProgramID},
		extra:  flags[programFlags],
		own:    true,
	},

	{
		path:   "prize add",
		help:   "Add a prize to a stamp program.",
		action: bindRow(operation.CreatePrize, printPrizes),
		args:   []argument{theProgram},
	},
	{
		path:   "prize list",
		help:   "List the prizes of a program in their order.",
		action: bind(operation.ListPrizes, printLadder),
		args:   []argument{theProgram},
	},
	{
		path:   "prize update",
		help:   "Change a prize.",
		action: bindRow(operation.UpdatePrize, printPrizes),
		args:   []argument{theProgram, thePrize},
	},
	{
		path:   "prize delete",
		help:   "Delete a prize that was never redeemed.",
		action: remover(operation.DeletePrize, "prizeId"),
		args:   []argument{theProgram, thePrize},
	},

	{
		path:   "card issue",
		help:   "Issue a card of a published program and print its install link, which is shown only once.",
		action: bind(operation.IssueCard, printIssued),
		args:   []argument{theProgram},
		extra:  flags[linkFlag],
	},
	{
		path:   "card find",
		help:   "Search for cards.",
		action: bindPages(operation.SearchCards, printFoundCards),
		args: []argument{{name: "text", optional: true, field: "q",
			help: "The beginning of a holder's name or email, a reference, a code or an id. Default: all cards."}},
		extra: flags[limitFlag],
	},
	{
		path:   "card show",
		help:   "Show a card with its prizes and latest transactions.",
		action: bind(operation.GetCardOverview, printCardOverview),
		args:   []argument{theCard},
	},
	{
		path:   "card update",
		help:   "Change a card's holder, reference or expiry.",
		action: bind(operation.UpdateCard, printCard),
		args:   []argument{theCard},
	},
	{
		path:   "card link",
		help:   "Print a new install link of a card that is not installed; the earlier link ends.",
		action: bind(operation.CreateInstallLink, printIssued),
		args:   []argument{theCard},
		extra:  flags[linkFlag],
	},
	{
		path:   "card lock",
		help:   "Stop a card from earning and redeeming.",
		action: bind(operation.LockCard, printCardStatus),
		args:   []argument{theCard},
	},
	{
		path:   "card unlock",
		help:   "Let a locked card work again.",
		action: bind(operation.UnlockCard, printCardStatus),
		args:   []argument{theCard},
	},
	{
		path:   "card archive",
		help:   "Archive a card; its history stays.",
		action: bind(operation.ArchiveCard, printCardStatus),
		args:   []argument{theCard},
	},
	{
		path:   "card reissue",
		help:   "Give a card a new install link and QR code; the old ones stop working.",
		action: bind(operation.ReissueCard, printIssued),
		args:   []argument{theCard},
		extra:  flags[linkFlag],
	},
	{
		path:   "card delete",
		help:   "Erase the personal data of a card's holder; ledger rows stay.",
		action: remover(operation.EraseCard, "id"),
		args:   []argument{theCard},
		extra:  flags[confirmFlag],
		asks:   "Erase the holder of %s?",
	},

	{
		path:   "webhook create",
		help:   "Create a webhook and print its signing secret, which is shown only once.",
		action: bind(operation.CreateWebhook, printCreatedWebhook),
		args: []argument{{name: "program", kind: aProgram, param: "id",
			help: "The program in whose path the webhook is addressed, by its id or name; it filters nothing."}},
		extra: flags[targetFlags],
	},
	{
		path:   "webhook list",
		help:   "List the webhooks of the shop, newest first.",
		action: bindList(operation.ListShopWebhooks, printWebhooks),
	},
	{
		path:   "webhook test",
		help:   "Send test.ping to a webhook once.",
		action: delivered(operation.TestWebhook),
		args:   []argument{theWebhook},
		extra:  flags[waitFlag],
	},
	{
		path:   "webhook log",
		help:   "List what was sent to a webhook, newest first.",
		action: bindPages(operation.ListWebhookLog, printDeliveries),
		args:   []argument{{name: "webhook", help: theWebhook.help, kind: aWebhook, param: "id"}},
		extra:  flags[limitFlag],
	},
	{
		path:   "webhook redeliver",
		help:   "Send an entry of the log again.",
		action: delivered(operation.Redeliver),
		args:   []argument{theWebhook, {name: "delivery", help: "The id of the entry.", kind: aDelivery, param: "deliveryId"}},
		extra:  flags[waitFlag],
	},

	{
		path:   "transaction list",
		help:   "List the ledger, newest first.",
		action: bindPages(operation.ListTransactions, printTransactions),
		extra:  flags[limitFlag],
	},
	{
		path:   "stats",
		action: bind(operation.GetAnalyticsSummary, printSummary),
		other:  &alternative{bind(operation.GetProgramStats, printProgramStats), ofProgram},
		args: []argument{{name: "program", kind: aProgram, param: "id", optional: true,
			help: "The program: its id or name. Default: the shop."}},
	},

	{
		path:   "user invite",
		help:   "Invite a person to a shop, or an operator, and print the one-time link.",
		action: bind(operation.InvitePerson, printLink),
		extra:  flags[inviteFlags],
		own:    true,
	},
	{
		path:     "user list",
		help:     "List the accounts and the open invitations, oldest first.",
		action:   bind(operation.ListUsers, printAccounts),
		ofServer: true,
	},
	{
		path:     "user reset",
		help:     "Print a one-time link by which a person sets a new password.",
		action:   bind(operation.CreateResetLink, printLink),
		args:     []argument{thePerson},
		extra:    flags[resetFlags],
		own:      true,
		ofServer: true,
	},
	{
		path:     "user disable",
		help:     "Disable an account, and end its sessions from the very next request on.",
		action:   bindRow(operation.DisableUser, printUsers),
		args:     []argument{thePerson},
		ofServer: true,
	},
	{
		path:     "user enable",
		help:     "Enable a disabled account.",
		action:   bindRow(operation.EnableUser, printUsers),
		args:     []argument{thePerson},
		ofServer: true,
	},
	{
		path:     "user sign-out",
		help:     "End a person's sessions from the very next request on.",
		action:   bind(operation.SignOutUser, printEndedSessions),
		args:     []argument{thePerson},
		ofServer: true,
	},
	{path: "audit", action: bindPages(operation.ListAudit, printAudit), extra: flags[limitFlag]},
}

// flags returns the flags of a struct, for a binding.
func flags[T any]() any { return new(T) }

// ofProgram reports whether the argument of stats is given.
func ofProgram(b *Bound) bool { return b.flags.argument("program") != "" }
