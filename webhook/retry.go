package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxRetryAfter = time.Hour      // longest wait that a receiver can ask for
	maxBackoff    = 24 * time.Hour // longest wait before the jitter
)

// backoff returns the wait after the given number of failed attempts: base,
// doubled for each further one, plus up to a tenth, so that deliveries that
// failed together are not all retried together. jitter is from 0 to 1.
func backoff(base time.Duration, attempt int, jitter float64) time.Duration {
	wait := base
	for range attempt - 1 {
		if wait >= maxBackoff/2 {
			wait = maxBackoff
			break
		}
		wait *= 2
	}
	return wait + time.Duration(jitter*float64(wait)/10)
}

// retryAfter returns the wait that a Retry-After header asks for, in seconds or
// by a date: at most maxRetryAfter, and 0 if it is in the past or malformed.
func retryAfter(h string, now time.Time) time.Duration {
	h = strings.TrimSpace(h)
	if n, err := strconv.ParseUint(h, 10, 64); err == nil {
		return time.Duration(min(n, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	if h != "" && strings.Trim(h, "0123456789") == "" { // a number beyond 64 bits
		return maxRetryAfter
	}
	t, err := http.ParseTime(h)
	if err != nil {
		return 0
	}
	return min(max(t.Sub(now), 0), maxRetryAfter)
}
