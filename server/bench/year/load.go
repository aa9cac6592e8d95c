package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"punchcard/store/sqlite"
)

// loader writes to the file without the store, which would take hours. It drops the
// indexes, which are created again at the end, and has no protection against a
// crash.
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
		"SELECT sql FROM sqlite_schema WHERE " + ofLedger:   func(r *sqlite.Rows) { l.dropped = append(l.dropped, r.Text()) },
	} {
		r := c.Query(sql)
		for r.Next() {
			take(r)
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
	for _, sql := range l.dropped {
		if err := l.exec("DROP INDEX " + strings.Fields(sql)[2]); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// ofLedger selects the indexes of the large tables.
const ofLedger = "type='index' AND sql IS NOT NULL AND tbl_name IN ('transactions', 'cards', 'claims')"

func (l *loader) exec(sql string, args ...any) error {
	_, err := l.c.Exec(sql, args...)
	return err
}

// batch collects rows of one table and inserts many with one statement, since a call
// takes longer than a row.
type batch struct {
	l       *loader
	into    string
	columns int
	args    []any
}

const batchSize = 40 // rows

func (b *batch) add(args ...any) error {
	b.columns = len(args)
	if b.args = append(b.args, args...); len(b.args) == batchSize*b.columns {
		return b.flush()
	}
	return nil
}

func (b *batch) flush() error {
	if len(b.args) == 0 {
		return nil
	}
	one := ",(?" + strings.Repeat(",?", b.columns-1) + ")"
	err := b.l.exec("INSERT INTO "+b.into+" VALUES "+strings.Repeat(one, len(b.args)/b.columns)[1:], b.args...)
	b.args = b.args[:0]
	return err
}

// transaction runs f in a transaction and then inserts the rest of the batches.
func (l *loader) transaction(f func() error, batches ...*batch) error {
	if err := l.exec("BEGIN"); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	for _, b := range batches {
		if err := b.flush(); err != nil {
			return err
		}
	}
	return l.exec("COMMIT")
}

// null returns nil for 0.
func null[T int | int64](n T) any {
	if n == 0 {
		return nil
	}
	return n
}

// ledger writes the transactions.
func (l *loader) ledger(y *year) error {
	y.locations = len(l.location)
	b := &batch{l: l, into: "transactions (id, shop_id, card_id, program_id, location_id, device_id, type, stamps_delta, value_delta, prize_id, cycle, reverses_id, overflow_of, reversed_at, created_at)"}
	y.save = func(r *row) error {
		stamps, value, prize := any(nil), any(nil), any(nil)
		if r.hasStamp {
			stamps = r.stamps
		}
		if r.hasCent {
			value = r.value
		}
		if r.prize != 0 {
			prize = l.prize[r.prize-1]
		}
		return b.add(r.id, l.shop, r.card, l.program[names[r.kind]], l.location[r.location-1], l.till[r.location-1], r.what, stamps, value, prize, r.cycle,
			null(r.reverses), null(r.over), null(r.reversed), r.at)
	}
	return l.transaction(y.run, b)
}

var first = []string{"Giulia", "Marco", "Francesca", "Luca", "Chiara", "Andrea", "Sara", "Matteo"}
var family = []string{"Bianchi", "Rossi", "Ferrari", "Russo", "Romano", "Gallo", "Costa", "Fontana", "Conti", "Ricci"}

// cards writes the cards.
func (l *loader) cards(y *year) error {
	y.close()
	b := &batch{l: l, into: `cards (id, shop_id, program_id, root_id, parent_id, source, external_ref, holder_name, holder_email, email_key, stamps_count, current_value, initial_value, cycle,
		expires_at, activated_at, installed_at, platform, locked_at, archived_at, expiry_noted, first_location_id, live, created_at, updated_at, last_stamp_at, lapsed)`}
	known := y.end.AddDate(0, 0, -1).UnixMilli() // cards that expired before are marked
	return l.transaction(func() error {
		for key := 1; key < len(y.instances); key++ {
			c := &y.instances[key]
			root, source, live := key, "api", 1
			if c.root != 0 {
				root, source, live = c.root, "overflow", 0
			} else if c.first != 0 && c.activated == c.created {
				source = "counter"
			}
			if c.gone {
				live = 0
			}
			var value, platform, noted, location any
			if c.kind == prepaid {
				value = c.value
			}
			if c.installed != 0 {
				if platform = "apple"; root%5 < 2 {
					platform = "google"
				}
			}
			if c.noted {
				noted = c.expires
			}
			if c.first != 0 {
				location = l.location[c.first-1]
			}
			lapsed := 0
			if c.expires != 0 && c.expires <= known {
				lapsed = 1
			}
			mail := fmt.Sprintf("m%d@example.com", root)
			var initial any
			if value != nil {
				initial = 0
			}
			if err := b.add(key, l.shop, l.program[names[c.kind]], null(c.root), null(c.parent), source, fmt.Sprintf("member-%d", root), first[root%8]+" "+family[root%10], mail, mail,
				c.stamps, value, initial, c.cycle, null(c.expires), null(c.activated), null(c.installed), platform, null(c.locked), null(c.archived), noted, location, live,
				c.created, max(c.updated, c.archived, c.locked), null(c.lastStamp), lapsed); err != nil {
				return err
			}
		}
		return nil
	}, b)
}

// claims writes the claims and the completed cycles, in the order of their keys.
func (l *loader) claims(y *year) error {
	order := func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.card, b.card), cmp.Compare(a.cycle, b.cycle), cmp.Compare(a.threshold, b.threshold))
	}
	slices.SortFunc(y.claimed, order)
	slices.SortFunc(y.completed, order)
	claims := &batch{l: l, into: "claims (card_id, cycle, threshold, prize_id, transaction_id)"}
	cycles := &batch{l: l, into: "cycles (card_id, cycle, completed_at)"}
	return l.transaction(func() error {
		for _, c := range y.claimed {
			if err := claims.add(c.card, c.cycle, c.threshold, l.prize[c.prize-1], c.row); err != nil {
				return err
			}
		}
		for _, c := range y.completed {
			if err := cycles.add(c.card, c.cycle, c.at); err != nil {
				return err
			}
		}
		return nil
	}, claims, cycles)
}

// indexes creates the dropped indexes again.
func (l *loader) indexes() error {
	for _, sql := range l.dropped {
		if err := l.exec(sql); err != nil {
			return err
		}
	}
	return nil
}

// rest writes what other tables derive from the cards and the ledger. The store takes
// the time of the newest audit row for the newest instant in the file.
func (l *loader) rest(y *year) error {
	for _, sql := range []string{
		"UPDATE shops SET live_cards=(SELECT count(*) FROM cards WHERE live=1)",
		"UPDATE prizes SET redemptions=(SELECT count(*) FROM transactions WHERE prize_id=prizes.id AND type='redemption')",
		"UPDATE programs SET has_installed_cards=EXISTS (SELECT 1 FROM cards WHERE program_id=programs.id AND installed_at IS NOT NULL)",
	} {
		if err := l.exec(sql); err != nil {
			return err
		}
	}
	if err := l.exec("INSERT INTO audit (shop_id, actor_type, action, target_kind, target_id, created_at) VALUES (?, 'system', 'shop.load', 1, ?, ?)", l.shop, l.shop, y.end.UnixMilli()); err != nil {
		return err
	}
	return l.c.Close()
}
