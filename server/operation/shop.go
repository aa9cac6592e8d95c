package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// CreateShop creates a shop. What its fields do not set is enabled.
var CreateShop = kernel.Write(kernel.Operation{
	ID:      "createShop",
	Group:   "Shops",
	Title:   "Create a shop",
	Callers: operators,
}, wire.Create, func(tx *store.Tx, c *kernel.Call, f store.ShopFields) (sh store.Shop, err error) {
	_, sh, err = tx.CreateShop(f)
	return sh, err
})

// ListShops lists all shops, oldest first.
var ListShops = kernel.Read(kernel.Operation{
	ID:      "listShops",
	Group:   "Shops",
	Title:   "List the shops",
	Callers: operators,
}, func(v *store.View, c *kernel.Call, _ struct{}) (List[store.Shop], error) {
	shops, err := v.Shops()
	return List[store.Shop]{shops}, err
})

// UpdateShop changes a shop's plan, subscription or limits.
var UpdateShop = kernel.Write(kernel.Operation{
	ID:      "updateShop",
	Group:   "Shops",
	Title:   "Update a shop",
	Callers: operators,
	Codes:   []store.Code{store.NotFound},
}, wire.Patch, func(tx *store.Tx, c *kernel.Call, f store.ShopFields) (store.Shop, error) {
	return tx.UpdateShop(c.Access.Shop, f)
})

// ListAudit lists the audit log of the shop.
var ListAudit = kernel.Read(kernel.Operation{
	ID:      "listAudit",
	Group:   "Shops",
	Title:   "List the audit log",
	Doc:     "Newest first.",
	Callers: managers,
}, func(v *store.View, c *kernel.Call, q PageQuery) (store.Page[store.AuditRow], error) {
	return v.AuditLog(c.Access.Shop, q.PageQuery)
})
