package kernel

import (
	"math"
	"net/http"
	"strconv"
	"sync"

	"golang.org/x/time/rate"

	"punchcard/store"
)

// Limiter is a rate limit of so many requests per minute and caller. Each caller
// has a bucket that holds one minute's worth and refills evenly.
type Limiter struct {
	perMinute int // 0: unlimited
	mu        sync.RWMutex
	buckets   map[int64]*rate.Limiter // by caller
}

// NewLimiter returns a rate limit; 0 requests per minute mean no limit.
func NewLimiter(perMinute int) *Limiter {
	return &Limiter{perMinute: perMinute, buckets: map[int64]*rate.Limiter{}}
}

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

// A request costs so many tokens that a millisecond brings a whole number of
// them. Counted in requests they would be fractions, whose rounding shows in
// the headers.
const (
	cost      = 60_000
	perSecond = cost / 60 // per request of the limit
)

// unlimited is what the headers show where there is no limit: clients that
// pace themselves by them never wait.
var unlimited = []string{strconv.Itoa(math.MaxInt32), "0"}

// Take counts one request of a caller and sets the RateLimit headers. It reports
// whether the request is within the limit; where it is not, Take also sets
// Retry-After.
func (l *Limiter) Take(h http.Header, caller int64, now store.Time) bool {
	if l.perMinute == 0 {
		h["RateLimit-Limit"], h["RateLimit-Remaining"], h["RateLimit-Reset"] = unlimited[:1:1], unlimited[:1:1], unlimited[1:2:2]
		return true
	}
	b, at := l.bucket(caller), now.Std()
	ok := b.AllowN(at, cost)
	left := int(math.Round(b.TokensAt(at)))
	v := [4]string{strconv.Itoa(l.perMinute), strconv.Itoa(left / cost), strconv.Itoa(l.seconds(l.perMinute*cost - left))}
	h["RateLimit-Limit"], h["RateLimit-Remaining"], h["RateLimit-Reset"] = v[0:1:1], v[1:2:2], v[2:3:3]
	if !ok {
		v[3] = strconv.Itoa(max(1, l.seconds(cost-left)))
		h["Retry-After"] = v[3:4:4]
	}
	return ok
}

// seconds returns how long the bucket takes to gain some tokens, rounded up.
func (l *Limiter) seconds(tokens int) int {
	rate := l.perMinute * perSecond
	return (tokens + rate - 1) / rate
}

// removeLimitHeaders removes what Take set.
func removeLimitHeaders(h http.Header) {
	for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"} {
		delete(h, name)
	}
}
