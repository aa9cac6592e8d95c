package app

import (
	"sync"
	"time"
)

// Clock is the fixture's one clock: real time plus what it was moved by, or a
// time that stands still between moves.
type Clock struct {
	mu     sync.RWMutex
	first  time.Time // zero: it runs
	frozen bool
	at     time.Time // while frozen

	// Else how far it is ahead of real time. A Duration ends at 292 years.
	seconds, nanos int64
}

// NewClock makes a clock that stands at t, or runs when t is zero.
func NewClock(t time.Time) *Clock { return &Clock{first: t, frozen: !t.IsZero(), at: t} }

// Now is the time it shows.
func (c *Clock) Now() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.frozen {
		return c.at
	}
	now := time.Now()
	return time.Unix(now.Unix()+c.seconds, int64(now.Nanosecond())+c.nanos)
}

// Advance moves it forward; d is not negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ahead := c.nanos + int64(d%time.Second)
	c.at, c.seconds, c.nanos = c.at.Add(d), c.seconds+int64(d/time.Second)+ahead/1e9, ahead%1e9
}

// Set stops it at t, which may be earlier; only what is not yet served may do so.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.frozen = t, true
}

// Rewind sets it back to its start.
func (c *Clock) Rewind() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.seconds, c.nanos = c.first, 0, 0
}

// start is the time at which it stood at its start; not where it runs.
func (c *Clock) start() (at time.Time, stands bool) { return c.first, !c.first.IsZero() }
