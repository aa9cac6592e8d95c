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
var SearchCards = declare(kernel.Operation{
	ID:      "searchCards",
	Group:   cards,
	Title:   "Search for cards",
	Callers: viewer,
	Read: kernel.Read(func(v *store.View, c *kernel.Call, q SearchQuery) (store.Page[store.FoundCard], error) {
		if err := q.forRole(c.Role); err != nil {
			return store.Page[store.FoundCard]{}, err
		}
		return v.SearchCards(c.Access.Shop, q.CardSearch, q.PageQuery)
	}),
})

// forRole sets what those see who see no addresses, and refuses what would tell them birthdays.
func (q *SearchQuery) forRole(role kernel.Role) error {
	q.WholeEmail = role < kernel.Manager
	if q.WholeEmail && q.BirthdayMonth.Set {
		return store.InvalidField("birthday_month", wire.CodeNotAllowed, "is for managers only")
	}
	return nil
}

// CountCards counts the cards that SearchCards finds. The first 1,000 are counted.
var CountCards = declare(kernel.Operation{
	ID:      "countCards",
	Group:   cards,
	Title:   "Count cards",
	Callers: viewer,
	Read: kernel.Read(func(v *store.View, c *kernel.Call, q SearchQuery) (store.Total, error) {
		if err := q.forRole(c.Role); err != nil {
			return store.Total{}, err
		}
		return v.CountCards(c.Access.Shop, q.CardSearch, true)
	}),
})

// GetCardOverview returns all that a person sees of a card.
var GetCardOverview = declare(kernel.Operation{
	ID:      "getCardOverview",
	Group:   cards,
	Title:   "Read all about a card",
	Callers: viewer,
	Codes:   notFound,
	Read:    byIDInShop((*store.View).CardOverview),
	WriteBefore: writingBefore(func(v *store.View, c *kernel.Call) (func(*store.Tx) error, error) {
		return v.ShortCodeOfCard(c.Access.Shop, c.Param("id"))
	}),
})

// GetCustomer returns the cards that have the email or the phone number of a card.
var GetCustomer = declare(kernel.Operation{
	ID:      "getCustomer",
	Group:   cards,
	Title:   "Read the cards of a customer",
	Callers: viewer,
	Codes:   notFound,
	Read:    byIDInShop((*store.View).Customer),
})

// ListCardTransactions lists the ledger of a card and its chain.
var ListCardTransactions = declare(kernel.Operation{
	ID:      "listCardTransactions",
	Group:   ledger,
	Title:   "List the ledger of a card",
	Callers: viewer,
	Codes:   notFound,
	Read:    queryByIDInShop((*store.View).CardTransactions),
})

// GetLedgerEntry returns a row of the ledger.
var GetLedgerEntry = declare(kernel.Operation{
	ID:      "getLedgerEntry",
	Group:   ledger,
	Title:   "Read a row of the ledger",
	Callers: viewer,
	Codes:   notFound,
	Read:    byIDInShop((*store.View).LedgerEntry),
})

// ListCardAudit lists the audit rows about a card and its chain.
var ListCardAudit = declare(kernel.Operation{
	ID:      "listCardAudit",
	Group:   cards,
	Title:   "List the audit log of a card",
	Callers: manager,
	Codes:   notFound,
	Read:    queryByIDInShop((*store.View).CardAudit),
})

// ReverseByPerson reverses a row of the ledger for a person who uses no device. The
// rules are those of ReverseTransaction.
var ReverseByPerson = declare(kernel.Operation{
	ID:      "reverseByPerson",
	Group:   ledger,
	Title:   "Reverse a transaction of any location",
	Callers: manager,
	Codes: slices.Concat(
		refusals,
		[]store.Code{
			store.CannotReverseCompletedCycle, store.PrepaidInsufficientBalance, store.SubscriptionSuspended, store.LocationDisabled,
		},
	),
	Write: inShopWith((*store.Tx).ReverseByPerson),
})
