package store

import (
	"errors"
	"slices"
	"time"

	"punchcard/store/sqlite"
)

// What is restored at two times, also from one backup, begins to count at two
// places that are further apart than the keys that any database hands out in
// between.
const (
	skippedKeys = 1 << 32    // behind the backup's last key
	keysASecond = 1 << 15    // since keysBegan
	keysBegan   = 1767225600 // 2026-01-01, in unix seconds
)

// reissues is the name in sqlite_sequence under which the least generation of
// new card codes stands.
const reissues = "code_generation"

// Tables whose rows have ids: sequenced ones have AUTOINCREMENT, floored ones
// have not.
var (
	sequenced = []string{"prizes", "webhooks", "events"}
	floored   = []string{"shops", "keys", "devices", "locations", "programs", "cards", "transactions"}
)

// SkipKeys makes every table whose rows have ids go on counting far behind its
// last row. It is for a file that was copied from a backup. Else a card that is
// made after the restore would have the id, and answer to the QR code, of one
// that was issued after the backup and is lost; and events would have the ids of
// events that were sent, so that receivers would drop them as repeats.
//
// SQLite counts by sqlite_sequence where a table has AUTOINCREMENT. For the
// others it takes no notice of the row, and nextKey does.
func SkipKeys(path string, now time.Time) (err error) {
	c, err := openConn(path, sqlite.Create, "journal_mode=OFF", "synchronous=OFF")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	set := func(name string, seq int64) error {
		if _, err := c.exec("DELETE FROM sqlite_sequence WHERE name=?", name); err != nil {
			return err
		}
		_, err := c.exec("INSERT INTO sqlite_sequence (name, seq) VALUES (?,?)", name, seq)
		return err
	}
	for _, table := range slices.Concat(sequenced, floored) {
		last, err := c.number("SELECT max(ifnull((SELECT max(id) FROM "+table+"), 0), ifnull((SELECT max(seq) FROM sqlite_sequence WHERE name=?), 0))", table)
		if err != nil {
			return err
		}
		if err := set(table, max(last+skippedKeys, (now.Unix()-keysBegan)*keysASecond)); err != nil {
			return err
		}
	}
	return set(reissues, max(0, now.Unix()-keysBegan)) // no card is reissued every second
}

// readFloors reads what SkipKeys wrote for floored tables and for reissues. It
// leaves out tables that are past it by now.
func (s *Store) readFloors() error {
	s.floors = map[string]int64{}
	r := s.writer.query("SELECT " + columns("name", "seq") + " FROM sqlite_sequence")
	for r.next() {
		if name, floor := r.str(), r.int(); name == reissues || slices.Contains(floored, name) {
			s.floors[name] = floor
		}
	}
	if err := r.close(); err != nil {
		return err
	}
	for _, table := range floored {
		floor, ok := s.floors[table]
		if !ok {
			continue
		}
		last, err := s.writer.number("SELECT ifnull(max(id), 0) FROM " + table)
		if err != nil {
			return err
		}
		if last >= floor {
			delete(s.floors, table)
		}
	}
	return nil
}

// nextKey returns the key of a table's next row if that is not simply one more
// than the last, and null else: in a restored file the keys behind the backup's
// last may have been given before, and what was known by their ids must not
// become something else. See SkipKeys.
func (tx *Tx) nextKey(table string) (key Null[int64], err error) {
	floor := tx.s.floors[table]
	if floor == 0 {
		return key, nil
	}
	last, err := tx.number("SELECT ifnull(max(id), 0) FROM " + table)
	if err == nil && last < floor {
		key = Some(floor + 1)
	}
	return key, err
}
