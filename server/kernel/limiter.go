package kernel

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limiters hold one bucket per key (spec Authentication 11): a minute's worth
// of requests, refilled evenly.
type limiters struct {
	perMinute int // 0: unlimited
	mu        sync.RWMutex
	buckets   map[int64]*rate.Limiter
}

func newLimiters(perMinute int) *limiters {
	return &limiters{perMinute: perMinute, buckets: map[int64]*rate.Limiter{}}
}

func (l *limiters) bucket(key int64) *rate.Limiter {
	l.mu.RLock()
	b := l.buckets[key]
	l.mu.RUnlock()
	if b != nil {
		return b
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if b = l.buckets[key]; b == nil {
		b = rate.NewLimiter(rate.Limit(l.perMinute*perSecond), l.perMinute*cost)
		l.buckets[key] = b
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

// take spends one request of the key's minute and writes the RateLimit
// headers; where nothing is left it also writes Retry-After and tells so.
func (l *limiters) take(h http.Header, key int64, now time.Time) bool {
	if l.perMinute == 0 {
		h["RateLimit-Limit"], h["RateLimit-Remaining"], h["RateLimit-Reset"] = unlimited[:1:1], unlimited[:1:1], unlimited[1:2:2]
		return true
	}
	b := l.bucket(key)
	ok := b.AllowN(now, cost)
	left := int(math.Round(b.TokensAt(now)))
	v := [4]string{strconv.Itoa(l.perMinute), strconv.Itoa(left / cost), strconv.Itoa(l.seconds(l.perMinute*cost - left))}
	h["RateLimit-Limit"], h["RateLimit-Remaining"], h["RateLimit-Reset"] = v[0:1:1], v[1:2:2], v[2:3:3]
	if !ok {
		v[3] = strconv.Itoa(max(1, l.seconds(cost-left)))
		h["Retry-After"] = v[3:4:4]
	}
	return ok
}

// seconds is how long the bucket takes to gain some tokens, rounded up.
func (l *limiters) seconds(tokens int) int {
	rate := l.perMinute * perSecond
	return (tokens + rate - 1) / rate
}

// untake removes what take wrote.
func untake(h http.Header) {
	for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"} {
		delete(h, name)
	}
}
