package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// ExportPerson returns everything that the file holds about a person, on all cards with an email or
// phone number, or on the given cards. Each card is audited.
var ExportPerson = declare(kernel.Operation{
	ID:      "exportPerson",
	Group:   cards,
	Title:   "Export the data of a person",
	Callers: owner,
	Codes:   notFoundOrUnprocessable,
	Proof:   true,
	Read:    query((*store.View).ExportPerson),
	WriteBefore: kernel.WriteBefore(func(_ *store.View, c *kernel.Call, f store.PersonQuery) (func(*store.Tx) error, error) {
		return func(tx *store.Tx) error { return tx.AuditExport(c.Access.Shop, f) }, nil
	}),
})

// ExportCards lists the cards of the shop with all that is known of them, page by page.
// The first page is audited.
var ExportCards = declare(kernel.Operation{
	ID:      "exportCards",
	Group:   cards,
	Title:   "Export the cards",
	Callers: owner,
	Proof:   true,
	Read:    query((*store.View).ExportCards),
	WriteBefore: kernel.WriteBefore(func(_ *store.View, c *kernel.Call, q store.ExportFilter) (func(*store.Tx) error, error) {
		if q.Cursor.Set {
			return nil, nil
		}
		return func(tx *store.Tx) error { return tx.AuditShopExport(c.Access.Shop, "cards.export") }, nil
	}),
})

// ExportShop returns the export of all data of a shop, which the caller writes. Each is audited.
var ExportShop = declare(kernel.Operation{
	ID:      "exportShop",
	Group:   shops,
	Title:   "Export all data of the shop",
	Callers: owner,
	Proof:   true,
	Read:    query((*store.View).Export),
	WriteBefore: kernel.WriteBefore(func(_ *store.View, c *kernel.Call, _ store.ExportFormat) (func(*store.Tx) error, error) {
		return func(tx *store.Tx) error { return tx.AuditShopExport(c.Access.Shop, "shop.export") }, nil
	}),
})
