package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// ActivityQuery is the query of ListActivity.
type ActivityQuery struct {
	store.PageQuery
	store.AuditFilter
}

// ListActivity lists the rows of the audit log that pass a filter, with names.
var ListActivity = kernel.Read(shops.only(manager, "listActivity", "List the audit log by actor, action and time",
	"Newest first. A page may be shorter than limit, even empty, while next_cursor is not null: the server visits a bounded number of rows."),
	func(v *store.View, c *kernel.Call, q ActivityQuery) (store.Page[store.Activity], error) {
		return v.NamedActivity(c.Access.Shop, q.AuditFilter, q.PageQuery)
	})

// ListActivityActors lists who may have made the rows of the audit log.
var ListActivityActors = kernel.Read(shops.only(manager, "listActivityActors", "List who acts in the shop", "People, keys and devices."),
	func(v *store.View, c *kernel.Call, _ struct{}) (List[store.Named], error) {
		actors, err := v.ActivityActors(c.Access.Shop)
		return List[store.Named]{actors}, err
	})
