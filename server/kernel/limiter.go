package kernel

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"punchcard/store"
)

// Limiter limits the requests of each caller per minute. Each caller has a bucket
// that holds the requests of one minute and refills evenly.
type Limiter struct {
	perMinute int // 0: unlimited
	mu        sync.RWMutex
	buckets   map[int64]*allowance // by caller
}

// allowance is the limit of a caller, with its bucket.
type allowance struct {
	perMinute int           // 0: unlimited
	rate      *rate.Limiter // nil if unlimited
}

func newAllowance(perMinute int) *allowance {
	if perMinute == 0 {
		return &allowance{}
	}
	return &allowance{perMinute, rate.NewLimiter(rate.Limit(perMinute*perSecond), perMinute*cost)}
}

// NewLimiter returns a limiter. If perMinute is 0, it does not limit.
func NewLimiter(perMinute int) *Limiter {
	return &Limiter{perMinute: perMinute, buckets: map[int64]*allowance{}}
}

// Set gives a caller a limit of its own, 0 for none, and a full bucket.
func (l *Limiter) Set(caller int64, perMinute int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buckets[caller] = newAllowance(perMinute)
}

// noLimit is the allowance of the callers of a limiter that does not limit.
var noLimit = newAllowance(0)

// of returns the allowance of a caller.
func (l *Limiter) of(caller int64) *allowance {
	l.mu.RLock()
	a := l.buckets[caller]
	l.mu.RUnlock()
	if a != nil {
		return a
	}
	if l.perMinute == 0 {
		return noLimit
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a = l.buckets[caller]; a == nil {
		a = newAllowance(l.perMinute)
		l.buckets[caller] = a
	}
	return a
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
	a := l.of(caller)
	if a.perMinute == 0 {
		setLimitHeaders(h, unlimited, unlimited, "0")
		return true
	}
	t := now.Std()
	ok := a.rate.AllowN(t, cost)
	if !ok && a.setBack(t) {
		a.rate.SetLimitAt(t, a.rate.Limit()) // else a bucket that was empty stays so while the clock catches up
	}
	left := int(math.Round(a.rate.TokensAt(t)))
	setLimitHeaders(h, strconv.Itoa(a.perMinute), strconv.Itoa(left/cost), strconv.Itoa(a.seconds(a.perMinute*cost-left)))
	if !ok {
		h["Retry-After"] = []string{strconv.Itoa(max(1, a.seconds(cost-left)))}
	}
	return ok
}

// disorder is by how much requests that come at once may be taken out of the order of their times. It is
// also how long a bucket that was empty may stay so after the clock was set back.
const disorder = 5 * time.Second

// setBack reports whether the clock was set back, since the bucket, which is not full, was last filled long after t.
func (a *allowance) setBack(t time.Time) bool {
	return a.rate.TokensAt(t.Add(disorder)) == a.rate.TokensAt(t)
}

// Left returns how many requests of a caller are within the limit now, and false if there
// is no limit.
func (l *Limiter) Left(caller int64, now store.Time) (n int, limited bool) {
	a := l.of(caller)
	if a.perMinute == 0 {
		return 0, false
	}
	return int(math.Round(a.rate.TokensAt(now.Std()))) / cost, true
}

// setLimitHeaders sets the RateLimit headers. The three values share one array, which
// saves two allocations for every answer.
func setLimitHeaders(h http.Header, limit, remaining, reset string) {
	v := [3]string{limit, remaining, reset}
	h["RateLimit-Limit"], h["RateLimit-Remaining"], h["RateLimit-Reset"] = v[0:1:1], v[1:2:2], v[2:3:3]
}

// seconds returns how many seconds a bucket takes to gain some tokens, rounded up.
func (a *allowance) seconds(tokens int) int {
	rate := a.perMinute * perSecond
	return (tokens + rate - 1) / rate
}

// removeLimitHeaders removes the headers that Take sets.
func removeLimitHeaders(h http.Header) {
	for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"} {
		delete(h, name)
	}
}
