package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// Ladder is the list of all prizes of a program.
type Ladder struct {
	Data []store.Prize `json:"data"`
}

// ListPrizes lists the prizes of a program.
var ListPrizes = declare(kernel.Operation{
	ID:      "listPrizes",
	Group:   prizes,
	Title:   "List a program's prizes",
	Doc:     "In the order of (ordinal, id); not paginated.",
	Callers: readers("programs"),
	Codes:   notFound,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (Ladder, error) {
		p, err := v.Program(c.Access, c.Param("id"))
		return Ladder{p.Prizes}, err
	}),
})

// CreatePrize adds a prize to a stamp program.
var CreatePrize = declare(kernel.Operation{
	ID:    "createPrize",
	Group: prizes,
	Title: "Add a prize",
	Doc: "Stamp programs only. The threshold must be reachable (not above total_stamps). Several prizes may share a threshold: " +
		"the holder redeems one option of each.",
	Callers: writers("programs"),
	Codes:   codes{store.NotFound, store.ProgramHasInstalledCards, store.Unprocessable},
	Write:   withID((*store.Tx).AddPrize),
})

// UpdatePrize changes a prize.
var UpdatePrize = declare(kernel.Operation{
	ID:      "updatePrize",
	Group:   prizes,
	Title:   "Update a prize",
	Callers: writers("programs"),
	Codes:   codes{store.NotFound, store.ProgramHasInstalledCards, store.Unprocessable},
	Mode:    wire.Patch,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f store.PrizeFields) (store.Prize, error) {
		return tx.UpdatePrize(c.Access, c.Param("id"), c.Param("prizeId"), f)
	}),
})

// DeletePrize deletes a prize that was never redeemed.
var DeletePrize = declare(kernel.Operation{
	ID:      "deletePrize",
	Group:   prizes,
	Title:   "Delete a prize",
	Doc:     "A prize that was redeemed before stays: conflict.",
	Callers: writers("programs"),
	Codes:   codes{store.NotFound, store.Conflict, store.ProgramHasInstalledCards, store.Unprocessable},
	Write: silent(func(tx *store.Tx, c *kernel.Call, _ struct{}) error {
		return tx.DeletePrize(c.Access, c.Param("id"), c.Param("prizeId"))
	}),
})

// OrderPrizes puts the prizes of a program in another order.
var OrderPrizes = declare(kernel.Operation{
	ID:      "orderPrizes",
	Group:   prizes,
	Title:   "Order a program's prizes",
	Callers: manager,
	Codes:   codes{store.NotFound, store.Conflict, store.ProgramHasInstalledCards, store.Unprocessable},
	Write:   withID((*store.Tx).OrderPrizes),
})
