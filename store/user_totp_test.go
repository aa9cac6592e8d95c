package store

import (
	"testing"
	"time"
)

// TestTOTPVectors checks the codes of RFC 6238, appendix B. They have eight digits there, of
// which the last six are the codes of six digits.
func TestTOTPVectors(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890")
	for at, want := range map[int64]string{
		59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037",
		20000000000: "353130",
	} {
		if got := totpCode(secret, at/30); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
}

// TestTOTPSteps checks that a code is accepted one step before and after its own, and
// only once.
func TestTOTPSteps(t *testing.T) {
	t.Parallel()
	secret := []byte("12345678901234567890")
	const step = int64(1_700_000_000 / 30)
	now := func(s int64, into time.Duration) Time { return TimeOf(time.Unix(s*30, 0)).Add(into) }
	for name, c := range map[string]struct {
		now  Time
		last int64
		want bool
	}{
		"its own step":               {now(step, 0), 0, true},
		"its end":                    {now(step, 29_999*time.Millisecond), 0, true},
		"one step late":              {now(step+1, 29_999*time.Millisecond), 0, true},
		"two steps late":             {now(step+2, 0), 0, false},
		"one step early":             {now(step-1, 0), 0, true},
		"two steps early":            {now(step-2, 29_999*time.Millisecond), 0, false},
		"used":                       {now(step, 0), step, false},
		"a later one was used":       {now(step, 0), step + 1, false},
		"the one before it was used": {now(step, 0), step - 1, true},
	} {
		if got, ok := matchTOTP(secret, totpCode(secret, step), c.now, c.last); ok != c.want || ok && got != step {
			t.Errorf("%s: step %d, %t", name, got, ok)
		}
	}
	for _, wrong := range []string{"", "12345", "000000", "+12345", "1234567"} {
		if _, ok := matchTOTP(secret, wrong, now(step, 0), 0); ok {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
