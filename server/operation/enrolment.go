package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// GetEnrolment returns how customers make cards of a program themselves.
var GetEnrolment = kernel.NewOperation(kernel.Of[struct{}, store.Enrolment]{
	ID:      "getEnrolment",
	Group:   programs,
	Title:   "Read how customers make cards themselves",
	Callers: viewer,
	Codes:   []store.Code{store.NotFound},
	Read: func(v *store.View, c *kernel.Call, _ struct{}) (store.Enrolment, error) {
		return v.Enrolment(c.Access.Shop, c.Param("id"))
	},
})

// UpdateEnrolment changes how customers make cards of a program themselves, also of a
// frozen one.
var UpdateEnrolment = kernel.NewOperation(kernel.Of[store.EnrolmentFields, store.Enrolment]{
	ID:      "updateEnrolment",
	Group:   programs,
	Title:   "Set how customers make cards themselves",
	Callers: manager,
	Codes:   []store.Code{store.NotFound, store.Conflict, store.Unprocessable},
	Mode:    wire.Patch,
	Write: func(tx *store.Tx, c *kernel.Call, f store.EnrolmentFields) (store.Enrolment, error) {
		return tx.UpdateEnrolment(c.Access.Shop, c.Param("id"), f)
	},
})

// GetPoster returns what a poster of a program shows that leads to its form.
var GetPoster = kernel.NewOperation(kernel.Of[struct{}, store.JoinPage]{
	ID:      "getPoster",
	Group:   programs,
	Title:   "Read what a poster of a program shows",
	Callers: viewer,
	Codes:   []store.Code{store.NotFound, store.Conflict},
	Read: func(v *store.View, c *kernel.Call, _ struct{}) (store.JoinPage, error) {
		return v.Poster(c.Access.Shop, c.Param("id"))
	},
})

// ShowJoinPage returns the form at which customers make cards of a program. Its parameter
// slug is the end of the form's address.
var ShowJoinPage = kernel.NewOperation(kernel.Of[struct{}, store.JoinPage]{
	ID:      "showJoinPage",
	Group:   holderPage,
	Title:   "Show the form for a new card",
	Callers: holder,
	Codes:   []store.Code{store.NotFound},
	Read: func(v *store.View, c *kernel.Call, _ struct{}) (store.JoinPage, error) {
		return v.JoinPage(c.Param("slug"))
	},
})

// Join makes a card for a customer. It is limited for each address, for each program in an
// hour, and for all cards that the form may make. Its parameter slug is the end of the
// form's address.
var Join = kernel.NewOperation(kernel.Of[store.JoinFields, store.JoinedCard]{
	ID:      "join",
	Group:   holderPage,
	Title:   "Make a card for oneself",
	Doc:     "It never looks whether there is a card with the email, so nobody can find that out.",
	Callers: holder,
	Codes:   []store.Code{store.NotFound, store.Conflict, store.RateLimited},
	Write: func(tx *store.Tx, c *kernel.Call, f store.JoinFields) (store.JoinedCard, error) {
		return tx.Join(c.Param("slug"), f, c.Address)
	},
	LookUp: kernel.LookUp(func(v *store.View, c *kernel.Call, f store.JoinFields, faulty func(string) bool) error {
		return v.CheckJoin(c.Param("slug"), f, faulty)
	}),
})

// ShowLostPage returns the form for the links of lost cards. Its parameters shop and token
// name the shop, by its id or by the link of a card; see [store.View.LostPage].
var ShowLostPage = kernel.NewOperation(kernel.Of[struct{}, store.LostPage]{
	ID:      "showLostPage",
	Group:   holderPage,
	Title:   "Show the form for the links of lost cards",
	Callers: holder,
	Codes:   []store.Code{store.NotFound},
	Read: func(v *store.View, c *kernel.Call, _ struct{}) (store.LostPage, error) {
		return v.LostPage(c.Param("shop"), c.Param("token"))
	},
})

// RequestCardLinks mails the links of the cards with an email to it. Its answer does not
// show whether there are any.
var RequestCardLinks = kernel.NewOperation(kernel.Of[store.LostFields, kernel.None]{
	ID:      "requestCardLinks",
	Group:   holderPage,
	Title:   "Ask for the links of lost cards",
	Doc:     "The answer is the same whether there are cards or not.",
	Callers: holder,
	Codes:   []store.Code{store.NotFound, store.Unprocessable},
	Write: func(tx *store.Tx, c *kernel.Call, f store.LostFields) (kernel.None, error) {
		return kernel.None{}, tx.RequestCardLinks(f, c.Address)
	},
})
