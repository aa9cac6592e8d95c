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

// withQRCode adds the QR code of the install URL to an operation's answer. It is
// drawn for each answer and never stored.
func withQRCode(op *kernel.Operation) *kernel.Operation {
	return kernel.Complete(op, func(c store.IssuedCard) (IssuedCard, error) {
		svg, err := qr.SVG(c.InstallURL)
		return IssuedCard{c, svg}, err
	})
}

// IssueCard issues a card of a published program.
var IssueCard = withQRCode(kernel.Write(
	assisted(cards.manages("issueCard", "Issue a card",
		"The program must be published and not suspended, the shop below its max_cards. An external_ref has at most one live card (invited, active, locked) per program: conflict otherwise. The card is `invited` until it is installed or presented. A restricted key may issue where the program's scope is all locations or meets its own; else 403.",
		store.NotFound, store.Conflict, store.Unprocessable)),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.CardFields) (store.IssuedCard, error) {
		return tx.IssueCard(c.Access, c.Param("id"), f, store.SourceAPI)
	}))

// IssueBlankCards issues cards without a holder, to be printed.
var IssueBlankCards = kernel.Write(
	cards.only(manager, "issueBlankCards", "Issue blank cards", "", store.NotFound, store.Unprocessable),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.BlankFields) (store.BlankCards, error) {
		return tx.IssueBlankCards(c.Access.Shop, c.Param("id"), f)
	})

// CardsQuery is the query of ListCards.
type CardsQuery struct {
	store.PageQuery
	store.CardFilter
}

// ListCards lists the cards of the shop.
var ListCards = kernel.Read(
	cards.reads("listCards", "List cards",
		"Newest first. A page may be shorter than limit, even empty, while next_cursor is not null: the server visits a bounded number of rows."),
	func(v *store.View, c *kernel.Call, q CardsQuery) (store.Page[store.Card], error) {
		return v.Cards(c.Access, q.CardFilter, q.PageQuery)
	})

// GetCard returns one card.
var GetCard = kernel.Read(cards.reads("getCard", "Read a card", "", store.NotFound), byID((*store.View).Card))

// UpdateCard changes a card's holder, reference or expiry.
var UpdateCard = kernel.Write(
	assisted(cards.manages("updateCard", "Update a card",
		"Null clears a field. An installed card's holder fields and expiry are frozen (card_locked), its external_ref is not. An expired card comes back with a future or null expires_at.",
		store.NotFound, store.Conflict, store.CardLocked, store.CardExpired, store.Unprocessable)),
	wire.Patch, withID((*store.Tx).UpdateCard))

// ReissueCard gives a card a new code and a new install link.
var ReissueCard = withQRCode(kernel.Write(
	assisted(cards.manages("reissueCard", "Reissue a card",
		"Same id, ledger, stamps and balance; the old QR code and install links die and the status becomes `invited`. An expired card gets the given expires_at, else a fresh default, else none. The program must not be suspended.",
		store.NotFound, store.Conflict, store.Unprocessable)),
	wire.Create, withID((*store.Tx).ReissueCard)))

// CreateInstallLink replaces the install link of a card that is not installed.
var CreateInstallLink = withQRCode(kernel.Write(
	cards.manages("createInstallLink", "Make a new install link",
		"For a card that is not installed (else card_locked), not locked (else conflict), of a program that is not suspended. The earlier link ends.",
		store.NotFound, store.Conflict, store.CardLocked, store.CardExpired, store.Unprocessable),
	wire.Create, withID((*store.Tx).NewInstallLink)))

// EnrollCard issues a card by web enrolment.
var EnrollCard = withQRCode(kernel.Write(cards.only(operator, "enrollCard", "Enrol a holder", "", store.NotFound, store.Conflict, store.Unprocessable),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f store.CardFields) (store.IssuedCard, error) {
		return tx.IssueCard(c.Access, c.Param("id"), f, store.SourceWebEnrollment)
	}))

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

// EraseCard erases the person of a card.
var EraseCard = kernel.Write(proved(cards.only(manager, "eraseCard", "Erase the person of a card", "", store.NotFound, store.Conflict)),
	wire.Create, inShop(func(tx *store.Tx, shop int64, id string) (kernel.None, error) {
		return kernel.None{}, tx.EraseCard(shop, id)
	}))

// cardAction returns the operation of an action on a card.
func cardAction[O any](id, title string, act func(*store.Tx, int64, string) (O, error)) *kernel.Operation {
	return kernel.Write(cards.only(manager, id, title, "", store.NotFound, store.Conflict),
		wire.Create, inShop(act))
}
