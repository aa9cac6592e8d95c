package webhook

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxRetryAfter = time.Hour      // a receiver may ask for no longer wait (contract section 5, "Backoff")
	maxBackoff    = 24 * time.Hour // where many attempts are allowed, doubling must end somewhere
)

// backoff is the wait after the attempt-th failure: base, doubled by each
// further one, plus up to a tenth, so that what failed together does not come
// back together. jitter is from 0 to 1.
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

// retryAfter reads a Retry-After header: seconds or a date. What it cannot
// read, or what lies in the past, is 0; what is too long is cut.
func retryAfter(h string, now time.Time) time.Duration {
	h = strings.TrimSpace(h)
	if n, err := strconv.ParseUint(h, 10, 64); err == nil {
		if n > uint64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		return time.Duration(n) * time.Second
	}
	if digits := strings.Trim(h, "0123456789") == "" && h != ""; digits {
		return maxRetryAfter // more digits than a number holds
	}
	at, err := http.ParseTime(h)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
