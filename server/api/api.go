// Package api is the REST API below /api/public/v1: one route table, from
// which the router, the scope checks and the OpenAPI document come.
package api

import (
	"net/http"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// Prefix is where the API is mounted.
const Prefix = "/api/public/v1"

// get makes a reading route.
func get(path, id, tag, scope, title string, handler func(*kernel.Route), opts ...func(*kernel.Route)) kernel.Route {
	return route(http.MethodGet, path, id, tag, scope, title, http.StatusOK, handler, opts)
}

// do makes a writing route.
func do(method, path, id, tag, scope, title string, status int, handler func(*kernel.Route), opts ...func(*kernel.Route)) kernel.Route {
	return route(method, path, id, tag, scope, title, status, handler, opts)
}

func route(method, path, id, tag, scope, title string, status int, handler func(*kernel.Route), opts []func(*kernel.Route)) kernel.Route {
	r := kernel.Route{Method: method, Path: path, ID: id, Tag: tag, Scope: scope, Title: title, Status: status}
	handler(&r)
	for _, o := range opts {
		o(&r)
	}
	return r
}

func codes(c ...store.Code) func(*kernel.Route) { return func(r *kernel.Route) { r.Codes = c } }
func doc(text string) func(*kernel.Route)       { return func(r *kernel.Route) { r.Doc = text } }
func disabledToo(r *kernel.Route)               { r.DisabledToo = true }

// PageQuery is the query of a list without filters.
type PageQuery struct{ store.PageQuery }

const (
	post   = http.MethodPost
	patch  = http.MethodPatch
	remove = http.MethodDelete

	ok       = http.StatusOK
	created  = http.StatusCreated
	accepted = http.StatusAccepted
	gone     = http.StatusNoContent
)

// Routes is the whole REST API, in the order of the spec.
func Routes() []kernel.Route {
	var all []kernel.Route
	for _, part := range [][]kernel.Route{identity, locations, programs, prizes, cards, transactions, webhooks, analytics} {
		all = append(all, part...)
	}
	return all
}

var locations = []kernel.Route{
	get("/locations", "listLocations", "Locations", "locations:read", "List locations",
		kernel.Read(func(v *store.View, c *kernel.Call, q PageQuery) (store.Page[store.Location], error) {
			return v.Locations(c.Access, q.PageQuery)
		}), disabledToo, doc("Newest first. A restricted key sees only its own locations.")),
	do(patch, "/locations/:id", "updateLocation", "Locations", "locations:write", "Update a location", ok,
		kernel.Write(wire.Patch, func(tx *store.Tx, c *kernel.Call, b store.LocationPatch) (store.Location, error) {
			return tx.UpdateLocation(c.Access, c.Param("id"), b)
		}), disabledToo, codes(store.NotFound), doc("An absent field is left alone; no field is nullable. `active` is not a field: use disable and enable. A location outside a restricted key's own is 403.")),
	do(post, "/locations/:id/disable", "disableLocation", "Locations", "locations:write", "Disable a location", ok,
		kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Location, error) {
			return tx.SetLocationActive(c.Access, c.Param("id"), false)
		}), disabledToo, codes(store.NotFound), doc("The location's cards stop working there immediately. Billing is not affected. A disabled location stays as it is.")),
	do(post, "/locations/:id/enable", "enableLocation", "Locations", "locations:write", "Enable a location", ok,
		kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Location, error) {
			return tx.SetLocationActive(c.Access, c.Param("id"), true)
		}), disabledToo, codes(store.NotFound), doc("The site accepts cards again immediately. An active location stays as it is.")),
}

// TransactionsQuery is the query of GET /transactions.
type TransactionsQuery struct {
	store.PageQuery
	store.TransactionFilter
}

var transactions = []kernel.Route{
	get("/transactions", "listTransactions", "Transactions", "transactions:read", "List the ledger",
		kernel.Read(func(v *store.View, c *kernel.Call, q TransactionsQuery) (store.Page[store.Transaction], error) {
			return v.Transactions(c.Access, q.TransactionFilter, q.PageQuery)
		}), doc("Newest first. Rows are written at tills, never over this API. A restricted key sees the rows of its locations. A page may be shorter than limit, even empty, while next_cursor is not null: the server visits a bounded number of rows.")),
}
