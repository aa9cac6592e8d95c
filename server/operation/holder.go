package operation

import (
	"punchcard/server/kernel"
	"punchcard/store"
)

// The operations below take the token of a link as the parameter token.

// ShowCardPage returns the card of a page.
var ShowCardPage = kernel.NewOperation(kernel.Of[struct{}, store.HolderCard]{
	ID:      "showCardPage",
	Group:   holderPage,
	Title:   "Show a card to its holder",
	Callers: holder,
	Codes:   []store.Code{store.NotFound, store.Gone},
	Read: func(v *store.View, c *kernel.Call, _ struct{}) (store.HolderCard, error) {
		return v.CardPage(c.Param("token"))
	},
})

// WatchCard returns the root of the chain of a page, for a stream of its changes.
var WatchCard = kernel.NewOperation(kernel.Of[struct{}, int64]{
	ID:      "watchCard",
	Group:   holderPage,
	Title:   "Watch a card for its holder",
	Callers: holder,
	Codes:   []store.Code{store.NotFound, store.Gone},
	Read:    func(v *store.View, c *kernel.Call, _ struct{}) (int64, error) { return v.WatchedCard(c.Param("token")) },
})

// ShowHolderCard returns the card of an install link.
var ShowHolderCard = kernel.NewOperation(kernel.Of[struct{}, store.HolderCard]{
	ID:      "showHolderCard",
	Group:   holderPage,
	Title:   "Show the card of an install link",
	Callers: holder,
	Codes:   []store.Code{store.NotFound, store.CardExpired, store.Conflict, store.Gone},
	Read: func(v *store.View, c *kernel.Call, _ struct{}) (store.HolderCard, error) {
		return v.HolderCard(c.Param("token"))
	},
})

// InstallCard marks the card of an install link or a page as installed on a device.
var InstallCard = kernel.NewOperation(kernel.Of[store.InstallFields, store.Installation]{
	ID:      "installCard",
	Group:   holderPage,
	Title:   "Install a card on a device",
	Callers: holder,
	Codes:   []store.Code{store.NotFound, store.CardExpired, store.Conflict, store.Gone},
	Write: func(tx *store.Tx, c *kernel.Call, f store.InstallFields) (store.Installation, error) {
		return tx.Install(c.Param("token"), f)
	},
})
