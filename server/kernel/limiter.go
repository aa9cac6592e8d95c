package kernel

import (
	"math"
	"net/http"
	"strconv"
	"sync"

	"golang.org/x/time/rate"

	"punchcard/store"
)

// Limiter limits the requests of each caller per minute. Each caller has a bucket
// that holds the requests of one minute and refills evenly.
type Limiter struct {
	perMinute int // 0: unlimited
	mu        sync.RWMutex
	buckets   map[int64]*rate.Limiter // by caller
}

// NewLimiter returns a limiter. If perMinute is 0, it does not limit.
func NewLimiter(perMinute int) *Limiter {
	return &Limiter{perMinute: perMinute, buckets: map[int64]*rate.Limiter{}}
}

// bucket returns a caller's bucket.
func (l *Limiter) bucket(caller int64) *rate.Limiter {
	l.mu.RLock()
	b := l.buckets[caller]
	l.mu.RUnlock()
	if b != nil {
		return b
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if b = l.buckets[caller]; b == nil {
		b = rate.NewLimiter(rate.Limit(l.perMinute*perSecond), l.perMinute*cost)
		l.buckets[caller] = b
	}
	return b
}

// A request takes so many tokens that a bucket gains a whole number of them in a
// millisecond. With one token for a request there would be fractions, whose
// rounding would show in the headers.
const (
	cost      = 60_000    // tokens of a request
	perSecond = cost / 60 // tokens gained in a second, for each request of the limit
)

// unlimited is what the headers show where there is no limit, as a 32-bit number:
// clients that wait according to the headers never do.
const unlimited = "2147483647"

// Take counts a request of a caller and sets the RateLimit headers. It reports
// whether the request is within the limit; if not, it also sets Retry-After.
func (l *Limiter) Take(h http.Header, caller int64, now store.Time) bool {
	if l.perMinute == 0 {
		setLimitHeaders(h, unlimited, unlimited, "0")
		return true
	}
	b, t := l.bucket(caller), now.Std()
	ok := b.AllowN(t, cost)
	left := int(math.Round(b.TokensAt(t)))
	setLimitHeaders(h, strconv.Itoa(l.perMinute), strconv.Itoa(left/cost), strconv.Itoa(l.seconds(l.perMinute*cost-left)))
	if !ok {
		h["Retry-After"] = []string{strconv.Itoa(max(1, l.seconds(cost-left)))}
	}
	return ok
}

// Left returns how many requests of a caller are within the limit now, and false if there
// is no limit.
func (l *Limiter) Left(caller int64, now store.Time) (n int, limited bool) {
	if l.perMinute == 0 {
		return 0, false
	}
	return int(math.Round(l.bucket(caller).TokensAt(now.Std()))) / cost, true
}

// setLimitHeaders sets the RateLimit headers. The three values share one array, which
// saves two allocations for every answer.
func setLimitHeaders(h http.Header, limit, remaining, reset string) {
	v := [3]string{limit, remaining, reset}
	h["RateLimit-Limit"], h["RateLimit-Remaining"], h["RateLimit-Reset"] = v[0:1:1], v[1:2:2], v[2:3:3]
}

// seconds returns how many seconds a bucket takes to gain some tokens, rounded up.
func (l *Limiter) seconds(tokens int) int {
	rate := l.perMinute * perSecond
	return (tokens + rate - 1) / rate
}

// removeLimitHeaders removes the headers that Take sets.
func removeLimitHeaders(h http.Header) {
	for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"} {
		delete(h, name)
	}
}
