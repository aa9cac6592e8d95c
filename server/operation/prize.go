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
var ListPrizes = kernel.Read(
	prizes.reads("listPrizes", "List a program's prizes",
		"In the order of (ordinal, id); not paginated.",
		store.NotFound),
	func(v *store.View, c *kernel.Call, _ struct{}) (Ladder, error) {
		p, err := v.Program(c.Access, c.Param("id"))
		return Ladder{p.Prizes}, err
	})

// CreatePrize adds a prize to a stamp program.
var CreatePrize = kernel.Write(
	prizes.manages("createPrize", "Add a prize",
		"Stamp programs only. The threshold must be reachable (not above total_stamps). Several prizes may share a threshold: the holder redeems one option of each.",
		store.NotFound, store.ProgramHasInstalledCards, store.Unprocessable),
	wire.Create, withID((*store.Tx).AddPrize))

// UpdatePrize changes a prize.
var UpdatePrize = kernel.Write(
	prizes.manages("updatePrize", "Update a prize", "",
		store.NotFound, store.ProgramHasInstalledCards, store.Unprocessable),
	wire.Patch, func(tx *store.Tx, c *kernel.Call, f store.PrizeFields) (store.Prize, error) {
		return tx.UpdatePrize(c.Access, c.Param("id"), c.Param("prizeId"), f)
	})

// DeletePrize deletes a prize that was never redeemed.
var DeletePrize = kernel.Write(
	prizes.manages("deletePrize", "Delete a prize",
		"A prize that was redeemed before stays: conflict.",
		store.NotFound, store.Conflict, store.ProgramHasInstalledCards, store.Unprocessable),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (kernel.None, error) {
		return kernel.None{}, tx.DeletePrize(c.Access, c.Param("id"), c.Param("prizeId"))
	})

// OrderPrizes puts the prizes of a program in another order.
var OrderPrizes = kernel.Write(
	prizes.only(manager, "orderPrizes", "Order a program's prizes", "", store.NotFound, store.Conflict, store.ProgramHasInstalledCards, store.Unprocessable),
	wire.Create, withID((*store.Tx).OrderPrizes))
