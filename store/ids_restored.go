package store

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// The highest bits of a key are the number of the file that gave it out: 0 unless the file is a copy that CopyShop made. The other
// ones number the rows. They leave a bit free, since some columns have twice a key.
const (
	fileBits = 15
	keyBits  = 47
)

// Keys of a restored file begin far above the last key of the backup, and at a number
// that grows with time: files restored at two times, also from one backup, give
// out different keys. keyBits are enough for it until the year 2162.
const (
	skippedKeys   = 1 << 32    // added to the backup's last key
	keysPerSecond = 1 << 15    // since keyEpoch
	keyEpoch      = 1767225600 // 2026-01-01, in unix seconds
)

// The names in sqlite_sequence of other numbers that continue above those that may
// have been given out.
const (
	reissues       = "code_generation" // the least generation of new card codes
	eventSequences = "event_sequence"  // the least events.sequence of every shop, less 1
	moves          = "moves"           // how often a move of a shop was begun; with a blank and a shop, the number of its copy
)

// The tables whose rows have ids: sequenced ones have AUTOINCREMENT, floored ones do
// not.
var (
	sequenced = strings.Fields(`
		prizes webhooks events sessions links imports card_runs push_subscriptions apple_passes apple_devices google_objects
	`)
	floored = strings.Fields("shops keys devices locations programs cards transactions users staff")
)

// skipKeys makes all tables whose rows have ids continue far above their last key. It
// is for a file that was copied from a backup. Otherwise a card made after the
// restore would have the id and QR code of one that was issued after the backup and
// is lost, and events would have ids that were sent before, so that receivers would
// drop them as repeats.
//
// SQLite uses sqlite_sequence for tables with AUTOINCREMENT. For the others, nextKey
// uses it.
func (q *queries) skipKeys(now time.Time) {
	for _, table := range slices.Concat(sequenced, floored) {
		if q.number("SELECT count(*) FROM sqlite_schema WHERE name=?", table) == 0 { // the backup is of an older version
			continue
		}
		last := q.lastKey(table)
		q.setSequence(table, max(last+skippedKeys, last>>keyBits<<keyBits+(now.Unix()-keyEpoch)*keysPerSecond))
	}
	// No sequence exceeds the key of its event.
	q.setSequence(eventSequences, q.number("SELECT seq FROM sqlite_sequence WHERE name='events'"))
	q.setSequence(reissues, max(0, now.Unix()-keyEpoch)) // more than any card was reissued: none is every second
}

// setSequence sets a row of sqlite_sequence.
func (q *queries) setSequence(name string, seq int64) {
	q.exec("DELETE FROM sqlite_sequence WHERE name=?", name)
	q.exec("INSERT INTO sqlite_sequence (name, seq) VALUES (?,?)", name, seq)
}

// keepKeys has the keys of floored tables continue above their last ones, also after the rows with
// those are erased. All processes read that with the epoch, which the caller raises.
func (tx *Tx) keepKeys() {
	for _, table := range floored {
		tx.setSequence(table, tx.lastKey(table))
	}
}

// lastKey returns the last key that may have been given out in a table whose rows have ids.
func (q *queries) lastKey(table string) int64 {
	return max(q.number("SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name=?", table),
		q.number("SELECT ifnull(max(id), 0) FROM "+table))
}

// readFloors reads what skipKeys, keepKeys and CopyShop wrote for floored tables, for reissues and
// for the sequences of events. It leaves out tables whose keys are beyond it.
func (s *Store) readFloors() error {
	s.floors = map[string]int64{}
	q := queries{conn: s.writer}
	for r := range q.each("SELECT name, seq FROM sqlite_sequence") {
		name, floor := r.str(), r.int()
		isTable := slices.Contains(floored, name)
		if name == reissues || name == eventSequences || isTable && q.number("SELECT ifnull(max(id), 0) FROM "+name) <= floor {
			s.floors[name] = floor
		}
	}
	return q.failed
}

// restoreID returns a text that is another one after each restore of the file, since skipKeys
// writes the time into the file.
func (s *Store) restoreID() string {
	return string(s.seal(nil, kindRestore, uint64(s.floors[reissues]), 0))
}

// nextKey returns the key of a floored table's next row if it must not be the last
// one plus 1, else null. In a restored file those keys may have been given out
// before; see skipKeys.
func (tx *Tx) nextKey(table string) Null[int64] {
	floor := tx.s.floors[table]
	if floor == 0 || tx.number("SELECT ifnull(max(id), 0) FROM "+table) >= floor {
		return Null[int64]{}
	}
	return Some(floor + 1)
}

// copyNumber returns the number of a file's k-th copy, from 1 on. It is the file's number followed by octal digits of which only the
// last is odd, so that the number of no file begins with that of another which is not its origin. There are fileBits/3 digits: enough
// for 1,364 copies of a file, 340 of each of the first four of them, then 84, 20 and 4. ok is false if there are no more.
func copyNumber(file, k int64) (number int64, ok bool) {
	unit := int64(1 << fileBits) // what the last digit of the file's number counts
	for file%unit != 0 {
		unit /= 8
	}
	for many := int64(4); unit > 1; many *= 4 { // of so many digits more
		unit /= 8
		if k <= many {
			digits, err := strconv.ParseInt(strconv.FormatInt(k-1, 4), 8, 64)
			return file + (2*digits+1)*unit, err == nil
		}
		k -= many
	}
	return 0, false
}
