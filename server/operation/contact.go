package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// GetContact returns what a shop knows about the holder of a card beside the card.
var GetContact = declare(kernel.Operation{
	ID:      "getContact",
	Group:   cards,
	Title:   "Read a card's contact",
	Doc:     "Phone number, birthday and codes of earlier plastic cards. All cards that overflowed from one another share it.",
	Callers: readers("cards"),
	Codes:   notFound,
	Read:    byID((*store.View).Contact),
})

// UpdateContact changes what a shop knows about the holder of a card beside the card.
var UpdateContact = declare(kernel.Operation{
	ID:    "updateContact",
	Group: cards,
	Title: "Update a card's contact",
	Doc: "Also for an installed card; an archived one is refused (conflict), as is a code that another card of the shop has. " +
		"`codes` replaces all codes. A reissue ends them. Fires no event.",
	Callers: writers("cards"),
	Codes:   notFoundOrConflict,
	Mode:    wire.Patch,
	Write:   withID((*store.Tx).UpdateContact),
})

// GetHolderContact is GetContact with what only the people of the shop see.
var GetHolderContact = declare(kernel.Operation{
	ID:      "getHolderContact",
	Group:   cards,
	Title:   "Read the contact and the note of a card",
	Callers: viewer,
	Codes:   notFound,
	Read:    byID((*store.View).HolderContact),
})

// UpdateHolderContact is UpdateContact with what only the people of the shop see.
var UpdateHolderContact = declare(kernel.Operation{
	ID:      "updateHolderContact",
	Group:   cards,
	Title:   "Update the contact and the note of a card",
	Callers: manager,
	Codes:   notFoundOrConflict,
	Mode:    wire.Patch,
	Write:   withID((*store.Tx).UpdateHolderContact),
})

// IssueToCustomer issues a card with a phone number.
var IssueToCustomer = declare(kernel.Operation{
	ID:       "issueToCustomer",
	Group:    cards,
	Title:    "Issue a card to a customer",
	Callers:  manager,
	Codes:    notFoundConflictOrUnprocessable,
	Write:    issuing((*store.Tx).IssueToCustomer),
	Complete: kernel.Complete(drawInstallQR),
})

// ConnectCode gives a card at a till the code of an earlier plastic card.
var ConnectCode = declare(kernel.Operation{
	ID:    "connectCode",
	Group: cards,
	Title: "Connect the code of an earlier card",
	Doc: "From then on the code finds the card too, until the card is reissued. A code that another card of the shop has, or a " +
		"sixth one, is a conflict.",
	Callers: device,
	Codes:   refusals,
	Write:   withParam("code", (*store.Tx).ConnectCode),
})

// SetHolder gives a card at a till its holder.
var SetHolder = declare(kernel.Operation{
	ID:    "setHolder",
	Group: cards,
	Title: "Give a card its holder",
	Doc: "Of a card that nobody has yet, such as a printed one. A card that is on a phone (installed, in a wallet or with notices), or has " +
		"a name, an email or a phone number, is a conflict.",
	Callers: device,
	Codes:   refusals,
	Write:   withParam("code", (*store.Tx).SetHolder),
})

// CloseDataRequest closes what the holder of a card has asked the shop for.
var CloseDataRequest = declare(kernel.Operation{
	ID:      "closeDataRequest",
	Group:   cards,
	Title:   "Close what a holder has asked for",
	Callers: manager,
	Codes:   notFound,
	Write: silent(func(tx *store.Tx, c *kernel.Call, f store.ClosedRequest) error {
		return tx.CloseDataRequest(c.Access.Shop, c.Param("id"), f)
	}),
})
