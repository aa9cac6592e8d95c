package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/qr"
	"punchcard/server/wire"
	"punchcard/store"
)

// IssuedCard is the answer of operations that create an install link.
type IssuedCard struct {
	store.IssuedCard
	InstallQRSVG string `json:"install_qr_svg" doc:"SVG markup of a QR code for install_url."`
}

// drawInstallQR adds the QR code of the install URL. It is drawn for each answer and never
// stored.
func drawInstallQR(c *IssuedCard) (err error) {
	c.InstallQRSVG, err = qr.SVG(c.InstallURL)
	return err
}

// issuing writes by f, as withID does, and answers with the card that f has issued.
func issuing[F any](f func(*store.Tx, store.Access, string, F) (store.IssuedCard, error)) kernel.Writing {
	return kernel.Write(func(tx *store.Tx, c *kernel.Call, fields F) (made IssuedCard, err error) {
		made.IssuedCard, err = f(tx, c.Access, c.Param("id"), fields)
		return made, err
	})
}

// issuingFrom issues a card of a program whose source is the given one.
func issuingFrom(source string) kernel.Writing {
	return issuing(func(tx *store.Tx, a store.Access, program string, f store.CardFields) (store.IssuedCard, error) {
		return tx.IssueCard(a, program, f, source)
	})
}

// IssueCard issues a card of a published program.
var IssueCard = declare(kernel.Operation{
	ID:    "issueCard",
	Group: cards,
	Title: "Issue a card",
	Doc: "The program must be published and not suspended, the shop below its max_cards. An external_ref has at most one live " +
		"card (invited, active, locked) per program: conflict otherwise. The card is `invited` until it is installed or " +
		"presented. A restricted key may issue where the program's scope is all locations or meets its own; else 403.",
	Callers:  assisted(writers("cards")),
	Codes:    notFoundConflictOrUnprocessable,
	Write:    issuingFrom(store.SourceAPI),
	Complete: kernel.Complete(drawInstallQR),
})

// IssueBlankCards issues cards without a holder, to be printed.
var IssueBlankCards = declare(kernel.Operation{
	ID:      "issueBlankCards",
	Group:   cards,
	Title:   "Issue blank cards",
	Callers: manager,
	Codes:   notFoundOrUnprocessable,
	Write:   withID((*store.Tx).IssueBlankCards),
})

// ListCards lists the cards of the shop.
var ListCards = declare(kernel.Operation{
	ID:    "listCards",
	Group: cards,
	Title: "List cards",
	Doc: "Newest first. A page may be shorter than limit, even empty, while next_cursor is not null: the server visits a " +
		"bounded number of rows.",
	Callers: readers("cards"),
	Read:    query((*store.View).Cards),
})

// GetCard returns one card.
var GetCard = declare(kernel.Operation{
	ID:      "getCard",
	Group:   cards,
	Title:   "Read a card",
	Callers: readers("cards"),
	Codes:   notFound,
	Read:    byID((*store.View).Card),
})

// UpdateCard changes a card's holder, reference or expiry.
var UpdateCard = declare(kernel.Operation{
	ID:    "updateCard",
	Group: cards,
	Title: "Update a card",
	Doc: "Null clears a field. An installed card's holder fields and expiry are frozen (card_locked), its external_ref is not. " +
		"An expired card comes back with a future or null expires_at.",
	Callers: assisted(writers("cards")),
	Codes:   codes{store.NotFound, store.Conflict, store.CardLocked, store.CardExpired, store.Unprocessable},
	Mode:    wire.Patch,
	Write:   withID((*store.Tx).UpdateCard),
})

// ReissueCard gives a card a new code and a new install link.
var ReissueCard = declare(kernel.Operation{
	ID:    "reissueCard",
	Group: cards,
	Title: "Reissue a card",
	Doc: "Same id, ledger, stamps and balance; the old QR code, install links and codes of earlier plastic cards die and the " +
		"status becomes `invited`. An expired card gets the given expires_at, else a fresh default, else none. " +
		"The program must not be suspended.",
	Callers:  assisted(writers("cards")),
	Codes:    notFoundConflictOrUnprocessable,
	Write:    issuing((*store.Tx).ReissueCard),
	Complete: kernel.Complete(drawInstallQR),
})

// CreateInstallLink replaces the install link of a card that is not installed.
var CreateInstallLink = declare(kernel.Operation{
	ID:    "createInstallLink",
	Group: cards,
	Title: "Make a new install link",
	Doc: "For a card that is not installed (else card_locked), not locked (else conflict), of a program that is not suspended. " +
		"The earlier link ends.",
	Callers:  writers("cards"),
	Codes:    codes{store.NotFound, store.Conflict, store.CardLocked, store.CardExpired, store.Unprocessable},
	Write:    issuing((*store.Tx).NewInstallLink),
	Complete: kernel.Complete(drawInstallQR),
})

// EnrollCard issues a card by web enrolment.
var EnrollCard = declare(kernel.Operation{
	ID:       "enrollCard",
	Group:    cards,
	Title:    "Enrol a holder",
	Callers:  operator,
	Codes:    notFoundConflictOrUnprocessable,
	Write:    issuingFrom(store.SourceWebEnrollment),
	Complete: kernel.Complete(drawInstallQR),
})

// The actions on a card that only persons may take. Each of them, and EraseCard, applies to the whole chain
// of cards that overflowed from one another.
var (
	LockCard = cardAction("lockCard", "Lock a card", func(tx *store.Tx, shop int64, id string) (store.CardDetail, error) {
		return tx.SetCardLocked(shop, id, true)
	})
	UnlockCard = cardAction("unlockCard", "Unlock a card", func(tx *store.Tx, shop int64, id string) (store.CardDetail, error) {
		return tx.SetCardLocked(shop, id, false)
	})
	ArchiveCard = cardAction("archiveCard", "Archive a card", (*store.Tx).ArchiveCard)
)

// AdjustCard corrects the stamps or the balance of a card.
var AdjustCard = declare(kernel.Operation{
	ID:    "adjustCard",
	Group: cards,
	Title: "Adjust a card",
	Doc: "Gives or takes stamps or money, also on locked and expired cards. No card is presented: nothing is activated, and no " +
		"figure of visits, stamps or sales counts the row, which cannot be reversed.",
	Callers: manager,
	Codes: codes{
		store.NotFound, store.Conflict, store.Unprocessable, store.CardFullNoRepeat, store.PrepaidInsufficientBalance,
		store.SubscriptionSuspended,
	},
	Write: withID((*store.Tx).AdjustCard),
})

// MergeCards merges two cards of one program.
var MergeCards = declare(kernel.Operation{
	ID:    "mergeCards",
	Group: cards,
	Title: "Merge two cards",
	Doc: "The open stamps or the balance of the second card move to the first by adjustments, as do the codes of earlier cards; the " +
		"first gets what it does not know about the holder, and the second is archived.",
	Callers: manager,
	Codes: codes{
		store.NotFound, store.Conflict, store.Unprocessable, store.PrepaidInsufficientBalance, store.SubscriptionSuspended,
	},
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f store.MergeFields) (store.Merged, error) {
		return tx.MergeCards(c.Access.Shop, c.Param("id"), c.Param("gone"), f)
	}),
})

// EraseCard erases the person of a card.
var EraseCard = declare(kernel.Operation{
	ID:      "eraseCard",
	Group:   cards,
	Title:   "Erase the person of a card",
	Callers: manager,
	Codes:   notFoundOrConflict,
	Proof:   true,
	Write:   removal((*store.Tx).EraseCard),
})

// EraseCards erases the person of several cards of a customer.
var EraseCards = declare(kernel.Operation{
	ID:      "eraseCards",
	Group:   cards,
	Title:   "Erase the person of several cards of a customer",
	Callers: manager,
	Codes:   notFoundOrConflict,
	Proof:   true,
	Write: silent(func(tx *store.Tx, c *kernel.Call, f store.EraseFields) error {
		return tx.EraseCards(c.Access.Shop, c.Param("id"), f)
	}),
})

// cardAction returns the operation of an action on a card.
func cardAction[O any](id, title string, act func(*store.Tx, int64, string) (O, error)) *kernel.Operation {
	return declare(kernel.Operation{
		ID:      id,
		Group:   cards,
		Title:   title,
		Callers: manager,
		Codes:   notFoundOrConflict,
		Write:   change(act),
	})
}
