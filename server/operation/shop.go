package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// CreateShop creates a shop. What its fields do not set is enabled.
var CreateShop = kernel.Write(shops.only(operator, "createShop", "Create a shop", ""),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.ShopFields) (sh store.Shop, err error) {
		_, sh, err = tx.CreateShop(f)
		return sh, err
	})

// ListShops lists all shops, oldest first.
var ListShops = kernel.Read(shops.only(operator, "listShops", "List the shops", ""),
	func(v *store.View, c *kernel.Call, _ struct{}) (List[store.Shop], error) {
		shops, err := v.Shops()
		return List[store.Shop]{shops}, err
	})

// ShopPatch are the fields of UpdateShop.
type ShopPatch struct {
	store.ShopFields
	Reason store.Opt[string] `json:"reason" min:"1" max:"200" format:"line" doc:"Why subscription_state changes, for subscription.state_changed. Default empty."`
}

// UpdateShop changes a shop's plan, subscription or limits.
var UpdateShop = kernel.Write(shops.only(operator, "updateShop", "Update a shop", "", store.NotFound),
	wire.Patch, func(tx *store.Tx, c *kernel.Call, f ShopPatch) (store.Shop, error) {
		return tx.UpdateShop(c.Access.Shop, f.ShopFields, f.Reason.V)
	})

// ListAudit lists the audit log of the shop.
var ListAudit = kernel.Read(shops.only(manager, "listAudit", "List the audit log", "Newest first."),
	func(v *store.View, c *kernel.Call, q PageQuery) (store.Page[store.AuditRow], error) {
		return v.AuditLog(c.Access.Shop, q.PageQuery)
	})
