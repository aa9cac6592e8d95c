package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// GetEnrolment returns how customers make cards of a program themselves.
var GetEnrolment = kernel.Read(programs.only(viewer, "getEnrolment", "Read how customers make cards themselves", "", store.NotFound),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.Enrolment, error) {
		return v.Enrolment(c.Access.Shop, c.Param("id"))
	})

// UpdateEnrolment changes how customers make cards of a program themselves, also of a
// frozen one.
var UpdateEnrolment = kernel.Write(programs.only(manager, "updateEnrolment", "Set how customers make cards themselves", "", store.NotFound, store.Conflict),
	wire.Patch, func(tx *store.Tx, c *kernel.Call, f store.EnrolmentFields) (store.Enrolment, error) {
		return tx.UpdateEnrolment(c.Access.Shop, c.Param("id"), f)
	})

// GetPoster returns what a poster of a program shows that leads to its form.
var GetPoster = kernel.Read(programs.only(viewer, "getPoster", "Read what a poster of a program shows", "", store.NotFound, store.Conflict),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.JoinPage, error) {
		return v.Poster(c.Access.Shop, c.Param("id"))
	})

// ShowJoinPage returns the form at which customers make cards of a program. Its parameter
// slug is the end of the form's address.
var ShowJoinPage = kernel.Read(holderPage.only(holder, "showJoinPage", "Show the form for a new card", "", store.NotFound),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.JoinPage, error) {
		return v.JoinPage(c.Param("slug"))
	})

// Join makes a card for a customer. It is limited for each address, for each program in an
// hour, and for all cards that the form may make. Its parameter slug is the end of the
// form's address.
var Join = kernel.LookUp(kernel.Write(
	holderPage.only(holder, "join", "Make a card for oneself", "It never looks whether there is a card with the email, so nobody can find that out.", store.NotFound, store.Conflict, store.RateLimited),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.JoinFields) (store.JoinedCard, error) {
		return tx.Join(c.Param("slug"), f, c.Address)
	}), func(v *store.View, c *kernel.Call, f store.JoinFields, faulty func(string) bool) error {
	return v.CheckJoin(c.Param("slug"), f, faulty)
})

// ShowLostPage returns the form for the links of lost cards. Its parameters shop and token
// name the shop, by its id or by the link of a card; see [store.View.LostPage].
var ShowLostPage = kernel.Read(holderPage.only(holder, "showLostPage", "Show the form for the links of lost cards", "", store.NotFound),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.LostPage, error) {
		return v.LostPage(c.Param("shop"), c.Param("token"))
	})

// RequestCardLinks mails the links of the cards with an email to it. Its answer does not
// show whether there are any.
var RequestCardLinks = kernel.Write(
	holderPage.only(holder, "requestCardLinks", "Ask for the links of lost cards", "The answer is the same whether there are cards or not.", store.NotFound, store.Unprocessable, store.RateLimited),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.LostFields) (kernel.None, error) {
		return kernel.None{}, tx.RequestCardLinks(f, c.Address)
	})
