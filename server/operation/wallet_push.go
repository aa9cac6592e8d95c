package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// CountCopies returns how many cards are in wallets and browsers.
var CountCopies = declare(kernel.Operation{
	ID:      "countCopies",
	Group:   wallets,
	Title:   "Count the passes on phones and the browsers with notices",
	Doc:     "By program, newest first; at most 200.",
	Callers: manager,
	Read:    listOf((*store.View).CopiesByProgram),
})

// ListSentPushes returns what came of the last pushes.
var ListSentPushes = declare(kernel.Operation{
	ID:      "listSentPushes",
	Group:   wallets,
	Title:   "List the last pushes",
	Doc:     "The last one to each browser and phone, newest first; at most 50.",
	Callers: manager,
	Read:    listOf((*store.View).SentPushes),
})

// SendTestPush sends a push about a card that has not changed.
var SendTestPush = declare(kernel.Operation{
	ID:      "sendTestPush",
	Group:   wallets,
	Title:   "Send a test push",
	Doc:     "Browsers show a notice that says so. Phones look for changes and show nothing.",
	Callers: manager,
	Codes:   notFoundOrUnprocessable,
	Write:   change((*store.Tx).TestPush),
})
