package store

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// cardCode returns the content of a card's QR code. It names the chain and is valid
// until the next reissue.
func (s *Store) cardCode(root, generation int64) string {
	return string(s.seal(nil, kindCode, uint64(generation), root))
}

// chainCols are what every query of a chain selects.
var chainCols = append([]string{epochColumn, "c.id", "c.root_id IS NOT NULL", "c.cycle", "c.code_generation", "c.first_location_id IS NULL", "c.last_stamp_at"}, cardCols...)

// The chain of a root, and the chain of any of its cards.
const (
	chainOfRoot = " FROM cards c WHERE (c.id=?1 OR c.root_id=?1) AND c.deleted_at IS NULL"
	chainOfCard = " FROM (SELECT ifnull(root_id, id) AS root FROM cards WHERE id=?1 AND shop_id=?2) r" +
		" JOIN cards c ON (c.id=r.root OR c.root_id=r.root) AND c.deleted_at IS NULL"
)

var (
	chainOfRootSQL = "SELECT " + columns(chainCols...) + chainOfRoot
	chainOfCardSQL = "SELECT " + columns(chainCols...) + chainOfCard
)

// readChain reads all cards of a chain, oldest first, and the auth epoch, with a
// query that selects chainCols. It calls eachCard, unless it is nil, while the query
// is at the card's row.
func (s *Store) readChain(c *conn, now Time, eachCard func(*card) error, sql string, args ...any) (all []*card, epoch int64, err error) {
	r := c.query(sql, args...)
	for r.next() {
		epoch = r.int()
		key, child, cycle, generation := r.int(), r.bool(), r.int(), r.int()
		unplaced, lastStamp := r.bool(), r.nullTime()
		i := s.scanCard(r, key, now)
		i.neverPresented, i.lastStamp = unplaced, lastStamp
		i.child, i.cycle, i.generation = child, cycle, generation
		if eachCard != nil {
			if err := eachCard(&i); err != nil {
				return nil, 0, errors.Join(err, r.close())
			}
		}
		all = append(all, &i)
	}
	if err := r.close(); err != nil {
		return nil, 0, err
	}
	slices.SortFunc(all, func(a, b *card) int { return cmp.Compare(a.key, b.key) })
	for _, i := range all {
		i.root = all[0].key
	}
	return all, epoch, nil
}

// typedCode removes spaces and hyphens from a typed code, and replaces letters that
// codes do not contain by the digits that they look like.
var typedCode = strings.NewReplacer(" ", "", "-", "", "o", "0", "i", "1", "l", "1")

// chainByIDOrCode reads the chain that a card's id or code names. It returns no cards
// if the shop has no such card, or the code was replaced.
func (s *Store) chainByIDOrCode(c *conn, shop int64, text string, now Time, eachCard func(*card) error, sql string, args ...any) (all []*card, epoch int64, err error) {
	generation, isCode := uint64(0), false
	key, ok := s.Key(KindCard, text)
	if !ok {
		if generation, key, isCode = s.IDs.openAny(kindCode, typedCode.Replace(strings.ToLower(text))); !isCode {
			return nil, 0, nil
		}
	}
	all, epoch, err = s.readChain(c, now, eachCard, sql, append([]any{key, shop}, args...)...)
	if isCode && len(all) > 0 && all[0].generation != int64(generation) {
		return nil, epoch, err
	}
	return all, epoch, err
}
