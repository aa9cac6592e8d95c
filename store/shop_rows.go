package store

import (
	"context"
	"strings"
	"time"

	"punchcard/store/sqlite"
)

// shopTable is a table of the file, with the condition on the rows that are of the shop ?1.
type shopTable struct {
	name, where string
	// shared tables have rows that several shops need. Erasing a shop leaves them alone, and a copy
	// of the shop has those that the condition selects.
	shared bool
}

const (
	ofShop     = "shop_id=?1"
	ofCards    = "card_id IN (SELECT id FROM cards WHERE shop_id=?1)"
	ofPrograms = "program_id IN (SELECT id FROM programs WHERE shop_id=?1)"
	ofMembers  = " IN (SELECT user_id FROM memberships WHERE shop_id=?1)"
)

// shopTables are all tables of the file, each before those that its rows and its condition refer to:
// the order in which a shop is erased. It is copied in the opposite order. What callers are to get
// again within a day is of a shop if it is of one of its keys, devices or cards.
var shopTables = splitNames([]shopTable{
	{"name_words contacts foreign_codes", ofShop, false},
	{"claims cycles", ofCards, false},
	{"mails sent_mails lost_mails push_subscriptions apple_devices apple_passes pushes apple_wallets", ofShop, false},
	{"google_nonces google_objects google_classes google_wallets", ofShop, false},
	{"idempotency", "caller IN (SELECT 2*ifnull(family_id, id) FROM keys WHERE shop_id=?1 UNION ALL " +
		"SELECT 2*id+1 FROM devices WHERE shop_id=?1) OR " + ofCards, false},
	{"deliveries", "webhook_id IN (SELECT id FROM webhooks WHERE shop_id=?1)", false},
	{"events webhooks transactions", ofShop, false},
	{"import_notes import_parts", "import_id IN (SELECT id FROM imports WHERE shop_id=?1)", false},
	{"card_run_refusals", "run_id IN (SELECT id FROM card_runs WHERE shop_id=?1)", false},
	{"card_runs cards imports", ofShop, false},
	{"enrolments consents program_locations prizes", ofPrograms, false},
	{"program_counts place_counts quarter_counts day_counts hour_counts", ofPrograms, false},
	{"logos", "hash IN (SELECT logo_hash FROM programs WHERE shop_id=?1)", true},
	{"programs", ofShop, false},
	{"staff_locations", "staff_id IN (SELECT id FROM staff WHERE shop_id=?1)", false},
	{"staff pairings devices", ofShop, false},
	{"key_locations key_calls", "key_id IN (SELECT id FROM keys WHERE shop_id=?1)", false},
	{"keys locations", ofShop, false},
	{"link_mails", "link_id IN (SELECT id FROM links WHERE shop_id=?1)", false},
	{"links", ofShop, false},
	{"recovery_codes", "user_id" + ofMembers, true},
	{"sessions sign_in_failures", "?1 IS NULL", true}, // whoever moves signs in again
	{"users", "id" + ofMembers, true},
	{"memberships audit", ofShop, false},
	{"shops", "id=?1", false},
	{"meta", "?1 IS NOT NULL", true},
})

// splitNames returns a table for each of the names that tables have with blanks between them.
func splitNames(tables []shopTable) (all []shopTable) {
	for _, t := range tables {
		for name := range strings.FieldsSeq(t.name) {
			all = append(all, shopTable{name, t.where, t.shared})
		}
	}
	return all
}

// foundRows is how many rows EraseShop finds at once.
const foundRows = 5000

// EraseShop erases the rows of a shop that has ended (see EndedShops), n in each transaction, until
// none is left or ctx ends. Before each but the first it calls pause with the time that the one before
// took. It can be called again at any time to continue.
//
// It finds the rows outside of the write lock, since some have no index. Its connection does not check
// references, for which SQLite would read whole tables: it erases rows after those that refer to them.
func (s *Store) EraseShop(ctx context.Context, shop int64, n int, pause func(took time.Duration)) error {
	if err := s.SystemWrite(ctx, func(tx *Tx) error {
		if tx.closing(shop).State == ShopMoved {
			tx.endShop(shop)
		}
		return tx.failed
	}); err != nil {
		return err
	}
	c, err := sqlite.Open(s.path, sqlite.ReadWrite, s.busyTimeout(), "synchronous=FULL", "temp_store=MEMORY", "secure_delete=ON",
		"journal_size_limit=0") // as heedLitestream says
	if err != nil {
		return err
	}
	defer c.Close()
	if s.opts.Ephemeral {
		err = c.Script("PRAGMA synchronous=OFF")
	}
	q := &queries{conn: c, failed: err}
	for _, t := range shopTables {
		if t.shared {
			continue
		}
		if err := s.eraseTable(ctx, q, t, shop, n, pause); err != nil {
			return err
		}
	}
	// What was erased must not stay in the log.
	return s.SystemWrite(ctx, func(tx *Tx) error {
		tx.noteErased()
		return nil
	})
}

// eraseTable erases the rows of a shop in a table, newest first, since older rows do not refer to newer
// ones.
func (s *Store) eraseTable(ctx context.Context, q *queries, t shopTable, shop int64, n int, pause func(time.Duration)) error {
	key := q.keyOf(t.name)
	find := "SELECT json_array(" + key + ") FROM " + t.name + " WHERE " + t.where + " ORDER BY " +
		strings.ReplaceAll(key, ",", " DESC,") + " DESC LIMIT ?2"
	for q.failed == nil {
		found := collect(q, (*rows).str, find, shop, foundRows)
		if len(found) == 0 {
			break
		}
		for len(found) > 0 && q.failed == nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			began := time.Now()
			batch := found[:min(n, len(found))]
			if err := s.eraseRows(q, t, key, "["+strings.Join(batch, ",")+"]"); err != nil {
				return err
			}
			found = found[len(batch):]
			pause(time.Since(began))
		}
	}
	return q.failed
}

// keyOf returns the columns of the primary key of a table, separated by commas.
func (q *queries) keyOf(table string) string {
	return strings.Join(collect(q, (*rows).str, "SELECT name FROM pragma_table_info(?) WHERE pk>0 ORDER BY pk", table), ",")
}

// eraseRows deletes the rows with keys, a JSON array of arrays, while the writer rests.
func (s *Store) eraseRows(q *queries, t shopTable, key, keys string) error {
	s.closing.RLock()
	defer s.closing.RUnlock()
	if s.closed {
		return ErrClosed
	}
	writer := <-s.idleWriter
	defer func() { s.idleWriter <- writer }()
	values := "value->>0"
	for i := range strings.Count(key, ",") {
		values += ",value->>" + string(rune('1'+i))
	}
	q.exec("BEGIN IMMEDIATE")
	q.exec("DELETE FROM "+t.name+" WHERE ("+key+") IN (SELECT "+values+" FROM json_each(?))", keys)
	if t.name == "shops" {
		q.exec("DELETE FROM logos WHERE NOT EXISTS (SELECT 1 FROM programs WHERE logo_hash=hash)")
		q.exec(wipeAll) // here, since a kill may come before noteErased
	}
	q.exec("COMMIT")
	if q.failed != nil {
		q.conn.Exec("ROLLBACK")
	}
	return q.failed
}
