package operation

import (
	"slices"
	"strings"
	"unicode/utf8"

	"punchcard/server/kernel"
	"punchcard/server/qr"
	"punchcard/server/wire"
	"punchcard/store"
)

// GetDevice describes the device that calls it.
var GetDevice = kernel.Read(ownDevice.only(device, "getDevice", "Inspect the device", ""),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.TillMe, error) {
		return v.TillMe(c.Till())
	})

// LookupCard returns the card of a code.
var LookupCard = kernel.Read(
	cards.only(device, "lookupCard", "Look a card up",
		"`code` is what the card's QR code holds, its short code, its id, or a handle of a search; it stands for the whole chain of cards that overflowed from one another. Never writes.",
		store.NotFound),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.Lookup, error) {
		code := c.Param("code")
		l, err := v.Lookup(c.Till(), code)
		if err == nil && c.NamesHandle() {
			l.HeldCode = v.HoldCode(code)
		}
		return l, err
	})

// CounterCard is the answer of IssueCardAtCounter.
type CounterCard struct {
	store.CounterCard
	InstallQRSVG string `json:"install_qr_svg" doc:"SVG markup of a QR code for install_url."`
}

// IssueCardAtCounter issues a card that is active at once.
var IssueCardAtCounter = kernel.Complete(kernel.Repeatable(kernel.Write(
	cards.only(device, "issueCardAtCounter", "Issue a card at the counter",
		"The card is active at once.",
		store.NotFound, store.Unprocessable, store.Conflict),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.CounterFields) (store.CounterCard, error) {
		out, err := tx.IssueAtCounter(c.Till(), c.Param("id"), f)
		return tx.Hold(out), err
	}), func(v *store.View, c *kernel.Call, f store.CounterFields) (out store.CounterCard, found, known bool, err error) {
	issued, found, err := v.RepeatedIssue(c.Till(), store.Repeat{Once: f.Once, Program: c.Param("id")})
	return v.Hold(issued), found, true, err
}), func(c store.CounterCard) (CounterCard, error) {
	svg, err := qr.SVG(c.InstallURL)
	return CounterCard{c, svg}, err
})

// The actions on a card that is presented at a till.
var (
	StampCard = presentation("stampCard", "Give stamps", "Goes to the oldest live card of the chain that is not full. What goes over opens a new card where the program repeats (`overflow_transaction`, `overflow_card`), else it is dropped and a full card refuses.",
		(*store.Tx).Stamp, []string{store.TransactionStamp}, store.CardFullNoRepeat, store.SpendRequired, store.SpendNotEnabled, store.AmountBelowMinStamp)
	RedeemPrize = presentation("redeemPrize", "Redeem a prize", "One option per threshold and cycle. The highest threshold on a full card completes the cycle.",
		(*store.Tx).Redeem, []string{store.TransactionRedemption}, store.ThresholdAlreadyClaimed)
	TopUpCard     = presentation("topUpCard", "Top up a prepaid card", "", (*store.Tx).TopUp, []string{store.TransactionTopUp})
	SpendFromCard = presentation("spendFromCard", "Spend from a prepaid card", "", (*store.Tx).Spend, []string{store.TransactionSpend}, store.PrepaidInsufficientBalance)
	UseCard       = presentation("useCard", "Use an access or discount card", "", (*store.Tx).Use, []string{store.TransactionAccess, store.TransactionDiscount})
)

// refusals are the codes with which every action on a card may be refused.
var refusals = []store.Code{store.NotFound, store.Unprocessable, store.CardSuspended, store.Conflict, store.CardExpired}

// presentation returns the operation of an action on a presented card. types are those of the
// rows that it writes.
func presentation[F interface{ Reference() store.Once }](id, title, doc string, act func(*store.Tx, store.Till, string, F) (store.Stamped, error), types []string, more ...store.Code) *kernel.Operation {
	return kernel.Repeatable(kernel.Write(cards.only(device, id, title, doc, slices.Concat(refusals, more)...),
		wire.Create, func(tx *store.Tx, c *kernel.Call, f F) (store.Stamped, error) {
			return act(tx, c.Till(), c.Param("code"), f)
		}), func(v *store.View, c *kernel.Call, f F) (out store.Stamped, found, known bool, err error) {
		return v.Repeated(c.Till(), store.Repeat{Once: f.Reference(), Types: types, Code: c.Param("code")})
	})
}

// ReverseTransaction reverses a row of the ledger.
var ReverseTransaction = kernel.Repeatable(kernel.Write(
	ledger.only(device, "reverseTransaction", "Reverse a transaction",
		"Takes back a row of the device's own location, once. `id` is that of the row, or the `client_reference` of the write that made it. It is a correction and no presentation: it activates no card and lets no stamps expire. Either row of an overflow takes both back: the named one's reversal is `transaction`, the other's `overflow_transaction`.",
		slices.Concat(refusals, []store.Code{store.CannotReverseCompletedCycle, store.PrepaidInsufficientBalance})...),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.UseFields) (store.Stamped, error) {
		return tx.Reverse(c.Till(), c.Param("id"), f)
	}), func(v *store.View, c *kernel.Call, f store.UseFields) (out store.Stamped, found, known bool, err error) {
	return v.Repeated(c.Till(), store.Repeat{Once: f.Once, Types: []string{store.TransactionReversal}, Reverses: c.Param("id")})
})

// DeviceTransactionsQuery is the query of ListDeviceTransactions.
type DeviceTransactionsQuery struct {
	Limit store.Opt[int64] `json:"limit" min:"1" max:"50" doc:"Default 50."`
}

// ListDeviceTransactions lists the latest rows of the device itself.
var ListDeviceTransactions = kernel.Read(
	ledger.only(device, "listDeviceTransactions", "List the device's latest transactions", "Newest first; those that other devices and people made are left out. Never writes."),
	func(v *store.View, c *kernel.Call, q DeviceTransactionsQuery) (List[store.TillRow], error) {
		all, err := v.TillTransactions(c.Till(), int(q.Limit.Or(50)))
		return List[store.TillRow]{all}, err
	})

// TillSearchQuery is the query of SearchAtTill.
type TillSearchQuery struct {
	Q store.Opt[string] `json:"q" req:"true" min:"3" max:"254" doc:"Beginnings of words of the holder's name, or a whole address, external_ref or code."`
}

// Check validates the length of the search without blanks around it.
func (q TillSearchQuery) Check(store.Time) []store.Detail {
	if utf8.RuneCountInString(q.Q.V) >= 3 && utf8.RuneCountInString(strings.TrimSpace(q.Q.V)) < 3 {
		return []store.Detail{{Field: "q", Code: wire.CodeTooShort, Message: "must be at least 3 characters"}}
	}
	return nil
}

// staffed returns the operation with the demand of a staff session.
func staffed(op kernel.Operation) kernel.Operation {
	op.StaffSession = true
	return op
}

// SearchAtTill finds cards for a member of staff. Each search is audited.
var SearchAtTill = kernel.Audited(kernel.Read(
	staffed(cards.only(device, "searchAtTill", "Search for a card",
		"Needs a staff session. At most five cards, each with a handle that stands for it as `code` for five minutes, together with the same `X-Staff-Session`. A device may search 20 times a minute and 200 times a day.",
		store.InvalidCredentials)),
	func(v *store.View, c *kernel.Call, q TillSearchQuery) (List[store.TillFound], error) {
		found, err := v.TillSearch(c.Access.Shop, q.Q.V)
		for i := range found {
			found[i].Email.V = kernel.MaskAddress(found[i].Email.V)
			found[i].Handle = c.HoldCard(found[i].Code)
		}
		return List[store.TillFound]{found}, err
	}),
	func(c *kernel.Call, _ TillSearchQuery) func(*store.Tx) error {
		if err := c.CountSearch(); err != nil {
			return func(*store.Tx) error { return err }
		}
		return func(tx *store.Tx) error { return tx.AuditTillSearch(c.Till()) }
	})
