package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// The operations below take the token of a link as the parameter token.

// ShowCardPage returns the card of a page.
var ShowCardPage = kernel.Read(
	holderPage.only(holder, "showCardPage", "Show a card to its holder", "", store.NotFound, store.Gone),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.HolderCard, error) {
		return v.CardPage(c.Param("token"))
	})

// WatchCard returns the root of the chain of a page, for a stream of its changes.
var WatchCard = kernel.Read(
	holderPage.only(holder, "watchCard", "Watch a card for its holder", "", store.NotFound, store.Gone),
	func(v *store.View, c *kernel.Call, _ struct{}) (int64, error) { return v.WatchedCard(c.Param("token")) })

// ShowHolderCard returns the card of an install link.
var ShowHolderCard = kernel.Read(
	holderPage.only(holder, "showHolderCard", "Show the card of an install link", "",
		store.NotFound, store.CardExpired, store.Conflict, store.Gone),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.HolderCard, error) {
		return v.HolderCard(c.Param("token"))
	})

// InstallCard marks the card of an install link or a page as installed on a device.
var InstallCard = kernel.Write(
	holderPage.only(holder, "installCard", "Install a card on a device", "",
		store.NotFound, store.CardExpired, store.Conflict, store.Gone),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.InstallFields) (store.Installation, error) {
		return tx.Install(c.Param("token"), f)
	})
