package operation

import (
	"slices"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// searching reads what f returns for a search. For those who see no addresses, an address matches only as a
// whole, and what would tell them birthdays is refused.
func searching[O any](f func(*store.View, int64, store.CardSearch) (O, error)) kernel.Reading {
	return kernel.Read(func(v *store.View, c *kernel.Call, s store.CardSearch) (out O, err error) {
		s.WholeEmail = c.Role < kernel.Manager
		if s.WholeEmail && s.BirthdayMonth.Set {
			return out, store.InvalidField("birthday_month", wire.CodeNotAllowed, "is for managers only")
		}
		return f(v, c.Access.Shop, s)
	})
}

// SearchCards finds cards by their holder, a code or a reference.
var SearchCards = declare(kernel.Operation{
	ID:      "searchCards",
	Group:   cards,
	Title:   "Search for cards",
	Callers: viewer,
	Read:    searching((*store.View).SearchCards),
})

// CountCards counts the cards that SearchCards finds. The first 1,000 are counted.
var CountCards = declare(kernel.Operation{
	ID:      "countCards",
	Group:   cards,
	Title:   "Count cards",
	Callers: viewer,
	Read:    searching((*store.View).CountCards),
})

// GetCardOverview returns all that a person sees of a card.
var GetCardOverview = declare(kernel.Operation{
	ID:      "getCardOverview",
	Group:   cards,
	Title:   "Read all about a card",
	Callers: viewer,
	Codes:   notFound,
	Read:    byID((*store.View).CardOverview),
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
	Read:    byID((*store.View).Customer),
})

// ListCardTransactions lists the ledger of a card and its chain.
var ListCardTransactions = declare(kernel.Operation{
	ID:      "listCardTransactions",
	Group:   ledger,
	Title:   "List the ledger of a card",
	Callers: viewer,
	Codes:   notFound,
	Read:    queryByID((*store.View).CardTransactions),
})

// GetLedgerEntry returns a row of the ledger.
var GetLedgerEntry = declare(kernel.Operation{
	ID:      "getLedgerEntry",
	Group:   ledger,
	Title:   "Read a row of the ledger",
	Callers: viewer,
	Codes:   notFound,
	Read:    byID((*store.View).LedgerEntry),
})

// ListCardAudit lists the audit rows about a card and its chain.
var ListCardAudit = declare(kernel.Operation{
	ID:      "listCardAudit",
	Group:   cards,
	Title:   "List the audit log of a card",
	Callers: manager,
	Codes:   notFound,
	Read:    queryByID((*store.View).CardAudit),
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
	Write: withID((*store.Tx).ReverseByPerson),
})
