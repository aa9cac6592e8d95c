package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// ListTransactions lists the ledger of the shop.
var ListTransactions = declare(kernel.Operation{
	ID:    "listTransactions",
	Group: transactions,
	Title: "List the ledger",
	Doc: "Newest first. Rows are written at tills, never over this API. A restricted key sees the rows of its locations. A page " +
		"may be shorter than limit, even empty, while next_cursor is not null: the server visits a bounded number of rows.",
	Callers: assisted(readers("transactions")),
	Read:    query((*store.View).Transactions),
})
