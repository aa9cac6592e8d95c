package operation

import (
	"slices"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

var devices = kernel.Callers{Device: true}

// GetDevice describes the device that calls it.
var GetDevice = kernel.Read(kernel.Operation{ID: "getDevice", Group: "Device", Title: "Inspect the device", Callers: devices},
	func(v *store.View, c *kernel.Call, _ struct{}) (store.TillMe, error) { return v.TillMe(c.Device.Till) })

// LookupCard shows the card that a code stands for.
var LookupCard = kernel.Read(kernel.Operation{ID: "lookupCard", Group: "Cards", Title: "Look a card up", Callers: devices, Codes: codes(store.NotFound),
	Doc: "`code` is the card's id or what its QR code holds; it stands for the whole chain of cards that overflowed from one another. Never writes."},
	func(v *store.View, c *kernel.Call, _ struct{}) (store.Lookup, error) {
		return v.Lookup(c.Device.Till, c.Param("code"))
	})

// IssueCardAtCounter issues a card that is active at once.
var IssueCardAtCounter = withQRCode(kernel.Write(kernel.Operation{ID: "issueCardAtCounter", Group: "Cards", Title: "Issue a card at the counter", Callers: devices, Codes: codes(store.NotFound, store.Unprocessable, store.Conflict),
	Doc: "The card is active at once."},
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.CounterFields) (store.IssuedCard, error) {
		return tx.IssueAtCounter(c.Device.Till, c.Param("id"), f)
	}))

// The actions on a card that a device presents.
var (
	StampCard = presentation("stampCard", "Give stamps", "Goes to the oldest live card of the chain that is not full. What goes over opens a new card where the program repeats (`overflow_transaction`, `overflow_card`), else it is dropped and a full card refuses.",
		(*store.Tx).Stamp, store.CardFullNoRepeat, store.SpendRequired, store.SpendNotEnabled, store.AmountBelowMinStamp)
	RedeemPrize = presentation("redeemPrize", "Redeem a prize", "One option per threshold and cycle. The highest threshold on a full card completes the cycle.",
		(*store.Tx).Redeem, store.ThresholdAlreadyClaimed)
	TopUpCard     = presentation("topUpCard", "Top up a prepaid card", "", (*store.Tx).TopUp)
	SpendFromCard = presentation("spendFromCard", "Spend from a prepaid card", "", (*store.Tx).Spend, store.PrepaidInsufficientBalance)
	UseCard       = presentation("useCard", "Use an access or discount card", "", (*store.Tx).Use)
)

// refusals are the codes that every action on a card may be refused with.
var refusals = codes(store.NotFound, store.Unprocessable, store.CardSuspended, store.Conflict, store.CardExpired)

func presentation[F any](id, title, doc string, act func(*store.Tx, store.Till, string, F) (store.Stamped, error), more ...store.Code) *kernel.Operation {
	return kernel.Write(kernel.Operation{ID: id, Group: "Cards", Title: title, Doc: doc, Callers: devices, Codes: slices.Concat(refusals, more)},
		wire.Create, func(tx *store.Tx, c *kernel.Call, f F) (store.Stamped, error) {
			return act(tx, c.Device.Till, c.Param("code"), f)
		})
}

// ReverseTransaction takes back a row of the ledger.
var ReverseTransaction = kernel.Write(kernel.Operation{ID: "reverseTransaction", Group: "Ledger", Title: "Reverse a transaction", Callers: devices,
	Codes: slices.Concat(refusals, codes(store.CannotReverseCompletedCycle, store.PrepaidInsufficientBalance)),
	Doc:   "Takes back a row of the device's own location, once. It is a correction and no presentation: it activates no card and lets no stamps expire. Either row of an overflow takes both back: the named one's reversal is `transaction`, the other's `overflow_transaction`."},
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.Metadata) (store.Stamped, error) {
		return tx.Reverse(c.Device.Till, c.Param("id"), f)
	})
