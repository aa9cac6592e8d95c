package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"punchcard/store/sqlite"
)

// loader writes to the file directly, since the store would take hours. It drops the
// indexes and creates them again at the end. After a crash the file is unusable.
type loader struct {
	c        *sqlite.Conn
	dropped  []string // CREATE INDEX …
	shop     int64
	program  map[string]int64
	location []int64 // by key
	till     []int64
	prize    []int64 // the lower prize, and those of a full card
}

func newLoader(path string) (*loader, error) {
	c, err := sqlite.Open(path, sqlite.ReadWrite, "journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE", "temp_store=MEMORY",
		"cache_size=-400000", "foreign_keys=0", "ignore_check_constraints=1")
	if err != nil {
		return nil, err
	}
	l := &loader{c: c, program: map[string]int64{}}
	for sql, take := range map[string]func(r *sqlite.Rows){
		"SELECT id FROM shops":                              func(r *sqlite.Rows) { l.shop = r.Int() },
		"SELECT type, id FROM programs":                     func(r *sqlite.Rows) { l.program[r.Text()] = r.Int() },
		"SELECT id FROM locations ORDER BY id":              func(r *sqlite.Rows) { l.location = append(l.location, r.Int()) },
		"SELECT id FROM devices ORDER BY location_id":       func(r *sqlite.Rows) { l.till = append(l.till, r.Int()) },
		"SELECT id FROM prizes ORDER BY threshold, ordinal": func(r *sqlite.Rows) { l.prize = append(l.prize, r.Int()) },
		`SELECT sql FROM sqlite_schema
			WHERE type='index' AND sql IS NOT NULL AND tbl_name IN ('transactions', 'cards', 'claims')`: func(r *sqlite.Rows) {
			l.dropped = append(l.dropped, r.Text())
		},
	} {
		r := c.Query(sql)
		for r.Next() {
			take(r)
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
	drops := []string{"BEGIN"}
	for _, sql := range l.dropped {
		words := strings.Fields(sql) // CREATE INDEX name ON …, or CREATE UNIQUE INDEX name ON …
		drops = append(drops, "DROP INDEX "+words[slices.Index(words, "ON")-1])
	}
	return l, l.exec(drops...)
}

// exec runs statements without arguments.
func (l *loader) exec(statements ...string) error {
	for _, sql := range statements {
		if _, err := l.c.Exec(sql); err != nil {
			return err
		}
	}
	return nil
}

// inserter inserts rows into a table. After an error it does nothing.
type inserter struct {
	c   *sqlite.Conn
	sql string
	err error
}

func (l *loader) insert(table, columns string) *inserter {
	return &inserter{
		c:   l.c,
		sql: "INSERT INTO " + table + " (" + columns + ") VALUES (?" + strings.Repeat(",?", strings.Count(columns, ",")) + ")",
	}
}

func (i *inserter) add(args ...any) {
	if i.err == nil {
		_, i.err = i.c.Exec(i.sql, args...)
	}
}

// null returns nil for 0.
func null[T int | int64](n T) any { return unless(n == 0, n) }

// unless returns nil if the value is absent.
func unless(absent bool, v any) any {
	if absent {
		return nil
	}
	return v
}

// ledger writes the transactions.
func (l *loader) ledger(y *year) error {
	y.locations = len(l.location)
	rows := l.insert(
		"transactions",
		"id, shop_id, card_id, program_id, location_id, device_id, type, stamps_delta, value_delta, prize_id, cycle, reverses_id, "+
			"overflow_of, reversed_at, created_at",
	)
	y.save = func(r *row) {
		kind, moves := y.instances[r.card].kind, r.what != "expiry"
		var prize any
		if r.prize != 0 {
			prize = l.prize[r.prize-1]
		}
		rows.add(r.id, l.shop, r.card, l.program[kind], l.location[r.location-1], l.till[r.location-1], r.what,
			unless(kind != "standard" || !moves, r.stamps), unless(kind != "prepaid" || !moves, r.value), prize, r.cycle,
			null(r.reverses), null(r.over), null(r.reversed), r.at)
	}
	y.run()
	return rows.err
}

var first = []string{"Giulia", "Marco", "Francesca", "Luca", "Chiara", "Andrea", "Sara", "Matteo"}
var family = []string{"Bianchi", "Rossi", "Ferrari", "Russo", "Romano", "Gallo", "Costa", "Fontana", "Conti", "Ricci"}

// cards writes the cards. A few are locked and some archived at the end of the year.
func (l *loader) cards(y *year) error {
	rows := l.insert(
		"cards",
		`id, shop_id, program_id, root_id, parent_id, source, external_ref, holder_name, holder_email, email_key,
		stamps_count, current_value, initial_value, cycle, expires_at, activated_at, installed_at, platform, locked_at,
		archived_at, expiry_noted, first_location_id, live, created_at, updated_at, last_stamp_at, lapsed, short_code`,
	)
	named := map[string][]int{}                                          // keys of cards by the words of names
	end, known := y.end.UnixMilli(), y.end.AddDate(0, 0, -1).UnixMilli() // cards that expired before known are marked
	for key := 1; key < len(y.instances); key++ {
		c := &y.instances[key]
		root, source := key, "api"
		if c.root != 0 {
			root, source = c.root, "overflow"
			c.locked, c.ended = y.instances[root].locked, y.instances[root].ended
		} else {
			if c.first != 0 && c.activated == c.created {
				source = "counter"
			}
			x := y.rng.IntN(1000)
			if x < 2 {
				c.locked = end
			}
			c.ended = x >= 2 && x < 7
		}
		if c.ended && c.archived == 0 {
			c.archived = end
		}
		platform := "apple"
		if root%5 < 2 {
			platform = "google"
		}
		var location any
		if c.first != 0 {
			location = l.location[c.first-1]
		}
		mail := fmt.Sprintf("m%d@example.com", root)
		for _, word := range []string{first[root%8], family[root%10]} {
			named[strings.ToLower(word)] = append(named[strings.ToLower(word)], key)
		}
		rows.add(
			key,
			l.shop,
			l.program[c.kind],
			null(c.root),
			null(c.parent),
			source,
			fmt.Sprintf("member-%d", root),
			first[root%8]+" "+family[root%10],
			mail,
			strings.ToUpper(mail),
			c.stamps,
			unless(c.kind != "prepaid", c.value),
			unless(c.kind != "prepaid", 0),
			c.cycle,
			null(c.expires),
			null(c.activated),
			null(c.installed),
			unless(
				c.installed == 0,
				platform,
			),
			null(c.locked),
			null(c.archived),
			unless(!c.noted, c.expires),
			location,
			c.root == 0 && !c.ended,
			c.created,
			max(c.updated, c.archived, c.locked),
			null(c.lastStamp),
			c.expires != 0 && c.expires <= known,
			unless(c.root != 0, shortCode(key)),
		)
	}
	words := l.insert("name_words", "part, shop_id, word, card_id") // the names are two words without accents
	for _, word := range slices.Sorted(maps.Keys(named)) {
		for _, key := range named[word] {
			words.add(key>>12, l.shop, word, key)
		}
	}
	return errors.Join(rows.err, words.err)
}

// shortCode returns a code for the root of a chain. The codes of a year are spread over
// all codes, as those of the store are, and no two are equal.
func shortCode(key int) string {
	code := make([]byte, 8)
	for i, n := 0, uint64(key)*0x9e3779b97f; i < len(code); i, n = i+1, n>>5 {
		code[i] = "0123456789abcdefghjkmnpqrstvwxyz"[n&31]
	}
	return string(code)
}

// rest fills the tables that follow from the cards and the ledger, and creates the
// indexes. It adds an audit row at the end of the year, since the store reads the time
// of the newest change from the newest audit row.
func (l *loader) rest(y *year) error {
	err := l.exec(slices.Concat([]string{
		"COMMIT", "BEGIN", // so that the file has its size, which bounds the steps of the statements below
		"INSERT INTO claims SELECT card_id, t.cycle, threshold, prize_id, t.id FROM transactions t CROSS JOIN prizes p ON " +
			"p.id=prize_id WHERE type='redemption' AND reversed_at IS NULL ORDER BY 1, 2, 3",
		"INSERT INTO cycles SELECT card_id, t.cycle, t.created_at FROM transactions t CROSS JOIN prizes p ON p.id=prize_id WHERE " +
			"type='redemption' AND threshold=10 ORDER BY 1, 2",
	}, l.dropped, []string{
		"UPDATE meta SET indexed_cards=(SELECT max(id) FROM cards)",
		"UPDATE shops SET live_cards=(SELECT count(*) FROM cards WHERE live=1)",
		"UPDATE prizes SET redemptions=(SELECT count(*) FROM transactions WHERE prize_id=prizes.id AND type='redemption')",
		"UPDATE programs SET has_installed_cards=EXISTS (SELECT 1 FROM cards WHERE program_id=programs.id AND installed_at IS NOT NULL)",
		fmt.Sprintf(
			"INSERT INTO audit (shop_id, actor_type, action, target_kind, target_id, created_at) VALUES (%d, 'system', "+
				"'shop.load', 1, %[1]d, %d)",
			l.shop,
			y.end.UnixMilli(),
		),
		"COMMIT",
	})...)
	return errors.Join(err, l.c.Close())
}
