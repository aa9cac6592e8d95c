// Package till is the till API below /till/v1: what a shop's devices write to
// the ledger (contract section 7).
package till

import (
	"net/http"

	"punchcard/server/api"
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// Prefix is where the API is mounted.
const Prefix = "/till/v1"

// refusals are what every action on a card may be refused with, in this order.
var refusals = []store.Code{store.NotFound, store.Unprocessable, store.CardSuspended, store.Conflict, store.CardExpired}

func write[B any](path, id, title, text string, fn func(*store.Tx, store.At, string, B) (store.Stamped, error), codes ...store.Code) kernel.Route {
	r := kernel.Route{Method: http.MethodPost, Path: path, ID: id, Tag: "Cards", Title: title, Doc: text, Status: http.StatusCreated, Codes: append(refusals[:len(refusals):len(refusals)], codes...)}
	kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, b B) (store.Stamped, error) {
		return fn(tx, c.Till.At, c.Param("code"), b)
	})(&r)
	return r
}

// Routes is the whole till API.
func Routes() []kernel.Route {
	me := kernel.Route{Method: http.MethodGet, Path: "/me", ID: "getDevice", Tag: "Device", Title: "Inspect the device", Status: http.StatusOK}
	kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (store.TillMe, error) { return v.TillMe(c.Till.At) })(&me)

	lookup := kernel.Route{Method: http.MethodGet, Path: "/cards/:code", ID: "lookupCard", Tag: "Cards", Title: "Look a card up", Status: http.StatusOK,
		Codes: []store.Code{store.NotFound}, Doc: "`code` is the card's id or what its QR code holds; it stands for the whole chain of cards that overflowed from one another. Never writes."}
	kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (store.Lookup, error) {
		return v.Lookup(c.Till.At, c.Param("code"))
	})(&lookup)

	issue := kernel.Route{Method: http.MethodPost, Path: "/programs/:id/cards", ID: "issueCardAtCounter", Tag: "Cards", Title: "Issue a card at the counter", Status: http.StatusCreated,
		Codes: []store.Code{store.NotFound, store.Unprocessable, store.Conflict}, Doc: "The card is active at once."}
	kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, b store.CounterFields) (store.IssuedCard, error) {
		return tx.IssueAtCounter(c.Till.At, c.Param("id"), b)
	})(&issue)
	api.WithPicture(&issue)

	reverse := kernel.Route{Method: http.MethodPost, Path: "/transactions/:id/reversal", ID: "reverseTransaction", Tag: "Ledger", Title: "Reverse a transaction", Status: http.StatusCreated,
		Codes: append(refusals[:len(refusals):len(refusals)], store.CannotReverseCompletedCycle, store.PrepaidInsufficientBalance),
		Doc:   "Takes back a row of the device's own location, once. It is a correction and no presentation: it activates no card and lets no stamps expire. Either row of an overflow takes both back: the named one's reversal is `transaction`, the other's `overflow_transaction`."}
	kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, b store.Metadata) (store.Stamped, error) {
		return tx.Reverse(c.Till.At, c.Param("id"), b)
	})(&reverse)

	return []kernel.Route{me, lookup, issue,
		write("/cards/:code/stamps", "stampCard", "Give stamps", "Goes to the oldest live card of the chain that is not full. What goes over opens a new card where the program repeats (`overflow_transaction`, `overflow_card`), else it is dropped and a full card refuses.",
			(*store.Tx).Stamp, store.CardFullNoRepeat, store.SpendRequired, store.SpendNotEnabled, store.AmountBelowMinStamp),
		write("/cards/:code/redemptions", "redeemPrize", "Redeem a prize", "One option per threshold and cycle. The highest threshold on a full card completes the cycle.",
			(*store.Tx).Redeem, store.ThresholdAlreadyClaimed),
		write("/cards/:code/topups", "topUpCard", "Top up a prepaid card", "", (*store.Tx).TopUp),
		write("/cards/:code/spends", "spendFromCard", "Spend from a prepaid card", "", (*store.Tx).Spend, store.PrepaidInsufficientBalance),
		write("/cards/:code/uses", "useCard", "Use an access or discount card", "", (*store.Tx).Use),
		reverse,
	}
}
