package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// ListActivity lists the rows of the audit log that pass a filter, with names.
var ListActivity = declare(kernel.Operation{
	ID:    "listActivity",
	Group: shops,
	Title: "List the audit log by actor, action and time",
	Doc: "Newest first. A page may be shorter than limit, even empty, while next_cursor is not null: the server visits a " +
		"bounded number of rows.",
	Callers: manager,
	Read:    query((*store.View).NamedActivity),
})

// ListActivityActors lists who may have made the rows of the audit log.
var ListActivityActors = declare(kernel.Operation{
	ID:      "listActivityActors",
	Group:   shops,
	Title:   "List who acts in the shop",
	Doc:     "People, keys and devices.",
	Callers: manager,
	Read:    listOf((*store.View).ActivityActors),
})
