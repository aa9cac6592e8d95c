package operation

import (
	"encoding/base64"

	"punchcard/server/kernel"
	"punchcard/store"
)

// The operations below take the token of a link as the parameter token.

// ShowCardPage returns the card of a page.
var ShowCardPage = declare(kernel.Operation{
	ID:          "showCardPage",
	Group:       holderPage,
	Title:       "Show a card to its holder",
	Callers:     holder,
	Codes:       notFoundOrGone,
	Read:        byParam("token", (*store.View).CardPage),
	WriteBefore: writingByParam("token", (*store.View).ShortCodeOfLink),
})

// WatchCard returns the root of the chain of a page, for a stream of its changes.
var WatchCard = declare(kernel.Operation{
	ID:      "watchCard",
	Group:   holderPage,
	Title:   "Watch a card for its holder",
	Callers: holder,
	Codes:   notFoundOrGone,
	Read:    byParam("token", (*store.View).WatchedCard),
})

// ShowHolderCard returns the card of an install link.
var ShowHolderCard = declare(kernel.Operation{
	ID:          "showHolderCard",
	Group:       holderPage,
	Title:       "Show the card of an install link",
	Callers:     holder,
	Codes:       codes{store.NotFound, store.CardExpired, store.Conflict, store.Gone},
	Read:        byParam("token", (*store.View).HolderCard),
	WriteBefore: writingByParam("token", (*store.View).ShortCodeOfLink),
})

// AskAboutData asks the shop to correct or to erase the data of a card's holder.
var AskAboutData = declare(kernel.Operation{
	ID:      "askAboutData",
	Group:   holderPage,
	Title:   "Ask the shop to correct or erase one's data",
	Callers: holder,
	Codes:   codes{store.NotFound, store.Conflict, store.Gone},
	Write: silent(func(tx *store.Tx, c *kernel.Call, f store.DataRequest) error {
		return tx.AskAboutData(c.Param("token"), f)
	}),
})

// PushKey is the key by which the push services of browsers recognise the server.
type PushKey struct {
	PublicKey string `json:"public_key" doc:"A point on P-256, uncompressed, in base64url: the applicationServerKey of a subscription."`
}

// GetPushKey returns the key with which a browser subscribes to notices about a card.
var GetPushKey = declare(kernel.Operation{
	ID:      "getPushKey",
	Group:   holderPage,
	Title:   "Get the key of notices",
	Callers: holder,
	Codes:   notFoundOrGone,
	Read: kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (PushKey, error) {
		if _, err := v.WatchedCard(c.Param("token")); err != nil {
			return PushKey{}, err
		}
		public, err := v.PushKey().PublicKey.Bytes()
		return PushKey{base64.RawURLEncoding.EncodeToString(public)}, err
	}),
})

// Subscribe adds a browser that shows notices about a card. The parameter language is that of the notices.
var Subscribe = declare(kernel.Operation{
	ID:      "subscribe",
	Group:   holderPage,
	Title:   "Show notices about a card in a browser",
	Callers: holder,
	Codes:   notFoundOrGone,
	Write: silent(func(tx *store.Tx, c *kernel.Call, f store.PushFields) error {
		return tx.Subscribe(c.Param("token"), c.Param("language"), f)
	}),
})

// Unsubscribe ends the notices of a browser about a card.
var Unsubscribe = declare(kernel.Operation{
	ID:      "unsubscribe",
	Group:   holderPage,
	Title:   "End notices about a card in a browser",
	Callers: holder,
	Codes:   notFoundOrGone,
	Write: silent(func(tx *store.Tx, c *kernel.Call, f store.PushEnd) error {
		return tx.Unsubscribe(c.Param("token"), f)
	}),
})

// InstallCard marks the card of an install link or a page as installed on a device.
var InstallCard = declare(kernel.Operation{
	ID:      "installCard",
	Group:   holderPage,
	Title:   "Install a card on a device",
	Callers: holder,
	Codes:   codes{store.NotFound, store.CardExpired, store.Conflict, store.Gone},
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f store.InstallFields) (store.Installation, error) {
		return tx.Install(c.Param("token"), f)
	}),
})
