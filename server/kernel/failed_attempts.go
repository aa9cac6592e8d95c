package kernel

import (
	"errors"
	"sync"
	"time"

	"punchcard/store"
)

// attemptRule says how many failed attempts lock, and for how long.
type attemptRule struct {
	max    int           // failed attempts that lock
	window time.Duration // within which they count; 0: until a successful attempt
	lock   time.Duration
}

// failedAttempts are the failed attempts of one device or location.
type failedAttempts struct {
	wrong []store.Time // at most those of the rule
	until store.Time   // end of the lock
}

// locked returns how long the lock still lasts, 0 if there is none.
func (g *failedAttempts) locked(now store.Time) time.Duration {
	return max(0, g.until.Std().Sub(now.Std()))
}

// add counts a failed attempt and reports whether it locks. A lock begins the count
// again.
func (g *failedAttempts) add(rule attemptRule, now store.Time) bool {
	for rule.window > 0 && len(g.wrong) > 0 && g.wrong[0].Add(rule.window) <= now {
		g.wrong = g.wrong[1:]
	}
	if g.wrong = append(g.wrong, now); len(g.wrong) < rule.max {
		return false
	}
	g.wrong, g.until = nil, now.Add(rule.lock)
	return true
}

// attemptsByDevice are the failed attempts of devices.
type attemptsByDevice map[int64]*failedAttempts

// of returns the failed attempts of a device.
func (m attemptsByDevice) of(device int64) *failedAttempts {
	if m[device] == nil {
		m[device] = &failedAttempts{}
	}
	return m[device]
}

// refuseLocked returns the refusal of an attempt while a lock lasts.
func refuseLocked(message string, wait time.Duration) *Error {
	e := Refuse(store.RateLimited, message)
	e.RetryAfter = wait
	return e
}

// shortCodeRule is the rule for unknown codes of a device that can be guessed.
var shortCodeRule = attemptRule{max: 10, window: time.Minute, lock: time.Minute}

// shortCodes counts the unknown short codes, and codes of earlier cards, that devices send. Other codes
// and ids are too long to be guessed.
type shortCodes struct {
	mu      sync.Mutex
	devices attemptsByDevice
}

// count counts the outcome of a code of a device. Once the device is locked, it replaces
// every outcome by a refusal, so that no number of concurrent requests learns more than the rule
// allows.
func (s *shortCodes) count(device int64, now store.Time, outcome error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.devices.of(device)
	if wait := g.locked(now); wait > 0 {
		return refuseLocked("Too many unknown codes; for a minute the device takes none but the card's own QR code.", wait)
	}
	if errors.Is(outcome, store.ErrUnknownCode) {
		g.add(shortCodeRule, now)
	}
	return outcome
}
