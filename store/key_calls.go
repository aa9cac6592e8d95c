package store

// keptCallDays is for how many days the calls of keys are kept.
const keptCallDays = 31

// UTCDay returns the number of a time's day in UTC, since 1970-01-01.
func UTCDay(t Time) int64 { return Day(t.Std()) }

// CallsOf returns the calls of a key on a day in UTC.
func (v *View) CallsOf(key, day int64) (int64, error) {
	return v.number("SELECT ifnull((SELECT calls FROM key_calls WHERE key_id=? AND day=?), 0)", key, day), v.failed
}

// KeyDay is a day of a key.
type KeyDay struct {
	Key int64
	Day int64 // in UTC, since 1970-01-01
}

// NoteCalls stores how many calls keys have made on a day, and forgets what is older than
// 31 days. A count never goes back. It ignores keys whose shop was deleted meanwhile. No audit row says it.
func (tx *Tx) NoteCalls(calls map[KeyDay]int64) error {
	for d, n := range calls {
		tx.exec("INSERT INTO key_calls (key_id, day, calls) SELECT id, ?, ? FROM keys WHERE id=? AND "+ofShopNotDeleted+
			" ON CONFLICT (key_id, day) DO UPDATE SET calls=max(calls, excluded.calls)", d.Day, n, d.Key)
		tx.exec("DELETE FROM key_calls WHERE key_id=? AND day<=?", d.Key, d.Day-keptCallDays)
	}
	return tx.failed
}
