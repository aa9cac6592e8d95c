package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// ShowHolderCard returns the card of an install link. Its parameter token is the
// token of the link.
var ShowHolderCard = kernel.Read(
	holderPage.only(holder, "showHolderCard", "Show a card to its holder", "",
		store.NotFound, store.CardExpired, store.Conflict, store.Gone),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.HolderCard, error) {
		return v.HolderCard(c.Param("token"))
	})

// InstallCard marks the card of an install link as installed on a device.
var InstallCard = kernel.Write(
	holderPage.only(holder, "installCard", "Install a card on a device", "",
		store.NotFound, store.CardExpired, store.Conflict, store.Gone),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.InstallFields) (store.Installation, error) {
		return tx.Install(c.Param("token"), f)
	})
