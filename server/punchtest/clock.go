package punchtest

import (
	"net/http"
	"time"
)

// ServerClock is the one clock of a server: expiry, the ends of keys and links,
// idempotency windows, rate limits and webhook retries all go by it. Time-outs
// and delays of requests are real time.
type ServerClock struct{ s *Server }

// Now is the time that the clock shows, in UTC and of milliseconds.
func (c *ServerClock) Now() time.Time { return c.s.clock.Now().UTC().Truncate(time.Millisecond) }

// Advance moves the clock forward. It stops at each instant at which a webhook
// is due and attempts that, so that all that d brings has happened when it
// returns. d must not be negative.
func (c *ServerClock) Advance(d time.Duration) {
	c.s.t.Helper()
	c.s.operate(http.MethodPost, "/clock", map[string]string{"advance": d.String()})
}

// Set is [ServerClock.Advance] to an instant, which must not be past.
func (c *ServerClock) Set(t time.Time) {
	c.s.t.Helper()
	c.s.operate(http.MethodPost, "/clock", map[string]time.Time{"now": t})
}
