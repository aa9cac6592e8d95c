package command

import (
	"punchcard/server/operation"
)

// theProgram and thePrize are the arguments of commands on one program and one prize.
var (
	theProgram = argument{name: "program", help: "The program: its id or name.", kind: aProgram, param: "id"}
	thePrize   = argument{name: "prize", help: "The prize: its id or name.", kind: aPrize, param: "prizeId"}
)

// bindings are the commands that are made of operations, in the order of the help.
var bindings = []binding{
	{path: "program create", help: "Create a program with its prizes, unpublished.", action: bind(operation.CreateProgramWithPrizes, printProgram),
		extra: func() any { return &templateFlags{} }},
	{path: "program list", help: "List the programs, newest first.", action: bindPages(operation.ListPrograms, printPrograms), extra: limited},
	{path: "program show", help: "Show a program with its prizes.", action: bind(operation.GetProgram, printProgram), args: []argument{theProgram}},
	{path: "program publish", help: "Publish a program, so that cards can be issued.", action: bind(operation.PublishProgram, printProgramState), args: []argument{theProgram}},
	{path: "program unpublish", help: "Unpublish a program: its cards keep working, and no more are issued.", action: bind(operation.UnpublishProgram, printProgramState), args: []argument{theProgram}},
	{path: "program suspend", help: "Suspend a program: its cards stop earning and redeeming.", action: bind(operation.SuspendProgram, printProgramState), args: []argument{theProgram}},
	{path: "program unsuspend", help: "End the suspension of a program.", action: bind(operation.UnsuspendProgram, printProgramState), args: []argument{theProgram}},

	{path: "program delete", help: "Delete a program: its cards are archived, its webhooks are deleted, its ledger stays.", action: remover(operation.DeleteProgram, "id"), args: []argument{theProgram},
		asks: "Delete the program %s with all its cards?", extra: confirmed},

	{path: "prize add", help: "Add a prize to a stamp program.", action: bind(operation.CreatePrize, printPrize), args: []argument{theProgram}},
	{path: "prize list", help: "List the prizes of a program in their order.", action: bind(operation.ListPrizes, printLadder), args: []argument{theProgram}},
	{path: "prize update", help: "Change a prize.", action: bind(operation.UpdatePrize, printPrize), args: []argument{theProgram, thePrize}},
	{path: "prize delete", help: "Delete a prize that was never redeemed.", action: remover(operation.DeletePrize, "prizeId"), args: []argument{theProgram, thePrize}},

	{path: "card issue", help: "Issue a card of a published program and print its install link, which is shown only once.", action: issued(operation.IssueCard), args: []argument{theProgram},
		extra: func() any { return &linkFlag{} }},
	{path: "card find", help: "Search for cards.", action: bindPages(operation.SearchCards, printFoundCards), args: []argument{{name: "text", optional: true, field: "q",
		help: "The beginning of a holder's name or email, a reference, a code or an id. Default: all cards."}}, extra: limited},
	{path: "card show", help: "Show a card with its prizes and latest transactions.", action: bind(operation.GetCardOverview, printCardOverview), args: []argument{theCard}},
	{path: "card update", help: "Change a card's holder, reference or expiry.", action: bind(operation.UpdateCard, printCard), args: []argument{theCard}},
	{path: "card link", help: "Print a new install link of a card that is not installed; the earlier link ends.", action: issued(operation.CreateInstallLink), args: []argument{theCard},
		extra: func() any { return &linkFlag{} }},
	{path: "card lock", help: "Stop a card from earning and redeeming.", action: bind(operation.LockCard, printCardStatus), args: []argument{theCard}},
	{path: "card unlock", help: "Let a locked card work again.", action: bind(operation.UnlockCard, printCardStatus), args: []argument{theCard}},
	{path: "card archive", help: "Archive a card; its history stays.", action: bind(operation.ArchiveCard, printCardStatus), args: []argument{theCard}},
	{path: "card reissue", help: "Give a card a new install link and QR code; the old ones stop working.", action: issued(operation.ReissueCard), args: []argument{theCard},
		extra: func() any { return &linkFlag{} }},
	{path: "card delete", help: "Erase the personal data of a card's holder; ledger rows stay.", action: remover(operation.EraseCard, "id"), args: []argument{theCard},
		asks: "Erase the holder of %s?", extra: confirmed},

	{path: "webhook create", help: "Create a webhook and print its signing secret, which is shown only once.", action: bind(operation.CreateWebhook, printCreatedWebhook), args: []argument{{name: "program", kind: aProgram, param: "id",
		help: "The program in whose path the webhook is addressed, by its id or name; it filters nothing."}}, extra: func() any { return &targetFlags{} }},
	{path: "webhook list", help: "List the webhooks of the shop, newest first.", action: bind(operation.ListShopWebhooks, printWebhooks)},
	{path: "webhook test", help: "Send test.ping to a webhook once.", action: delivered(operation.TestWebhook), args: []argument{theWebhook}, extra: func() any { return &waitFlag{} }},
	{path: "webhook log", help: "List what was sent to a webhook, newest first.", action: bindPages(operation.ListWebhookLog, printDeliveries), extra: limited,
		args: []argument{{name: "webhook", help: theWebhook.help, kind: aWebhook, param: "id"}}},
	{path: "webhook redeliver", help: "Send an entry of the log again.", action: delivered(operation.Redeliver), extra: func() any { return &waitFlag{} },
		args: []argument{theWebhook, {name: "delivery", help: "The id of the entry.", kind: aDelivery, param: "deliveryId"}}},

	{path: "transaction list", help: "List the ledger, newest first.", action: bindPages(operation.ListTransactions, printTransactions), extra: limited},
}

// limited returns the flags of commands that list pages.
func limited() any { return &limitFlag{} }

// confirmed returns the flags of commands that cannot be undone.
func confirmed() any { return &confirmFlag{} }

// aDelivery is named by its id alone.
var aDelivery = &resource{"delivery", "deliveries", "dlv_", func(finder, string, map[string]string) ([]candidate, error) { return nil, nil }}
