package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// GetEnrolment returns how customers make cards of a program themselves.
var GetEnrolment = declare(kernel.Operation{
	ID:      "getEnrolment",
	Group:   programs,
	Title:   "Read how customers make cards themselves",
	Callers: viewer,
	Codes:   notFound,
	Read:    byID((*store.View).Enrolment),
})

// UpdateEnrolment changes how customers make cards of a program themselves, also of a
// frozen one.
var UpdateEnrolment = declare(kernel.Operation{
	ID:      "updateEnrolment",
	Group:   programs,
	Title:   "Set how customers make cards themselves",
	Callers: manager,
	Codes:   notFoundConflictOrUnprocessable,
	Mode:    wire.Patch,
	Write:   withID((*store.Tx).UpdateEnrolment),
})

// GetPoster returns what a poster of a program shows that leads to its form.
var GetPoster = declare(kernel.Operation{
	ID:      "getPoster",
	Group:   programs,
	Title:   "Read what a poster of a program shows",
	Callers: viewer,
	Codes:   notFoundOrConflict,
	Read:    byID((*store.View).Poster),
})

// ShowJoinPage returns the form at which customers make cards of a program. Its parameter
// slug is the end of the form's address.
var ShowJoinPage = declare(kernel.Operation{
	ID:      "showJoinPage",
	Group:   holderPage,
	Title:   "Show the form for a new card",
	Callers: holder,
	Codes:   notFound,
	Read:    byParam("slug", (*store.View).JoinPage),
})

// Join makes a card for a customer. It is limited for each address, for each program in an
// hour, and for all cards that the form may make. Its parameter slug is the end of the
// form's address.
var Join = declare(kernel.Operation{
	ID:      "join",
	Group:   holderPage,
	Title:   "Make a card for oneself",
	Doc:     "It never looks whether there is a card with the email, so nobody can find that out.",
	Callers: holder,
	Codes:   codes{store.NotFound, store.Conflict, store.RateLimited},
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f store.JoinFields) (store.JoinedCard, error) {
		return tx.Join(c.Param("slug"), f, c.Address)
	}),
})

// ShowLostPage returns the form for the links of lost cards. Its parameters shop and token
// name the shop, by its id or by the link of a card; see [store.View.LostPage].
var ShowLostPage = declare(kernel.Operation{
	ID:      "showLostPage",
	Group:   holderPage,
	Title:   "Show the form for the links of lost cards",
	Callers: holder,
	Codes:   notFound,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (store.LostPage, error) {
		return v.LostPage(c.Param("shop"), c.Param("token"))
	}),
})

// RequestCardLinks mails the links of the cards with an email to it. Its answer does not
// show whether there are any.
var RequestCardLinks = declare(kernel.Operation{
	ID:      "requestCardLinks",
	Group:   holderPage,
	Title:   "Ask for the links of lost cards",
	Doc:     "The answer is the same whether there are cards or not.",
	Callers: holder,
	Codes:   notFoundOrUnprocessable,
	Write: silent(func(tx *store.Tx, c *kernel.Call, f store.LostFields) error {
		return tx.RequestCardLinks(f, c.Address)
	}),
})
