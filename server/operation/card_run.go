package operation

import (
	"context"

	"punchcard/server/kernel"
	"punchcard/store"
)

// StartCardRun begins to lock, unlock or archive many cards, to set a later expiry, or to give stamps.
var StartCardRun = declare(kernel.Operation{
	ID:    "startCardRun",
	Group: cards,
	Title: "Change many cards",
	Doc: "The cards are changed one after the other while the server goes on with other work; a restart interrupts this, and no " +
		"card is changed twice. What a single change would be refused is refused here too, and is in the report.",
	Callers: manager,
	Codes:   codes{store.Conflict},
	Prepare: kernel.Prepare(func(_ context.Context, c *kernel.Call, f store.RunFields) (func(*store.Tx) (store.CardRun, error), error) {
		total, err := readBefore(c, func(v *store.View) (total store.Total, err error) {
			if f.All.V {
				total, err = v.CountRun(c.Access.Shop, f.ListFilter)
			}
			return total, err
		})
		return func(tx *store.Tx) (store.CardRun, error) { return tx.StartCardRun(c.Access.Shop, f, total) }, err
	}),
})

// CountRun counts the cards that a run would change.
var CountRun = declare(kernel.Operation{
	ID:      "countRun",
	Group:   cards,
	Title:   "Count the cards of a filter",
	Callers: manager,
	Read:    query((*store.View).CountRun),
})

// ListCardRuns lists the newest runs of the shop.
var ListCardRuns = declare(kernel.Operation{
	ID:      "listCardRuns",
	Group:   cards,
	Title:   "List changes of many cards",
	Callers: manager,
	Read:    listOf((*store.View).CardRuns),
})

// GetCardRun returns a run with the cards that it could not change.
var GetCardRun = declare(kernel.Operation{
	ID:      "getCardRun",
	Group:   cards,
	Title:   "Read a change of many cards",
	Callers: manager,
	Codes:   notFound,
	Read:    byID((*store.View).CardRun),
})

// StopCardRun stops a run. Cards that it has changed stay changed.
var StopCardRun = declare(kernel.Operation{
	ID:      "stopCardRun",
	Group:   cards,
	Title:   "Stop a change of many cards",
	Callers: manager,
	Codes:   notFound,
	Write:   change((*store.Tx).StopCardRun),
})
