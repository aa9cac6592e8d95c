package app

import (
	"sync"
	"time"
)

// Clock is the clock of a fixture. It shows real time plus the time that it was
// advanced by, or stands still between advances.
type Clock struct {
	mu     sync.RWMutex
	first  time.Time // the time at the start; zero for a clock that runs
	frozen bool      // it stands still
	at     time.Time // the time it shows while it stands still

	// How far a running clock is ahead of real time. A Duration would overflow after 292 years.
	seconds, nanos int64
}

// NewClock returns a clock that stands still at t, or runs if t is zero.
func NewClock(t time.Time) *Clock { return &Clock{first: t, frozen: !t.IsZero(), at: t} }

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.frozen {
		return c.at
	}
	now := time.Now()
	return time.Unix(now.Unix()+c.seconds, int64(now.Nanosecond())+c.nanos)
}

// Advance advances the clock by d, which is not negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ahead := c.nanos + int64(d%time.Second)
	c.at = c.at.Add(d)
	c.seconds += int64(d/time.Second) + ahead/1e9
	c.nanos = ahead % 1e9
}

// Set makes the clock stand still at t, which may be earlier. It is for use before
// the server serves.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.frozen = t, true
}

// Rewind sets the clock back to its start.
func (c *Clock) Rewind() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.seconds, c.nanos = c.first, 0, 0
}

// start returns the time at which the clock stood still at first; ok is false if it
// runs.
func (c *Clock) start() (at time.Time, ok bool) { return c.first, !c.first.IsZero() }
