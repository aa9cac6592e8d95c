package till_test

import (
	"fmt"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

// TestRateLimit checks the limit of a device with four requests a minute, so one
// more every 15 seconds.
func TestRateLimit(t *testing.T) {
	s := start(t, servertest.Frozen, func(c *app.Config) { c.Limits.TillRateLimitPerMinute = new(4) })
	card := s.Issue(s.ProgramIDs["standard"], nil)
	step := func(r *servertest.Reply, want string) {
		t.Helper()
		got := fmt.Sprint(r.Status)
		for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"} {
			got += " " + r.Header.Get(name)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", r.What, got, want)
		}
	}
	step(s.Get("/me"), "200 4 3 15 ")
	step(s.Get("/cards/none"), "404 4 2 30 ")
	step(stamp(s, card, nil, idempotent, "k"), "201 4 1 45 ")
	step(stamp(s, card, nil, idempotent, "k"), "201 4 0 60 ") // a replay
	s.Unchanged(func() {
		step(s.Get("/me"), "429 4 0 60 15")
		step(stamp(s, card, nil, idempotent, "l"), "429 4 0 60 15")
	})
	step(s.With("tdk_test_none").Get("/me"), "401    ")
	step(s.NewDevice(s.LocationIDs[0]).Get("/me"), "200 4 3 15 ") // another device has its own
	s.Advance("15s")
	step(stamp(s, card, nil, idempotent, "l"), "201 4 0 60 ")
}
