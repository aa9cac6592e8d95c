package app_test

import (
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

// TestClockSetBack sets the clock of a running server back by an hour. Reads and writes must work
// with times that do not go back, and a key that had used up its requests must get new ones within
// seconds, not after the hour.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	const perMinute = 60
	var clock *app.Clock
	s := servertest.Start(t, servertest.Frozen, func(c *app.Config) {
		clock = c.Dev.Clock
		limit := perMinute
		c.Limits.APIKeyRateLimitPerMinute = &limit
	}).REST()
	type dated struct {
		ID        string `json:"id"`
		CreatedAt string `json:"created_at"`
	}
	issue := func() (card dated) {
		t.Helper()
		s.Post("/programs/"+s.ProgramIDs["standard"]+"/cards", map[string]any{}).Want(201).Decode(&card)
		return card
	}
	first := issue()
	for range perMinute - 1 {
		s.Get("/me").Want(200)
	}
	refused := s.Get("/me").Want(429, "rate_limited").Str("error.message")
	if refused != "The key's requests for this minute are used up; see Retry-After." {
		t.Errorf("refused: %s", refused)
	}
	clock.Set(clock.Now().Add(-time.Hour))
	s.Get("/me").Want(429, "rate_limited")
	s.Advance("3s")
	if next := issue(); next.CreatedAt < first.CreatedAt {
		t.Errorf("a card was created at %s, and the next one at %s", first.CreatedAt, next.CreatedAt)
	}
	s.Get("/cards/" + first.ID).Want(200)
	s.Get("/me").Want(200)
}
