package store

import (
	"cmp"
	"slices"
)

// chainCols are what every query of a chain selects.
const chainCols = listedCardCols + `, c.root_id IS NOT NULL, c.cycle, c.code_generation, c.first_location_id IS NULL,
	c.last_stamp_at, c.short_code, c.last_seen_day, c.opening_left, c.copies`

// The queries of the chain of a root, and of the chain of any of its cards.
const (
	chainOfRootSQL = "SELECT " + chainCols + " FROM cards c WHERE (c.id=?1 OR c.root_id=?1) AND c.deleted_at IS NULL"
	chainOfCardSQL = "SELECT " + chainCols + " FROM (SELECT ifnull(root_id, id) AS root FROM cards WHERE id=?1 AND shop_id=?2) r" +
		" JOIN cards c ON (c.id=r.root OR c.root_id=r.root) AND c.deleted_at IS NULL"
)

// readChain reads all cards of a chain, oldest first, and the auth epoch, with a
// query that selects chainCols. It calls eachCard, unless it is nil, while the query
// is at the card's row.
func (q *queries) readChain(eachCard func(*card), sql string, args ...any) (all []*card, epoch int64) {
	r := q.query(sql, args...)
	for r.next() {
		epoch = r.int()
		i := q.scanCard(r, r.int(), q.Now)
		i.child, i.cycle, i.generation, i.neverPresented, i.lastStamp = r.bool(), r.int(), r.int(), r.bool(), r.nullTime()
		i.shortCode, i.lastSeen, i.openingLeft, i.copies = r.nullStr(), r.int(), r.int(), r.int()
		if eachCard != nil {
			eachCard(&i)
		}
		all = append(all, &i)
	}
	if q.fail(r.close()); q.failed != nil {
		return nil, 0
	}
	slices.SortFunc(all, func(a, b *card) int { return cmp.Compare(a.key, b.key) })
	for _, i := range all {
		i.root = all[0].key
	}
	return all, epoch
}

// rootOf returns the root of the chain of a card that is not erased, or 0 if the shop has no such card.
func (q *queries) rootOf(shop int64, id string) int64 {
	return q.number("SELECT ifnull((SELECT ifnull(root_id, id) FROM cards WHERE id=? AND shop_id=? AND deleted_at IS NULL), 0)",
		q.keyOrNone(KindCard, id), shop)
}

// chainByIDOrCode reads the chain that a card's id, the content of its QR code, its short code or the
// code of an earlier card names. It returns no cards if the shop has no such card, or the code was
// replaced. foreign reports whether the text is the code of an earlier card.
func (q *queries) chainByIDOrCode(shop int64, text string, eachCard func(*card), sql string) (all []*card, epoch int64, foreign bool) {
	key, isID := q.Key(KindCard, text)
	code := normalizeCode(text)
	isShort := IsShortCode(code)
	generation, root, isQR := q.openAny(kindCode, code)
	switch {
	case isID:
	case isShort:
		key = q.number("SELECT ifnull((SELECT id FROM cards WHERE shop_id=? AND short_code=?), 0)", shop, code)
	case isQR:
		key = root
	default:
		key = 0
	}
	if key == 0 {
		isShort = false
		if key = q.foreignCodeCard(shop, text); key == 0 {
			return nil, 0, false
		}
		foreign = true
	}
	all, epoch = q.readChain(eachCard, sql, key, shop)
	// A code names the chain only as long as the chain has it.
	if len(all) > 0 && (isShort && all[0].shortCode.V != code || isQR && all[0].generation != int64(generation)) {
		return nil, epoch, false
	}
	return all, epoch, foreign
}
