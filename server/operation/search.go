package operation

import (
	"slices"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// SearchQuery is the query of SearchCards.
type SearchQuery struct {
	store.PageQuery
	store.CardSearch
}

// SearchCards finds cards by their holder, a code or a reference. For those who see no
// addresses, an address matches only as a whole.
var SearchCards = kernel.Read(cards.only(viewer, "searchCards", "Search for cards", ""),
	func(v *store.View, c *kernel.Call, q SearchQuery) (store.Page[store.FoundCard], error) {
		q.WholeEmail = c.Role < kernel.Manager
		return v.SearchCards(c.Access.Shop, q.CardSearch, q.PageQuery)
	})

// GetCardOverview returns all that a person sees of a card.
var GetCardOverview = kernel.Read(cards.only(viewer, "getCardOverview", "Read all about a card", "", store.NotFound),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.CardOverview, error) {
		return v.CardOverview(c.Access.Shop, c.Param("id"))
	})

// ListCardTransactions lists the ledger of a card and its chain.
var ListCardTransactions = kernel.Read(ledger.only(viewer, "listCardTransactions", "List the ledger of a card", "", store.NotFound),
	func(v *store.View, c *kernel.Call, q PageQuery) (store.Page[store.LedgerEntry], error) {
		return v.CardTransactions(c.Access.Shop, c.Param("id"), q.PageQuery)
	})

// GetLedgerEntry returns a row of the ledger.
var GetLedgerEntry = kernel.Read(ledger.only(viewer, "getLedgerEntry", "Read a row of the ledger", "", store.NotFound),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.LedgerEntry, error) {
		return v.LedgerEntry(c.Access.Shop, c.Param("id"))
	})

// ListCardAudit lists the audit rows about a card and its chain.
var ListCardAudit = kernel.Read(cards.only(manager, "listCardAudit", "List the audit log of a card", "", store.NotFound),
	func(v *store.View, c *kernel.Call, q PageQuery) (store.Page[store.AuditRow], error) {
		return v.CardAudit(c.Access.Shop, c.Param("id"), q.PageQuery)
	})

// ReverseByPerson reverses a row of the ledger for a person who uses no device. The
// rules are those of ReverseTransaction.
var ReverseByPerson = kernel.Write(
	ledger.only(manager, "reverseByPerson", "Reverse a transaction of any location", "",
		slices.Concat(refusals, []store.Code{store.CannotReverseCompletedCycle, store.PrepaidInsufficientBalance, store.SubscriptionSuspended, store.LocationDisabled})...),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.Metadata) (store.Stamped, error) {
		return tx.ReverseByPerson(c.Access.Shop, c.Param("id"), f)
	})
