package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// TransactionsQuery is the query of ListTransactions.
type TransactionsQuery struct {
	store.PageQuery
	store.TransactionFilter
}

// ListTransactions lists the ledger of the shop.
var ListTransactions = declare(kernel.Operation{
	ID:    "listTransactions",
	Group: transactions,
	Title: "List the ledger",
	Doc: "Newest first. Rows are written at tills, never over this API. A restricted key sees the rows of its locations. A page " +
		"may be shorter than limit, even empty, while next_cursor is not null: the server visits a bounded number of rows.",
	Callers: assisted(readers("transactions")),
	Read: kernel.Read(func(v *store.View, c *kernel.Call, q TransactionsQuery) (store.Page[store.Transaction], error) {
		return v.Transactions(c.Access, q.TransactionFilter, q.PageQuery)
	}),
})
