package kernel

import (
	"testing"
	"time"

	"punchcard/store"
)

// TestSearchRates checks that a device may search 20 times in any minute and 200 times in any
// day, and how long a refusal tells it to wait.
func TestSearchRates(t *testing.T) {
	var s searches
	now := store.TimeOf(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
	take := func(want time.Duration) { // 0: the search is not refused
		t.Helper()
		wait := time.Duration(0)
		if err := s.take(1, now); err != nil {
			wait = err.(*Error).RetryAfter
		}
		if wait != want {
			t.Errorf("a search must wait for %s, want %s", wait, want)
		}
	}
	for minute := range 10 {
		for range 20 {
			take(0)
		}
		if minute < 9 {
			take(time.Minute)
			now = now.Add(time.Minute)
		}
	}
	take(24*time.Hour - 9*time.Minute)
	if err := s.take(2, now); err != nil {
		t.Errorf("another device: %v", err)
	}
	now = now.Add(24*time.Hour - 9*time.Minute - 1)
	take(1 * time.Millisecond)
	now++
	for range 20 {
		take(0)
	}
	take(time.Minute)
}
