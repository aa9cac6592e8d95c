package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// ExportCard returns everything that the file holds about the holder of a card. Each
// export is audited.
var ExportCard = kernel.NewOperation(kernel.Of[struct{}, store.CardExport]{
	ID:      "exportCard",
	Group:   cards,
	Title:   "Export the data of a card's holder",
	Callers: owner,
	Codes:   []store.Code{store.NotFound},
	Proof:   true,
	Read: func(v *store.View, c *kernel.Call, _ struct{}) (store.CardExport, error) {
		return v.ExportCard(c.Access.Shop, c.Param("id"))
	},
	WriteBefore: kernel.WriteBefore(func(c *kernel.Call, _ struct{}) (func(*store.Tx) error, error) {
		return func(tx *store.Tx) error { return tx.AuditExport(c.Access.Shop, c.Param("id")) }, nil
	}),
})

// ExportQuery is the query of ExportCards.
type ExportQuery struct {
	store.PageQuery
	store.ExportFilter
}

// ExportCards lists the cards of the shop with all that is known of them, page by page.
// The first page is audited.
var ExportCards = kernel.NewOperation(kernel.Of[ExportQuery, store.Page[store.ExportedCard]]{
	ID:      "exportCards",
	Group:   cards,
	Title:   "Export the cards",
	Callers: owner,
	Proof:   true,
	Read: func(v *store.View, c *kernel.Call, q ExportQuery) (store.Page[store.ExportedCard], error) {
		return v.ExportCards(c.Access.Shop, q.ExportFilter, q.PageQuery)
	},
	WriteBefore: kernel.WriteBefore(func(c *kernel.Call, q ExportQuery) (func(*store.Tx) error, error) {
		if q.Cursor.Set {
			return nil, nil
		}
		return func(tx *store.Tx) error { return tx.AuditExportOfAll(c.Access.Shop) }, nil
	}),
})
