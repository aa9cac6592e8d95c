package punchtest

import (
	"net/http"
	"time"
)

// ServerClock is the clock of a server. Expiry of cards, keys and links, idempotency
// windows, rate limits and webhook retries use it. Time-outs and delays of requests
// are real time.
type ServerClock struct{ s *Server }

// Now returns the time of the clock, in UTC and whole milliseconds.
func (c *ServerClock) Now() time.Time { return c.s.clock.Now().UTC().Truncate(time.Millisecond) }

// Advance advances the clock by d, which must not be negative. It stops at each
// instant at which a webhook is due and attempts that, so that everything that
// becomes due has happened when it returns.
func (c *ServerClock) Advance(d time.Duration) {
	c.s.t.Helper()
	c.s.operate(http.MethodPost, "/clock", map[string]string{"advance": d.String()}, nil)
}

// Set is [ServerClock.Advance] to an instant, which must not be in the past.
func (c *ServerClock) Set(t time.Time) {
	c.s.t.Helper()
	c.s.operate(http.MethodPost, "/clock", map[string]time.Time{"now": t}, nil)
}
