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
var ListPrizes = kernel.Read(kernel.Operation{
	ID:      "listPrizes",
	Group:   "Prizes",
	Title:   "List a program's prizes",
	Doc:     "In the order of (ordinal, id); not paginated.",
	Callers: reads("programs:read"),
	Codes:   []store.Code{store.NotFound},
}, func(v *store.View, c *kernel.Call, _ struct{}) (Ladder, error) {
	p, err := v.Program(c.Access, c.Param("id"))
	return Ladder{p.Prizes}, err
})

// CreatePrize adds a prize to a stamp program.
var CreatePrize = kernel.Write(kernel.Operation{
	ID:      "createPrize",
	Group:   "Prizes",
	Title:   "Add a prize",
	Doc:     "Stamp programs only. The threshold must be reachable (not above total_stamps). Several prizes may share a threshold: the holder redeems one option of each.",
	Callers: manages("programs:write"),
	Codes:   []store.Code{store.NotFound, store.ProgramHasInstalledCards, store.Unprocessable},
}, wire.Create, func(tx *store.Tx, c *kernel.Call, f store.PrizeFields) (store.Prize, error) {
	return tx.AddPrize(c.Access, c.Param("id"), f)
})

// UpdatePrize changes a prize.
var UpdatePrize = kernel.Write(kernel.Operation{
	ID:      "updatePrize",
	Group:   "Prizes",
	Title:   "Update a prize",
	Callers: manages("programs:write"),
	Codes:   []store.Code{store.NotFound, store.ProgramHasInstalledCards, store.Unprocessable},
}, wire.Patch, func(tx *store.Tx, c *kernel.Call, f store.PrizeFields) (store.Prize, error) {
	return tx.UpdatePrize(c.Access, c.Param("id"), c.Param("prizeId"), f)
})

// DeletePrize deletes a prize that was never redeemed.
var DeletePrize = kernel.Write(kernel.Operation{
	ID:      "deletePrize",
	Group:   "Prizes",
	Title:   "Delete a prize",
	Doc:     "A prize that was redeemed before stays: conflict.",
	Callers: manages("programs:write"),
	Codes:   []store.Code{store.NotFound, store.Conflict, store.ProgramHasInstalledCards, store.Unprocessable},
}, wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (kernel.None, error) {
	return kernel.None{}, tx.DeletePrize(c.Access, c.Param("id"), c.Param("prizeId"))
})
