package kernel

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punchcard/store"
)

// bucket is a bucket in integer arithmetic: a request takes 60,000 units, and a
// millisecond adds perMinute units.
type bucket struct{ perMinute, units int64 }

// oneRequest is the number of units that a request takes.
const oneRequest = 60_000

// pass adds the units of a time.
func (b *bucket) pass(ms int64) {
	b.units = min(b.units+ms*b.perMinute, b.perMinute*oneRequest)
}

// take makes a request, and returns what its headers must say.
func (b *bucket) take() (ok bool, remaining, reset, retryAfter int64) {
	if ok = b.units >= oneRequest; ok {
		b.units -= oneRequest
	} else {
		retryAfter = max(1, ceil(oneRequest-b.units, b.perMinute*1000))
	}
	return ok, b.units / oneRequest, ceil(b.perMinute*oneRequest-b.units, b.perMinute*1000), retryAfter
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// TestLimiterIsExact compares every header with integer arithmetic, for many limits
// and random pauses.
func TestLimiterIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, perMinute := range []int{1, 2, 3, 4, 6, 7, 9, 11, 13, 30, 59, 60, 61, 97, 100, 299, 300, 301, 600, 1000, 7919, 1_000_000} {
		l := NewLimiter(perMinute)
		model := &bucket{int64(perMinute), int64(perMinute) * oneRequest}
		now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
		wait := int64(0)
		for i := range 3000 {
			ms := [...]int64{0, 0, 0, 1, r.Int64N(20), r.Int64N(1000), r.Int64N(1 + 120_000/int64(perMinute)), wait * 1000}[r.IntN(8)]
			now = now.Add(time.Duration(ms) * time.Millisecond)
			model.pass(ms)
			h := http.Header{}
			ok := l.Take(h, 7, store.TimeOf(now))
			wantOK, remaining, reset, retryAfter := model.take()
			want := []string{strconv.Itoa(perMinute), strconv.FormatInt(remaining, 10), strconv.FormatInt(reset, 10), ""}
			if wait = retryAfter; wait > 0 {
				want[3] = strconv.FormatInt(wait, 10)
			}
			for j, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"} {
				got := ""
				if v := h[name]; len(v) == 1 {
					got = v[0]
				}
				if got != want[j] || ok != wantOK {
					t.Fatalf("%d per minute, request %d: %v %s %q, want %v %q", perMinute, i, ok, name, got, wantOK, want[j])
				}
			}
		}
	}
}

// TestLimiterGivesNothingForDisorder checks that refused requests that are taken out of the order of their times do
// not fill the bucket, and that a clock that was set back does not keep it empty.
func TestLimiterGivesNothingForDisorder(t *testing.T) {
	for _, perMinute := range []int{1, 100, 10_000} {
		l := NewLimiter(perMinute)
		now := time.Unix(10_000, 0)
		take := func(now time.Time) bool { return l.Take(http.Header{}, 7, store.TimeOf(now)) }
		for range perMinute {
			take(now)
		}
		for range 1000 {
			if take(now.Add(-100*time.Millisecond)) || take(now) {
				t.Fatalf("%d per minute: more than the limit", perMinute)
			}
		}
		back := now.Add(-time.Hour)
		if take(back) || !take(back.Add(time.Minute)) {
			t.Errorf("%d per minute: the clock that was set back keeps the bucket empty, or fills it", perMinute)
		}
	}
}

func TestLimiterUnderConcurrency(t *testing.T) {
	l := NewLimiter(100)
	now := time.Unix(1000, 0)
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				if l.Take(http.Header{}, 1, store.TimeOf(now)) {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if passed.Load() != 100 {
		t.Errorf("%d requests passed, want 100", passed.Load())
	}
}

// TestLimiterOfOneCaller checks that a caller's own limit holds from its next request on, with
// a full bucket, and changes nothing for others.
func TestLimiterOfOneCaller(t *testing.T) {
	now := store.TimeOf(time.Unix(0, 0))
	for _, general := range []int{0, 1} {
		l := NewLimiter(general)
		passed := func(caller int64) (n int) {
			for n < 5 && l.Take(http.Header{}, caller, now) {
				n++
			}
			return n
		}
		others := passed(8)
		for _, own := range []int{3, 1, 0, 2} {
			l.Set(7, own)
			want := own
			if own == 0 {
				want = 5
			}
			if left, limited := l.Left(7, now); left != own || limited != (own != 0) {
				t.Errorf("%d of %d left, %t", left, own, limited)
			}
			if n := passed(7); n != want {
				t.Errorf("%d requests passed, want %d", n, want)
			}
		}
		l.Set(7, 0)
		if n := passed(9); n != others {
			t.Errorf("%d requests of another caller passed, want %d", n, others)
		}
	}
}

func TestUnlimited(t *testing.T) {
	l := NewLimiter(0)
	h := http.Header{}
	for range 1000 {
		if !l.Take(h, 1, store.TimeOf(time.Unix(0, 0))) {
			t.Fatal("refused")
		}
	}
	limit, remaining, reset := "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset" // not in Go's canonical case
	if h[limit][0] != "2147483647" || h[remaining][0] != "2147483647" || h[reset][0] != "0" || h["Retry-After"] != nil {
		t.Errorf("%v", h)
	}
	// Requests do not share the slices of the headers.
	_ = append(h[limit], "x")
	h[limit][0], h[reset][0] = "1", "1"
	next := http.Header{}
	l.Take(next, 1, store.TimeOf(time.Unix(0, 0)))
	if next[limit][0] != "2147483647" || next[reset][0] != "0" {
		t.Errorf("%v", next)
	}
}

func TestRemoveLimitHeaders(t *testing.T) {
	l := NewLimiter(1)
	h := http.Header{"X-Request-Id": {"req_1"}}
	l.Take(h, 1, store.TimeOf(time.Unix(0, 0)))
	l.Take(h, 1, store.TimeOf(time.Unix(0, 0)))
	if len(h) != 5 {
		t.Fatalf("%v", h)
	}
	if removeLimitHeaders(h); len(h) != 1 {
		t.Errorf("%v", h)
	}
}

// TestConcurrentPINs checks that concurrent wrong PINs of a device are counted
// exactly and separately from devices of other locations, and that only time ends a lock.
func TestConcurrentPINs(t *testing.T) {
	p := newStaffPINs()
	try := func(device int64, now store.Time, given ...string) (status int, after string) {
		w := httptest.NewRecorder()
		_, err := p.check(&store.TillIdentity{Till: store.Till{Device: device, Location: device}, PIN: "not a hash"}, given, now)
		e := AsError(err, StatusOf)
		k := &Kernel{}
		w.Header()["X-Request-Id"] = []string{"req_1"}
		k.sendError(w, e)
		return e.Status, w.Header().Get("Retry-After")
	}
	const start = store.Time(1_800_000_000_000)
	var wg sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	for range 50 {
		wg.Go(func() {
			status, _ := try(1, start, "0000")
			mu.Lock()
			defer mu.Unlock()
			got[status]++
		})
	}
	wg.Wait()
	if max := devicePINRule.max; got[401] != max || got[429] != 50-max {
		t.Errorf("%v", got)
	}
	for _, c := range []struct {
		device int64
		now    store.Time
		status int
		after  string
	}{
		{2, start, 401, ""}, {1, start + 1, 429, "60"}, {1, start + 59_001, 429, "1"}, {1, start + 59_999, 429, "1"},
		{1, start + 60_000, 401, ""},
	} {
		if status, after := try(c.device, c.now, "0000"); status != c.status || after != c.after {
			t.Errorf("device %d after %d ms: %d %q, want %d %q", c.device, c.now-start, status, after, c.status, c.after)
		}
	}
	// A missing PIN is not counted; two PINs count as one wrong PIN.
	for range 20 {
		if status, _ := try(3, start); status != 401 {
			t.Fatalf("a missing PIN: %d, want 401", status)
		}
	}
	for range devicePINRule.max {
		if status, _ := try(3, start, "1", "2"); status != 401 {
			t.Errorf("two PINs: %d, want 401", status)
		}
	}
	if status, _ := try(3, start, "0000"); status != 429 {
		t.Errorf("after %d pairs of PINs: %d, want 429", devicePINRule.max, status)
	}
}

// TestConcurrentPINsOfALocation checks that concurrent wrong PINs of many devices of
// a location are counted exactly, that the lock is reported once, and that wrong PINs
// do not lock if they are fewer than the rule's within each of its windows.
func TestConcurrentPINsOfALocation(t *testing.T) {
	p := newStaffPINs()
	const start = store.Time(1_800_000_000_000)
	var mu sync.Mutex
	var wg sync.WaitGroup
	var all []pinLock
	got := map[int]int{}
	for i := range 50 {
		wg.Go(func() {
			locks, err := p.check(
				&store.TillIdentity{Till: store.Till{Device: int64(i), Location: 7}, PIN: "not a hash"},
				[]string{"0000"},
				start,
			)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, locks...)
			got[AsError(err, StatusOf).Status]++
		})
	}
	wg.Wait()
	if max := locationPINRule.max; got[401] != max || got[429] != 50-max || !slices.Equal(all, []pinLock{{store.KindLocation, 7}}) {
		t.Errorf("%v, %v", got, all)
	}
	// Nine wrong ones in each of five windows.
	g, now := &failedAttempts{}, start
	for range 5 {
		for range locationPINRule.max - 1 {
			if g.add(locationPINRule, now) {
				t.Fatalf("locked after %v", now-start)
			}
		}
		now = now.Add(locationPINRule.window)
	}
}

// TestLockedShortCodes checks that the outcome of a short code which was looked up
// before the lock, but counted after it, is not told, whatever it is.
func TestLockedShortCodes(t *testing.T) {
	const start = store.Time(1_800_000_000_000)
	k := &Kernel{codes: &shortCodes{devices: map[int64]*failedAttempts{}}}
	call := func(device int64, code string, now store.Time) *Call {
		return &Call{
			Caller: Caller{Kind: Device, Device: &store.TillIdentity{Till: store.Till{Device: device}}},
			in:     Args{Params: map[string]string{"code": code}},
			now:    now,
		}
	}
	for range shortCodeRule.max {
		if err := k.countCode(call(1, "ZZZZ-0000", start), store.ErrUnknownCode); err != store.ErrUnknownCode {
			t.Fatalf("%v", err)
		}
	}
	conflict := Refuse(store.Conflict, "The card is archived.")
	for _, outcome := range []error{nil, store.ErrUnknownCode, conflict} {
		if e := AsError(k.countCode(call(1, "zzzz0000", start), outcome), StatusOf); e.Status != 429 || e.RetryAfter != shortCodeRule.lock {
			t.Errorf("%v becomes %+v", outcome, e)
		}
		for name, other := range map[string]*Call{
			"another device": call(2, "zzzz0000", start), "no short code": call(1, "crd_zzzz0000", start),
			"after the lock": call(1, "zzzz0000", start.Add(shortCodeRule.lock)),
		} {
			if err := k.countCode(other, outcome); err != outcome {
				t.Errorf("%s: %v becomes %v", name, outcome, err)
			}
		}
	}
}
