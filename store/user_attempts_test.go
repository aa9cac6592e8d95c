package store

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestGuessRules checks which failures lock, and for how long. gaps has the seconds before each
// failure. want has for each failure a dot or, if it locks, the length of the lock in seconds.
func TestGuessRules(t *testing.T) {
	t.Parallel()
	minutes := func(m int) int { return 60 * m }
	for name, c := range map[string]struct {
		rule attemptRule
		gaps []int
		want string
	}{
		"five at once":           {browserRule, []int{0, 0, 0, 0, 0}, ". . . . 60"},
		"the count begins again": {browserRule, []int{0, 0, 0, 0, 0, 60, 0, 0, 0}, ". . . . 60 . . . ."},
		"each lock is longer": {
			browserRule, repeat(5, 9, 0),
			strings.TrimSpace(". . . . 60 . . . . 120 . . . . 240 . . . . 480 . . . . 960 . . . . 1920 . . . . 3600 . . . . 3600 . . . " +
				". 3600"),
		},
		"within 15 minutes":     {browserRule, []int{0, 0, 0, 0, minutes(15) - 1}, ". . . . 60"},
		"not within 15 minutes": {browserRule, []int{0, 0, 0, 0, minutes(15)}, ". . . . ."},
		"the window slides":     {browserRule, []int{0, minutes(10), 0, 0, minutes(5), 0}, ". . . . . 60"},
		"forgotten after a day": {browserRule, []int{0, 0, 0, 0, 0, minutes(24*60 + 1), 0, 0, 0, 0}, ". . . . 60 . . . . 60"},
		"not forgotten before":  {browserRule, []int{0, 0, 0, 0, 0, minutes(24 * 60), 0, 0, 0, 0}, ". . . . 60 . . . . 120"},
		"twenty of an address":  {addressRule, repeat(20, 1, 1), strings.Repeat(". ", 19) + "60"},
		"an account slows":      {accountRule, append(repeat(10, 1, 0), 30, 30, 30), strings.Repeat(". ", 9) + "30 30 30 30"},
		"and is free when the attack is over": {
			accountRule, append(repeat(10, 1, 0), 30, minutes(15), 0), strings.Repeat(". ", 9) + "30 30 . .",
		},
	} {
		var g failedAttempts
		now, got := Time(1_000_000), []string{}
		for _, gap := range c.gaps {
			now = now.Add(time.Duration(gap) * time.Second)
			var locks bool
			if g, locks = g.add(c.rule, now); !locks {
				got = append(got, ".")
				continue
			}
			got = append(got, fmt.Sprint(int(g.until.Std().Sub(now.Std()).Seconds())))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
		if end := g.end(c.rule); end <= now {
			t.Errorf("%s: the failures are forgotten at once", name)
		}
	}
}

// repeat returns n*times gaps of gap seconds.
func repeat(n, times, gap int) (gaps []int) {
	for range n * times {
		gaps = append(gaps, gap)
	}
	return gaps
}

// TestNetworks checks which addresses count as one.
func TestNetworks(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"198.51.100.7": "198.51.100.7", "::ffff:198.51.100.7": "198.51.100.7",
		"2001:db8:1:2:3::4": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := networkOf(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
