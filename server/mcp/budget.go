package mcp

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"

	"punchcard/store"
)

// budget counts the calls of keys on each day in UTC. The counts are kept in memory, read
// from the file with a key's first call of a day, and written by Flush.
type budget struct {
	st  *store.Store
	max int // calls of a key and day; 0: no limit

	mu   sync.Mutex
	days map[store.KeyDay]*count
}

// count is the number of calls of a key on a day.
type count struct {
	calls   int64
	written int64
}

const dayMS = 24 * 60 * 60 * 1000

// take counts a call. It reports false, and does not count it, if the budget of the day is
// used up. used is the number of calls with this one.
func (b *budget) take(key int64, now store.Time) (used int64, ok bool, err error) {
	c, err := b.count(key, now)
	if err != nil {
		return 0, false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.max > 0 && c.calls >= int64(b.max) {
		return c.calls, false, nil
	}
	c.calls++
	return c.calls, true, nil
}

// used returns the calls of a key on the day.
func (b *budget) used(key int64, now store.Time) (int64, error) {
	c, err := b.count(key, now)
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return c.calls, nil
}

// count returns the count of a key on the day, with what the file has of it.
func (b *budget) count(key int64, now store.Time) (*count, error) {
	d := store.KeyDay{Key: key, Day: store.UTCDay(now)}
	b.mu.Lock()
	c := b.days[d]
	b.mu.Unlock()
	if c != nil {
		return c, nil
	}
	calls, err := store.Read(b.st, func(v *store.View) (int64, error) { return v.CallsOf(d.Key, d.Day) })
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.days[d] == nil {
		b.days[d] = &count{calls: calls, written: calls}
	}
	return b.days[d], nil
}

// unwritten returns the counts that the file does not have.
func (b *budget) unwritten() map[store.KeyDay]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := map[store.KeyDay]int64{}
	for d, c := range b.days {
		if c.calls != c.written {
			changed[d] = c.calls
		}
	}
	return changed
}

// Flush writes the counts of calls that the file does not have yet, and forgets those of
// days that have passed. The server calls it once a second, and once more after the last
// request.
func (f *Face) Flush() error {
	b := &f.days
	changed := b.unwritten()
	if len(changed) > 0 {
		if err := b.st.SystemWrite(context.Background(), func(tx *store.Tx) error { return tx.NoteCalls(changed) }); err != nil {
			if errors.Is(err, store.ErrClosed) {
				return nil
			}
			return err
		}
	}
	today := store.UTCDay(b.st.Now())
	b.mu.Lock()
	defer b.mu.Unlock()
	for d, n := range changed {
		b.days[d].written = n
	}
	for d, c := range b.days {
		if d.Day != today && c.calls == c.written {
			delete(b.days, d)
		}
	}
	return nil
}

// setHeaders sets the headers that say how much of the day's budget is left. It returns how
// many calls are left, -1 if there is no limit.
func (b *budget) setHeaders(h http.Header, used int64, now store.Time) (left int) {
	h.Set("X-Daily-Reset", strconv.FormatInt(b.reset(now), 10))
	if b.max == 0 {
		h.Set("X-Daily-Limit", "2147483647")
		h.Set("X-Daily-Remaining", "2147483647")
		return -1
	}
	left = max(0, b.max-int(used))
	h.Set("X-Daily-Limit", strconv.Itoa(b.max))
	h.Set("X-Daily-Remaining", strconv.Itoa(left))
	return left
}

// reset returns in how many seconds the next day in UTC begins.
func (b *budget) reset(now store.Time) int64 { return (dayMS - int64(now)%dayMS + 999) / 1000 }
