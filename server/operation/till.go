package operation

import (
	"slices"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// GetDevice describes the device that calls it.
var GetDevice = kernel.Read(ownDevice.only(device, "getDevice", "Inspect the device", ""),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.TillMe, error) {
		return v.TillMe(c.Device.Till)
	})

// LookupCard returns the card of a code.
var LookupCard = kernel.Read(
	cards.only(device, "lookupCard", "Look a card up",
		"`code` is what the card's QR code holds, its short code, or its id; it stands for the whole chain of cards that overflowed from one another. Never writes.",
		store.NotFound),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.Lookup, error) {
		return v.Lookup(c.Device.Till, c.Param("code"))
	})

// IssueCardAtCounter issues a card that is active at once.
var IssueCardAtCounter = withQRCode(kernel.Write(
	cards.only(device, "issueCardAtCounter", "Issue a card at the counter",
		"The card is active at once.",
		store.NotFound, store.Unprocessable, store.Conflict),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.CounterFields) (store.IssuedCard, error) {
		return tx.IssueAtCounter(c.Device.Till, c.Param("id"), f)
	}))

// The actions on a card that is presented at a till.
var (
	StampCard = presentation("stampCard", "Give stamps", "Goes to the oldest live card of the chain that is not full. What goes over opens a new card where the program repeats (`overflow_transaction`, `overflow_card`), else it is dropped and a full card refuses.",
		(*store.Tx).Stamp, store.CardFullNoRepeat, store.SpendRequired, store.SpendNotEnabled, store.AmountBelowMinStamp)
	RedeemPrize = presentation("redeemPrize", "Redeem a prize", "One option per threshold and cycle. The highest threshold on a full card completes the cycle.",
		(*store.Tx).Redeem, store.ThresholdAlreadyClaimed)
	TopUpCard     = presentation("topUpCard", "Top up a prepaid card", "", (*store.Tx).TopUp)
	SpendFromCard = presentation("spendFromCard", "Spend from a prepaid card", "", (*store.Tx).Spend, store.PrepaidInsufficientBalance)
	UseCard       = presentation("useCard", "Use an access or discount card", "", (*store.Tx).Use)
)

// refusals are the codes with which every action on a card may be refused.
var refusals = []store.Code{store.NotFound, store.Unprocessable, store.CardSuspended, store.Conflict, store.CardExpired}

// presentation returns the operation of an action on a presented card.
func presentation[F any](id, title, doc string, act func(*store.Tx, store.Till, string, F) (store.Stamped, error), more ...store.Code) *kernel.Operation {
	return kernel.Write(cards.only(device, id, title, doc, slices.Concat(refusals, more)...),
		wire.Create, func(tx *store.Tx, c *kernel.Call, f F) (store.Stamped, error) {
			return act(tx, c.Device.Till, c.Param("code"), f)
		})
}

// ReverseTransaction reverses a row of the ledger.
var ReverseTransaction = kernel.Write(
	ledger.only(device, "reverseTransaction", "Reverse a transaction",
		"Takes back a row of the device's own location, once. It is a correction and no presentation: it activates no card and lets no stamps expire. Either row of an overflow takes both back: the named one's reversal is `transaction`, the other's `overflow_transaction`.",
		slices.Concat(refusals, []store.Code{store.CannotReverseCompletedCycle, store.PrepaidInsufficientBalance})...),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.Metadata) (store.Stamped, error) {
		return tx.Reverse(c.Device.Till, c.Param("id"), f)
	})
