package store

import (
	"fmt"
	"slices"
	"strings"
)

// The bounds of the barcodes of earlier cards.
const (
	maxForeignCodes      = 5 // of a chain
	maxForeignCodeLength = 64
)

// parseForeignCode returns the form in which the barcode of an earlier card is stored and looked up.
// ok is false if it is not one, or if no till can ask for it: an address has no segment of one or two points, and the beginning of
// an id names a card by its id. Of UPC-A it is EAN-13, as which scanners may read the same bars.
func parseForeignCode(text string) (code string, ok bool) {
	code = strings.Trim(text, " ")
	switch {
	case code == "", len(code) > maxForeignCodeLength, strings.IndexFunc(code, func(r rune) bool { return r < ' ' || r > '~' }) >= 0,
		code == ".", code == "..", isCardID(code):
		return "", false
	case isUPCA(code):
		return "0" + code, true
	}
	return code, true
}

// isUPCA reports whether a code has the form of UPC-A: eleven digits and their check digit.
func isUPCA(code string) bool {
	if len(code) != 12 || strings.Trim(code, "0123456789") != "" {
		return false
	}
	sum := 0
	for i, c := range code {
		weight := 3
		if i%2 == 1 {
			weight = 1
		}
		sum += weight * int(c-'0')
	}
	return sum%10 == 0
}

// parseForeignCodes returns the codes in the form in which they are stored, each once and in order.
func parseForeignCodes(texts []string) (codes []string, faults []Detail) {
	codes = []string{}
	for i, text := range texts {
		code, ok := parseForeignCode(text)
		switch {
		case !ok:
			faults = append(faults, invalidForeignCode(fmt.Sprintf("codes.%d", i)))
		case !slices.Contains(codes, code):
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	return codes, faults
}

func invalidForeignCode(field string) Detail {
	return Detail{field, "invalid_format", fmt.Sprintf("must be 1 to %d printable ASCII characters", maxForeignCodeLength)}
}

// foreignCodes returns the codes of earlier cards of a chain, in order.
func (q *queries) foreignCodes(root int64) []string {
	return collect(q, (*rows).str, "SELECT barcode FROM foreign_codes WHERE card_id=? ORDER BY shop_id, barcode", root)
}

// foreignCodeCard returns the root of the chain that has the code of an earlier card, or 0. A chain that is archived has
// its codes until another card gets them, and is not found by them.
func (q *queries) foreignCodeCard(shop int64, text string) int64 {
	code, ok := parseForeignCode(text)
	if !ok {
		return 0
	}
	return q.number(`SELECT ifnull((SELECT card_id FROM foreign_codes WHERE shop_id=? AND barcode=?
		AND EXISTS (SELECT 1 FROM cards c WHERE (c.id=card_id OR c.root_id=card_id) AND c.archived_at IS NULL)), 0)`, shop, code)
}

// addForeignCode gives a chain a code, unless a card of the shop has it, also as its short code.
func (tx *Tx) addForeignCode(shop, root int64, code string) error {
	short := Null[string]{normalizeCode(code), IsShortCode(code)}
	if tx.foreignCodeCard(shop, code)+tx.number("SELECT count(*) FROM cards WHERE shop_id=? AND short_code=?", shop, short) > 0 {
		return refuse(Conflict, "Another card has the code %s.", code)
	}
	tx.exec("DELETE FROM foreign_codes WHERE shop_id=? AND barcode=?", shop, code) // of an archived card
	tx.exec("INSERT INTO foreign_codes (shop_id, barcode, card_id, short_form) VALUES (?,?,?,?)", shop, code, root, short)
	return tx.failed
}

// checkForeignUse refuses to give out a prize or money, or to say whose a card is, by the code of an earlier card where nobody proves
// to be staff. These codes are numbered in sequence, so that anybody can print another one, and links of cards go to the holder's email.
func (tx *Tx) checkForeignUse(chain *cardChain) error {
	if !chain.foreign || chain.Staff.Key != 0 ||
		tx.number("SELECT require_staff_pin FROM locations WHERE id=?", chain.Location) == 1 {
		return tx.failed
	}
	return refuse(Unprocessable, "The code of an earlier card takes a prize, money or a holder only where staff sign in or the location "+
		"asks for its PIN. Set a PIN for the location, sign in, or use the card's own code.")
}

// ConnectFields is the body of giving a card the code of an earlier one.
type ConnectFields struct {
	Code Opt[string] `json:"code" req:"true" min:"1" max:"64" doc:"The barcode of an earlier plastic card: printable ASCII characters, unique in the shop."`
}

// Connected is a card that was given a code.
type Connected struct {
	Card  CardDetail `json:"card"`
	Codes []string   `json:"codes" doc:"All codes of earlier cards that the card has."`
}

// ConnectCode gives a card that is presented at a till the code of an earlier card. It changes
// nothing if the card has the code already.
func (tx *Tx) ConnectCode(till Till, text string, f ConnectFields) (out Connected, err error) {
	code, ok := parseForeignCode(f.Code.V)
	if !ok {
		return out, Invalid(invalidForeignCode("code"))
	}
	chain, err := tx.chainForAction(till, text, Once{}, programTypes...)
	if err != nil {
		return out, err
	}
	root := chain.first.key
	out.Codes = tx.foreignCodes(root)
	if !slices.Contains(out.Codes, code) {
		if len(out.Codes) >= maxForeignCodes {
			return out, refuse(Conflict, "The card has %d codes of earlier cards, which is the maximum.", maxForeignCodes)
		}
		if err = tx.addForeignCode(till.Shop, root, code); err != nil {
			return out, err
		}
		tx.audit(till.Shop, "card.contact", KindCard, root)
		tx.cardChanged(root)
		out.Codes = append(out.Codes, code)
		slices.Sort(out.Codes)
	}
	tx.touchCard(root)
	out.Card = chain.cardDetail(chain.nextToStamp(), tx.cachedLocations(till.Shop))
	return out, tx.failed
}
