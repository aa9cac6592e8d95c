package dev_test

import (
	"fmt"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

// captured returns the addresses of the captured mail, oldest first.
func captured(r *server) (to []string) {
	r.T.Helper()
	type box struct{ Data []struct{ To string } }
	for _, m := range servertest.Decode[box](r.ControlAPI().Try(r.T.Context(), "GET", "/emails", nil)).Data {
		to = append(to, m.To)
	}
	return to
}

// TestEmailsOverQuota checks that the quotas of mail hold in a fixture: five messages
// a day to an address, and as many in an hour as --mail-per-hour says, if it is
// given. A message over a quota arrives when the clock has been advanced far enough.
func TestEmailsOverQuota(t *testing.T) {
	t.Parallel()
	mailTo := func(s *server, address string) {
		s.Post(cardsPath(s), fields{"holder_email": address, "send_email": true}).Want(201)
	}
	s := serve(t)
	for range 7 {
		mailTo(s, "ada@example.com")
	}
	for i := range 200 {
		mailTo(s, fmt.Sprintf("p%d@example.com", i))
	}
	if n := len(captured(s)); n != 205 {
		t.Errorf("%d messages arrived at once, want 205", n)
	}
	advance(s, 24*time.Hour-time.Second)
	if n := len(captured(s)); n != 205 {
		t.Errorf("%d messages had arrived within a day", n)
	}
	advance(s, time.Second)
	if n := len(captured(s)); n != 207 {
		t.Errorf("%d messages had arrived after a day, want 207", n)
	}

	two := 2
	s = serve(t, func(c *app.Config) { c.Limits.MailPerHour = &two })
	for i := range 5 {
		mailTo(s, fmt.Sprintf("p%d@example.com", i))
	}
	for _, want := range []int{2, 4, 5} {
		if to := captured(s); len(to) != want || to[want-1] != fmt.Sprintf("p%d@example.com", want-1) {
			t.Errorf("%v arrived, want %d", to, want)
		}
		advance(s, time.Hour)
	}
	s.Control("POST", "/reset", nil)
	mailTo(s, "ada@example.com")
	if to := captured(s); len(to) != 1 {
		t.Errorf("after a reset %v arrived", to)
	}
}
