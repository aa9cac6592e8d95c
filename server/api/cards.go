package api

import (
	"bytes"
	"reflect"

	"punchcard/server/kernel"
	"punchcard/server/qr"
	"punchcard/server/wire"
	"punchcard/store"
)

// CardsQuery is the query of GET /cards.
type CardsQuery struct {
	store.PageQuery
	store.CardFilter
}

// IssuedCard is the answer of whatever makes an install link.
type IssuedCard struct {
	store.IssuedCard
	InstallQRSVG string `json:"install_qr_svg" doc:"SVG markup of a QR code for install_url."`
}

// WithPicture has a route that answers an issued card draw its QR code.
var WithPicture = kernel.Finished(reflect.TypeFor[IssuedCard](), AddQRCode)

// AddQRCode completes a stored or fresh card answer with the picture of its
// install URL, which is drawn each time and never kept.
func AddQRCode(body []byte) ([]byte, error) {
	const field = `"install_url":"`
	i := bytes.LastIndex(body, []byte(field))
	if i < 0 {
		return body, nil
	}
	url, _, _ := bytes.Cut(body[i+len(field):], []byte(`"`))
	svg, err := qr.SVG(string(url))
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(body)+len(svg)+32)
	out = append(append(out, body[:len(body)-1]...), `,"install_qr_svg":`...)
	return append(wire.AppendString(out, svg), '}'), nil
}

var cards = []kernel.Route{
	do(post, "/programs/:id/cards", "issueCard", "Cards", "cards:write", "Issue a card", created,
		kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, b store.CardFields) (store.IssuedCard, error) {
			return tx.IssueCard(c.Access, c.Param("id"), b, store.SourceAPI)
		}), WithPicture, codes(store.NotFound, store.Conflict, store.Unprocessable), doc("The program must be published and not suspended, the shop below its max_cards. An external_ref has at most one live card (invited, active, locked) per program: conflict otherwise. The card is `invited` until it is installed or presented. A restricted key may issue where the program's scope is all locations or meets its own; else 403.")),
	get("/cards", "listCards", "Cards", "cards:read", "List cards",
		kernel.Read(func(v *store.View, c *kernel.Call, q CardsQuery) (store.Page[store.Card], error) {
			return v.Cards(c.Access, q.CardFilter, q.PageQuery)
		}), doc("Newest first. A page may be shorter than limit, even empty, while next_cursor is not null: the server visits a bounded number of rows.")),
	get("/cards/:id", "getCard", "Cards", "cards:read", "Read a card",
		kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (store.CardDetail, error) {
			return v.Card(c.Access, c.Param("id"))
		}), codes(store.NotFound)),
	do(patch, "/cards/:id", "updateCard", "Cards", "cards:write", "Update a card", ok,
		kernel.Write(wire.Patch, func(tx *store.Tx, c *kernel.Call, b store.CardPatch) (store.CardDetail, error) {
			return tx.UpdateCard(c.Access, c.Param("id"), b)
		}), codes(store.NotFound, store.Conflict, store.CardLocked, store.CardExpired, store.Unprocessable), doc("Null clears a field. An installed card's holder fields and expiry are frozen (card_locked), its external_ref is not. An expired card comes back with a future or null expires_at.")),
	do(post, "/cards/:id/reissue", "reissueCard", "Cards", "cards:write", "Reissue a card", ok,
		kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, b store.ReissueFields) (store.IssuedCard, error) {
			return tx.ReissueCard(c.Access, c.Param("id"), b)
		}), WithPicture, codes(store.NotFound, store.Conflict, store.Unprocessable), doc("Same id, ledger, stamps and balance; the old QR code and install links die and the status becomes `invited`.")),
	do(post, "/cards/:id/install-link", "createInstallLink", "Cards", "cards:write", "Make a new install link", ok,
		kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, b store.LinkFields) (store.IssuedCard, error) {
			return tx.NewInstallLink(c.Access, c.Param("id"), b)
		}), WithPicture, codes(store.NotFound, store.Conflict, store.CardLocked, store.CardExpired, store.Unprocessable), doc("For a card that is not installed (else card_locked). The earlier link ends.")),
}
