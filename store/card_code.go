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

// normalizeCode returns the form of a code that the store compares: people type
// codes in capitals, in groups, and with letters for digits.
func normalizeCode(text string) string { return typedCode.Replace(strings.ToLower(text)) }

// IsShortCode reports whether a text has the form of a short code, however it is
// typed. No card need have it.
func IsShortCode(text string) bool {
	code := normalizeCode(text)
	return len(code) == shortCodeLen && strings.Trim(code, codeAlphabet) == ""
}

// isCardID reports whether a text that names a card at a till is meant as its id.
func isCardID(text string) bool { return strings.HasPrefix(text, prefixes[KindCard]) }

// shortCodeAttempts is how many candidates for a short code are tried. With a million
// cards in a shop, one in a million candidates is taken.
const shortCodeAttempts = 256

// newShortCode returns a short code for a generation of a chain which no card of the
// shop has. Its candidates are computed from the id secret, so that nobody can guess
// them, and are stored, so that they can be found.
func (c *conn) newShortCode(ids IDs, shop, root, generation int64) (string, error) {
	for attempt := range uint64(shortCodeAttempts) {
		code := string(ids.seal(nil, kindShortCode, uint64(generation)<<8|attempt, root)[:shortCodeLen])
		taken, err := c.number("SELECT count(*) FROM cards WHERE shop_id=? AND short_code=?", shop, code)
		if err != nil {
			return "", err
		}
		if taken == 0 {
			return code, nil
		}
	}
	return "", errors.New("no short code is free")
}

// newShortCode is conn.newShortCode within the write.
func (tx *Tx) newShortCode(shop, root, generation int64) (code string) {
	if tx.failed == nil {
		code, tx.failed = tx.conn.newShortCode(tx.s.IDs, shop, root, generation)
	}
	return code
}

// shortCodesSince is the version of the schema since which every chain has a short code.
const shortCodesSince = 6

// fillShortCodes gives a short code to every chain that has none and is not erased. The
// file is of version v.
func (c *conn) fillShortCodes(v int64) error {
	ids, err := c.readIDs(v)
	if err != nil {
		return err
	}
	type chain struct{ root, shop, generation int64 }
	var chains []chain
	r := c.query("SELECT " + columns("id", "shop_id", "code_generation") + " FROM cards WHERE root_id IS NULL AND deleted_at IS NULL AND short_code IS NULL")
	for r.next() {
		chains = append(chains, chain{r.int(), r.int(), r.int()})
	}
	if err := r.close(); err != nil {
		return err
	}
	for _, x := range chains {
		code, err := c.newShortCode(ids, x.shop, x.root, x.generation)
		if err != nil {
			return err
		}
		if _, err := c.exec("UPDATE cards SET short_code=? WHERE id=?", code, x.root); err != nil {
			return err
		}
	}
	return nil
}
