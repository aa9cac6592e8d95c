package store

import (
	"errors"
	"strings"
)

// shortCodeLen is the length of a short code in characters.
const shortCodeLen = 8

// cardCode returns the content of a card's QR code. It names the chain and is valid
// until the next reissue.
func (s *Store) cardCode(root, generation int64) string {
	return string(s.seal(nil, kindCode, uint64(generation), root))
}

// typedCode removes spaces and hyphens from a typed code, and replaces letters that
// codes do not contain by the digits that they look like.
var typedCode = strings.NewReplacer(" ", "", "-", "", "o", "0", "i", "1", "l", "1")

// heldDays is how many days a held code names its card: longer than a till may send a stamp
// late, and longer than the till page keeps what was acknowledged.
const heldDays = 8

// The layout of what a held code has beside the key of the chain: the generation of the
// codes, and the last day in days since 1970.
const (
	heldDayBits       = 24
	maxHeldGeneration = 1 << (56 - heldDayBits) // generations are below it
)

// HoldCode returns a held code of the chain that the content of a QR code names: it stands
// for the card in writes of the shop's tills for eight days, and ends with the next reissue.
// A till that found the card by a search, and so knows none of its codes, can send a write
// later with it. The text is empty for any other text than the content of a QR code.
func (q *queries) HoldCode(code string) string {
	generation, root, ok := q.openAny(kindCode, code)
	if !ok || generation >= maxHeldGeneration {
		return ""
	}
	return string(q.seal(nil, kindHeldCode, generation<<heldDayBits|uint64(Day(q.Now.Std())+heldDays), root))
}

// CounterCard is a card that a till has issued. Its codes end with the first reissue.
type CounterCard struct {
	IssuedCard
	HeldCode  string `json:"held_code" doc:"Stands for the card as code in writes, for eight days or until the card is reissued."`
	ShortCode string `json:"short_code" doc:"Stands for the card as code; eight characters to be written down for the customer. Empty once the card was reissued."`
}

// HandOver returns a card that a till issues, with the codes that it has until the first reissue.
func (tx *Tx) HandOver(till Till, c IssuedCard) CounterCard {
	tx.shortCode(till.Shop, tx.keyOrNone(KindCard, c.ID))
	return tx.HandOverAgain(c)
}

// HandOverAgain does the same for a card that a till has issued.
func (q *queries) HandOverAgain(c IssuedCard) CounterCard {
	key := q.keyOrNone(KindCard, c.ID)
	out := CounterCard{IssuedCard: c, HeldCode: q.HoldCode(q.s.cardCode(key, 0))}
	q.one(into(&out.ShortCode), "SELECT ifnull(short_code, '') FROM cards WHERE id=? AND code_generation=0", key)
	return out
}

// heldCode returns the content of the QR code for which a held code stands, or the text
// itself.
func (q *queries) heldCode(text string) string {
	extra, root, ok := q.openAny(kindHeldCode, text)
	if !ok || Day(q.Now.Std()) > int64(extra&(1<<heldDayBits-1)) {
		return text
	}
	return q.s.cardCode(root, int64(extra>>heldDayBits))
}

// normalizeCode returns the form of a code that the store compares: people type
// codes in capitals, in groups, and with letters for digits.
func normalizeCode(text string) string { return typedCode.Replace(strings.ToLower(text)) }

// IsShortCode reports whether a text has the form of a short code, however it is
// typed. No card need have it.
func IsShortCode(text string) bool {
	code := normalizeCode(text)
	return len(code) == shortCodeLen && strings.Trim(code, codeAlphabet) == ""
}

// CanBeGuessed reports whether a text that names a card at a till may be a short code or the code of an
// earlier card. Ids, and what this server has sealed, are too long to be guessed.
func CanBeGuessed(text string) bool {
	code := normalizeCode(text)
	sealed := len(code) == blockLen && strings.Trim(code, "0123456789") != ""
	_, foreign := parseForeignCode(text)
	return !isCardID(text) && !sealed && (foreign || IsShortCode(code))
}

// isCardID reports whether a text that names a card at a till is meant as its id.
func isCardID(text string) bool { return strings.HasPrefix(text, prefixes[KindCard]) }

// shortCodeAttempts is how many candidates for a short code are tried. With a million
// cards in a shop, one in a million candidates is taken.
const shortCodeAttempts = 256

// shortCode returns the short code of a chain, and makes one if it has none. Most cards never
// need one, and its index makes issuing a card dearer. Its candidates are computed from the id
// secret, so that nobody can guess them, and are stored, so that they can be found.
func (tx *Tx) shortCode(shop, root int64) string {
	code, made := tx.shortCodeOf(shop, root)
	if !made {
		tx.exec("UPDATE cards SET short_code=? WHERE id=? AND deleted_at IS NULL", code, root)
	}
	return code
}

// shortCodeOf returns the short code of a chain, or else the one that it will have. made says that it has it.
func (q *queries) shortCodeOf(shop, root int64) (code string, made bool) {
	var generation int64
	q.one(into(&code, &generation), "SELECT ifnull(short_code, ''), code_generation FROM cards WHERE id=?", root)
	made = code != ""
	for attempt := uint64(0); code == "" && q.failed == nil; attempt++ {
		candidate := string(q.s.seal(nil, kindShortCode, uint64(generation)<<8|attempt, root)[:shortCodeLen])
		switch {
		case attempt == shortCodeAttempts:
			q.failed = errors.New("no short code is free")
		case q.number(`SELECT (SELECT count(*) FROM cards WHERE shop_id=?1 AND short_code=?2)+(SELECT count(*) FROM foreign_codes
				WHERE shop_id=?1 AND short_form=?2)`, shop, candidate) == 0:
			code = candidate
		}
	}
	return code, made
}

// ShortCodeOfLink returns the function that makes the short code of the card of a page or install
// link. It is nil if the card has one, or if the link is refused.
func (v *View) ShortCodeOfLink(token string) (func(*Tx) error, error) {
	shop, root, err := v.cardByLink(token)
	if err != nil {
		return nil, v.failed
	}
	return v.missingShortCode(shop, root)
}

// ShortCodeOfCard is ShortCodeOfLink for the chain of a card of a shop.
func (v *View) ShortCodeOfCard(shop int64, id string) (func(*Tx) error, error) {
	return v.missingShortCode(
		shop,
		v.number("SELECT ifnull(root_id, id) FROM cards WHERE id=? AND shop_id=?", v.keyOrNone(KindCard, id), shop),
	)
}

// missingShortCode returns the function that makes the short code of a chain, or nil if it has one.
func (v *View) missingShortCode(shop, root int64) (func(*Tx) error, error) {
	if v.number("SELECT count(*) FROM cards WHERE id=? AND short_code IS NULL AND deleted_at IS NULL", root) == 0 {
		return nil, v.failed
	}
	return func(tx *Tx) error {
		tx.shortCode(shop, root)
		return tx.failed
	}, nil
}
