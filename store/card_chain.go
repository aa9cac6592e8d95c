package store

import (
	"cmp"
	"errors"
	"slices"
)

// chainCols are what every query of a chain selects.
var chainCols = append([]string{epochColumn, "c.id", "c.root_id IS NOT NULL", "c.cycle", "c.code_generation", "c.first_location_id IS NULL", "c.last_stamp_at", "c.short_code", "c.last_seen_day"}, cardCols...)

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
		unplaced, lastStamp, short := r.bool(), r.nullTime(), r.nullStr()
		lastSeen := r.int()
		i := s.scanCard(r, key, now)
		i.neverPresented, i.lastStamp, i.shortCode, i.lastSeen = unplaced, lastStamp, short, lastSeen
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

// chainByIDOrCode reads the chain that a card's id, the content of its QR code or its
// short code names. It returns no cards if the shop has no such card, or the code was
// replaced.
func (s *Store) chainByIDOrCode(c *conn, shop int64, text string, now Time, eachCard func(*card) error, sql string) (all []*card, epoch int64, err error) {
	var code string
	var generation uint64
	key, known := s.Key(KindCard, text)
	isShort := false
	isQR := false
	if !known {
		code = normalizeCode(text)
		if isShort = IsShortCode(code); isShort {
			key, err = c.number("SELECT ifnull((SELECT id FROM cards WHERE shop_id=? AND short_code=?), 0)", shop, code)
			known = key != 0
		} else {
			generation, key, isQR = s.IDs.openAny(kindCode, code)
			known = isQR
		}
	}
	if err != nil || !known {
		return nil, 0, err
	}
	if all, epoch, err = s.readChain(c, now, eachCard, sql, key, shop); err != nil || len(all) == 0 {
		return nil, epoch, err
	}
	// A code names the chain only as long as the chain has it.
	root := all[0]
	if isShort && root.shortCode.V != code || isQR && root.generation != int64(generation) {
		return nil, epoch, nil
	}
	return all, epoch, nil
}
