// Package till binds the operations to the till API below /till/v1, by which the
// devices of a shop write to the ledger. Its Guard identifies devices by their tokens.
package till

import (
	"net/http"

	"punchcard/server/kernel"
	"punchcard/server/operation"
)

// Prefix is the beginning of all paths of the API.
const Prefix = "/till/v1"

// The kinds of routes.
var (
	get    = kernel.RouteOf(http.MethodGet, http.StatusOK)
	write  = kernel.RouteOf(http.MethodPost, http.StatusCreated)
	remove = kernel.RouteOf(http.MethodDelete, http.StatusNoContent)
)

// Routes returns the whole till API, in the order of its document.
func Routes() []kernel.Route {
	return []kernel.Route{
		get("/me", operation.GetDevice),
		write("/session", operation.OpenStaffSession),
		remove("/session", operation.CloseStaffSession),
		get("/transactions", operation.ListDeviceTransactions),
		get("/today", operation.GetDeviceDay),
		get("/search", operation.SearchAtTill),
		get("/cards/:code", operation.LookupCard),
		write("/programs/:id/cards", operation.IssueCardAtCounter),
		write("/cards/:code/stamps", operation.StampCard),
		write("/cards/:code/redemptions", operation.RedeemPrize),
		write("/cards/:code/topups", operation.TopUpCard),
		write("/cards/:code/spends", operation.SpendFromCard),
		write("/cards/:code/uses", operation.UseCard),
		write("/cards/:code/codes", operation.ConnectCode),
		write("/cards/:code/holder", operation.SetHolder),
		write("/transactions/:id/reversal", operation.ReverseTransaction),
	}
}
