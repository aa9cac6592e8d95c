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
var GetDevice = declare(kernel.Operation{
	ID:      "getDevice",
	Group:   ownDevice,
	Title:   "Inspect the device",
	Callers: device,
	Read:    ofCaller((*store.View).TillMe),
})

// LookupCard returns the card of a code.
var LookupCard = declare(kernel.Operation{
	ID:    "lookupCard",
	Group: cards,
	Title: "Look a card up",
	Doc: "`code` is what the card's QR code holds, its short code, its id, or a handle of a search; it stands for the whole " +
		"chain of cards that overflowed from one another. Never writes.",
	Callers: device,
	Codes:   notFound,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (store.Lookup, error) {
		code := c.Param("code")
		l, err := v.Lookup(c.Till(), code)
		if err == nil && c.NamesHandle() {
			l.HeldCode = v.HoldCode(code)
		}
		return l, err
	}),
})

// CounterCard is the answer of IssueCardAtCounter.
type CounterCard struct {
	store.CounterCard
	InstallQRSVG string `json:"install_qr_svg" doc:"SVG markup of a QR code for install_url."`
}

// IssueCardAtCounter issues a card that is active at once.
var IssueCardAtCounter = declare(kernel.Operation{
	ID:      "issueCardAtCounter",
	Group:   cards,
	Title:   "Issue a card at the counter",
	Doc:     "The card is active at once.",
	Callers: device,
	Codes:   codes{store.NotFound, store.Unprocessable, store.Conflict},
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f store.CounterFields) (CounterCard, error) {
		out, err := tx.IssueAtCounter(c.Till(), c.Param("id"), f)
		if err != nil {
			return CounterCard{}, err
		}
		return CounterCard{CounterCard: tx.HandOver(c.Till(), out)}, nil
	}),
	Complete: kernel.Complete(func(c *CounterCard) (err error) {
		c.InstallQRSVG, err = qr.SVG(c.InstallURL)
		return err
	}),
	Repeat: kernel.Repeat(func(v *store.View, c *kernel.Call, f store.CounterFields) (out CounterCard, found, known bool, err error) {
		issued, found, err := v.RepeatedIssue(c.Till(), store.Repeat{Once: f.Once, Program: c.Param("id")})
		return CounterCard{CounterCard: v.HandOverAgain(issued)}, found, true, err
	}),
})

// StampCard gives stamps.
var StampCard = presentation(kernel.Operation{
	ID:    "stampCard",
	Title: "Give stamps",
	Doc: "Goes to the oldest live card of the chain that is not full. What goes over opens a new card where the program " +
		"repeats (`overflow_transaction`, `overflow_card`), else it is dropped and a full card refuses.",
	Codes: codes{store.CardFullNoRepeat, store.SpendRequired, store.SpendNotEnabled, store.AmountBelowMinStamp},
}, (*store.Tx).Stamp, store.TransactionStamp)

// RedeemPrize redeems a prize.
var RedeemPrize = presentation(kernel.Operation{
	ID:    "redeemPrize",
	Title: "Redeem a prize",
	Doc:   "One option per threshold and cycle. The highest threshold on a full card completes the cycle.",
	Codes: codes{store.ThresholdAlreadyClaimed},
}, (*store.Tx).Redeem, store.TransactionRedemption)

// TopUpCard adds money to a prepaid card.
var TopUpCard = presentation(kernel.Operation{
	ID:    "topUpCard",
	Title: "Top up a prepaid card",
}, (*store.Tx).TopUp, store.TransactionTopUp)

// SpendFromCard takes money from a prepaid card.
var SpendFromCard = presentation(kernel.Operation{
	ID:    "spendFromCard",
	Title: "Spend from a prepaid card",
	Codes: codes{store.PrepaidInsufficientBalance},
}, (*store.Tx).Spend, store.TransactionSpend)

// UseCard counts a visit with an access card, or the use of a discount.
var UseCard = presentation(kernel.Operation{
	ID:    "useCard",
	Title: "Use an access or discount card",
}, (*store.Tx).Use, store.TransactionAccess, store.TransactionDiscount)

// refusals are the codes with which every action on a card may be refused.
var refusals = codes{store.NotFound, store.Unprocessable, store.CardSuspended, store.Conflict, store.CardExpired}

// presentation returns the operation of an action on a card that is presented at a till. d says
// what is special about it, and types are those of the rows that it writes.
func presentation[F interface{ Reference() store.Once }](
	d kernel.Operation,
	act func(*store.Tx, store.Till, string, F) (store.Stamped, error),
	types ...string,
) *kernel.Operation {
	d.Group = cards
	d.Callers = device
	d.Codes = slices.Concat(refusals, d.Codes)
	d.Write = withParam("code", act)
	d.Repeat = kernel.Repeat(func(v *store.View, c *kernel.Call, f F) (out store.Stamped, found, known bool, err error) {
		return v.Repeated(c.Till(), store.Repeat{Once: f.Reference(), Types: types, Code: c.Param("code")})
	})
	return declare(d)
}

// ReverseTransaction reverses a row of the ledger.
var ReverseTransaction = declare(kernel.Operation{
	ID:    "reverseTransaction",
	Group: ledger,
	Title: "Reverse a transaction",
	Doc: "Takes back a row of the device's own location, once. `id` is that of the row, or the `client_reference` of the write " +
		"that made it. It is a correction and no presentation: it activates no card and lets no stamps expire. Either row of " +
		"an overflow takes both back: the named one's reversal is `transaction`, the other's `overflow_transaction`.",
	Callers: device,
	Codes:   slices.Concat(refusals, codes{store.CannotReverseCompletedCycle, store.PrepaidInsufficientBalance}),
	Write:   withID((*store.Tx).Reverse),
	Repeat: kernel.Repeat(func(v *store.View, c *kernel.Call, f store.UseFields) (out store.Stamped, found, known bool, err error) {
		return v.Repeated(c.Till(), store.Repeat{Once: f.Once, Types: []string{store.TransactionReversal}, Reverses: c.Param("id")})
	}),
})

// DeviceTransactionsQuery is the query of ListDeviceTransactions.
type DeviceTransactionsQuery struct {
	Limit store.Opt[int64] `json:"limit" min:"1" max:"50" doc:"Default 50."`
}

// ListDeviceTransactions lists the latest rows of the device itself.
var ListDeviceTransactions = declare(kernel.Operation{
	ID:      "listDeviceTransactions",
	Group:   ledger,
	Title:   "List the device's latest transactions",
	Doc:     "Newest first; those that other devices and people made are left out. Never writes.",
	Callers: device,
	Read: kernel.Read(func(v *store.View, c *kernel.Call, q DeviceTransactionsQuery) (List[store.TillRow], error) {
		return list(v.TillTransactions(c.Till(), int(q.Limit.Or(50))))
	}),
})

// GetDeviceDay returns what the device did so far today.
var GetDeviceDay = declare(kernel.Operation{
	ID:    "getDeviceDay",
	Group: ledger,
	Title: "Read what the device did today",
	Doc: "By the shop's calendar. Rows that were reversed are in no sum, and a stamp that was sent later is of the day on which " +
		"it was given. The amounts are in the shop's currency. Never writes.",
	Callers: device,
	Read:    ofCaller((*store.View).TillToday),
})

// TillSearchQuery is the query of SearchAtTill.
type TillSearchQuery struct {
	Q store.Opt[string] `json:"q" req:"true" min:"3" max:"254" doc:"Beginnings of words of the holder's name, the beginning of an email, a phone number or its last 4 or more digits, or a whole external_ref or code."`
}

// Check validates the length of the search without blanks around it.
func (q TillSearchQuery) Check(store.Time) []store.Detail {
	if utf8.RuneCountInString(q.Q.V) >= 3 && utf8.RuneCountInString(strings.TrimSpace(q.Q.V)) < 3 {
		return []store.Detail{{Field: "q", Code: wire.CodeTooShort, Message: "must be at least 3 characters"}}
	}
	return nil
}

// SearchAtTill finds cards for a member of staff. Each search is audited.
var SearchAtTill = declare(kernel.Operation{
	ID:    "searchAtTill",
	Group: cards,
	Title: "Search for a card",
	Doc: "Needs a staff session. At most five cards, each with a handle that stands for it as `code` for five minutes, together " +
		"with the same `X-Staff-Session`. A device may search 20 times a minute and 200 times a day.",
	Callers:      device,
	Codes:        codes{store.InvalidCredentials},
	StaffSession: true,
	Read: kernel.Read(func(v *store.View, c *kernel.Call, q TillSearchQuery) (List[store.TillFound], error) {
		found, err := v.TillSearch(c.Access.Shop, q.Q.V)
		for i := range found {
			found[i].Email.V = kernel.MaskAddress(found[i].Email.V)
			found[i].Phone.V = kernel.MaskAddress(found[i].Phone.V)
			found[i].Handle = c.HoldCard(found[i].Code)
		}
		return list(found, err)
	}),
	WriteBefore: kernel.WriteBefore(func(_ *store.View, c *kernel.Call, _ TillSearchQuery) (func(*store.Tx) error, error) {
		return func(tx *store.Tx) error { return tx.AuditTillSearch(c.Till()) }, c.CountSearch()
	}),
})
