package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestBackoff checks the waits after failed attempts, which double up to maxBackoff.
func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		base    time.Duration
		attempt int
		want    time.Duration
	}{
		{5 * time.Second, 1, 5 * time.Second}, {5 * time.Second, 2, 10 * time.Second}, {5 * time.Second, 3, 20 * time.Second},
		{5 * time.Second, 4, 40 * time.Second},
		{5 * time.Second, 15, 5 << 14 * time.Second}, {5 * time.Second, 16, maxBackoff},
		{time.Millisecond, 1, time.Millisecond}, {time.Millisecond, 27, 1 << 26 * time.Millisecond}, {time.Millisecond, 28, maxBackoff},
		{time.Hour, 5, 16 * time.Hour}, {time.Hour, 6, maxBackoff},
	} {
		if got := Backoff(c.base, c.attempt, 0); got != c.want {
			t.Errorf("after attempt %d from %v: %v, want %v", c.attempt, c.base, got, c.want)
		}
	}
	// Waits never get shorter and are limited, for all attempts and bases that the
	// flags allow.
	for _, base := range []time.Duration{time.Millisecond, 5 * time.Second, time.Hour} {
		before := time.Duration(0)
		for attempt := 1; attempt <= 200; attempt++ {
			min, max := Backoff(base, attempt, 0), Backoff(base, attempt, 1)
			if min < base || min < before || min > maxBackoff || max != min+min/10 {
				t.Fatalf("after attempt %d from %v: %v to %v", attempt, base, min, max)
			}
			before = min
		}
		if before != maxBackoff {
			t.Errorf("from %v the waits end at %v, want %v", base, before, maxBackoff)
		}
	}
}

// TestRetryAfter checks the wait for numbers, dates and malformed values of a Retry-After header.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for h, want := range map[string]time.Duration{
		"": 0, "0": 0, "1": time.Second, " 30 ": 30 * time.Second, "007": 7 * time.Second, "3599": 3599 * time.Second,
		"3600": time.Hour, "3601": time.Hour,
		"18446744073709551615": time.Hour, "18446744073709551616": time.Hour, strings.Repeat("9", 1000): time.Hour,
		"-1": 0, "+1": 0, "1.5": 0, "1e3": 0, "0x10": 0, "1_000": 0, "5 s": 0, "5, 6": 0, "soon": 0, "٣": 0, "\x00": 0,
		at(0): 0, at(time.Second): time.Second, at(time.Hour): time.Hour, at(time.Hour + time.Second): time.Hour, at(-time.Second): 0,
		"Fri, 31 Dec 9999 23:59:59 GMT": time.Hour, "Mon, 01 Jan 0001 00:00:00 GMT": 0,
		"Sunday, 01-Mar-26 09:00:10 GMT": 10 * time.Second, "Sun Mar  1 09:00:10 2026": 10 * time.Second,
		"2026-03-01T09:00:10Z": 0, "Sun, 32 Mar 2026 09:00:10 GMT": 0,
	} {
		if got := RetryAfter(h, now); got != want {
			t.Errorf("%.60q: %v, want %v", h, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for _, h := range []string{"", "120", "-1", "99999999999999999999", "Sun, 01 Mar 2026 09:00:10 GMT", "soon", " 7"} {
		f.Add(h)
	}
	f.Fuzz(func(t *testing.T, h string) {
		got := RetryAfter(h, now)
		if got < 0 || got > time.Hour {
			t.Fatalf("%q: %v", h, got)
		}
		if n, err := strconv.Atoi(h); err == nil && n >= 0 && h[0] != '+' &&
			got != min(time.Duration(min(n, 3600))*time.Second, time.Hour) {
			t.Fatalf("%q: %v", h, got)
		}
	})
}
