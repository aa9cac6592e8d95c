package store

import (
	"cmp"
	"slices"
)

// LedgerEntry is a row of the ledger with the names that people know.
type LedgerEntry struct {
	Transaction
	ProgramName string       `json:"program_name"`
	HolderName  Null[string] `json:"holder_name"`
	DeviceID    Null[string] `json:"device_id" doc:"Null where a person made the row."`
	DeviceName  Null[string] `json:"device_name"`
	Actor       *AuditActor  `json:"actor" doc:"The person who made the row; null where a device made it."`
	ReversesID  Null[string] `json:"reverses_id" doc:"The row that this one takes back."`
	Staff       *NamedStaff  `json:"staff" doc:"Who was signed in at the till; null: nobody."`
	Reason      Null[string] `json:"reason" viewer:"hidden" doc:"Of an adjustment."`
	MergedWith  Null[string] `json:"merged_with" doc:"Of an adjustment by a merge: the id of the other card."`
}

var ledgerEntriesSQL = "SELECT " + transactionCols + `, p.name, ifnull(c.holder_name, ''), t.device_id, ifnull(d.name, ''),
	t.reverses_id, ifnull(t.staff_id, 0), ifnull((SELECT name FROM staff WHERE id=t.staff_id), ''),
	iif(t.type='adjustment', ifnull(t.metadata->>'reason', ''), ''),
	iif(t.type='adjustment', ifnull(t.metadata->>'merged_with', ''), '')
	FROM json_each(?) k CROSS JOIN transactions t ON t.id=k.value JOIN locations l ON l.id=t.location_id
	JOIN programs p ON p.id=t.program_id JOIN cards c ON c.id=t.card_id LEFT JOIN devices d ON d.id=t.device_id`

// ledgerEntries reads rows of the ledger of a shop in the order of the keys.
func (v *View) ledgerEntries(shop int64, keys []int64) []LedgerEntry {
	var byPersons []ledgerTime
	entries := collect(v, func(r *rows) LedgerEntry {
		v.seeEpoch(r.int())
		key := r.int()
		e := LedgerEntry{Transaction: v.scanTransaction(r, key), ProgramName: r.str(), HolderName: r.nullStr(),
			DeviceID:   v.nullID(KindDevice, r.nullInt()),
			DeviceName: r.nullStr(), ReversesID: v.nullID(KindTransaction, r.nullInt()), Staff: v.namedStaff(Staff{r.int(), r.str()}),
			Reason: r.nullStr(), MergedWith: r.nullStr()}
		if !e.DeviceID.Valid {
			byPersons = append(byPersons, ledgerTime{key, e.CreatedAt})
		}
		return e
	}, ledgerEntriesSQL, jsonKeys(keys))
	actors := v.actorsOf(shop, byPersons)
	for i := range entries {
		if key, _ := v.Key(KindTransaction, entries[i].ID); actors[key] != nil {
			entries[i].Actor = actors[key]
		}
	}
	return entries
}

// LedgerEntry returns a row of the ledger of a shop.
func (v *View) LedgerEntry(shop int64, id string) (e LedgerEntry, err error) {
	v.snapshot()
	key := v.number(`SELECT ifnull((SELECT t.id FROM transactions t JOIN cards c ON c.id=t.card_id WHERE t.id=? AND t.shop_id=?
			AND c.deleted_at IS NULL), 0)`, v.keyOrNone(KindTransaction, id), shop)
	if key == 0 {
		return e, notFound("transaction")
	}
	for _, e = range v.ledgerEntries(shop, []int64{key}) {
	}
	return e, v.failed
}

// CardTransactions returns a page of the ledger of a card and its chain, newest first.
func (v *View) CardTransactions(shop int64, id string, q PageQuery) (p Page[LedgerEntry], err error) {
	v.snapshot()
	keys, err := v.chainPage(&p.NextCursor, &p.Limit, shop, id, listCardTransactions, q, func(card, below int64, n int) []int64 {
		return v.keys("SELECT id FROM transactions WHERE card_id=? AND id<? ORDER BY id DESC LIMIT ?", card, below, n)
	})
	if err != nil {
		return p, err
	}
	p.Data = v.ledgerEntries(shop, keys)
	return p, v.failed
}

// chainPage returns the keys of one page of a list about a chain, newest first, and
// sets the cursor and the limit of the page. keysOf returns the newest n keys of one card below a
// key: a search in an index for each card of the chain.
func (v *View) chainPage(
	next *Null[string],
	limit *int,
	shop int64,
	id string,
	list byte,
	q PageQuery,
	keysOf func(card, below int64, n int) []int64,
) (keys []int64, err error) {
	*limit = v.limit(q)
	below, err := v.below(list, shop, q)
	if err != nil {
		return nil, err
	}
	cards, err := v.chainOf(shop, id)
	for _, card := range cards {
		keys = append(keys, keysOf(card, below, *limit+1)...)
	}
	slices.SortFunc(keys, func(a, b int64) int { return cmp.Compare(b, a) })
	if len(keys) > *limit {
		keys = keys[:*limit]
		*next = Some(v.cursor(list, shop, 0, keys[*limit-1]))
	}
	return keys, err
}

// chainOf returns the keys of the cards in the chain of a card of the shop, oldest
// first.
func (v *View) chainOf(shop int64, id string) (keys []int64, err error) {
	all, _ := v.readChain(nil, chainOfCardSQL, v.keyOrNone(KindCard, id), shop)
	if len(all) == 0 {
		err = notFound("card")
	}
	for _, c := range all {
		keys = append(keys, c.key)
	}
	return keys, err
}
