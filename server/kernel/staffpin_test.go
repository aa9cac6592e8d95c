package kernel

import (
	"net/http/httptest"
	"sync"
	"testing"

	"punchcard/store"
)

// TestPINsAtOnce: tries of one device are counted one by one, those of another
// apart, and the clock alone ends a lock.
func TestPINsAtOnce(t *testing.T) {
	p := newStaffPINs()
	try := func(device int64, now store.Time, given ...string) (status int, after string) {
		w := httptest.NewRecorder()
		e := AsError(p.check(&store.TillIdentity{Till: store.Till{Device: device}, PIN: "not a hash"}, given, now), StatusOf)
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
	if got[401] != pinTries || got[429] != 50-pinTries {
		t.Errorf("%v", got)
	}
	for _, c := range []struct {
		device int64
		now    store.Time
		status int
		after  string
	}{{2, start, 401, ""}, {1, start + 1, 429, "60"}, {1, start + 59_001, 429, "1"}, {1, start + 59_999, 429, "1"}, {1, start + 60_000, 401, ""}} {
		if status, after := try(c.device, c.now, "0000"); status != c.status || after != c.after {
			t.Errorf("device %d after %d ms: %d %q, want %d %q", c.device, c.now-start, status, after, c.status, c.after)
		}
	}
	// None given is no try; two are one, and wrong.
	for range 20 {
		if status, _ := try(3, start); status != 401 {
			t.Fatalf("%d", status)
		}
	}
	for range pinTries {
		try(3, start, "1", "2")
	}
	if status, _ := try(3, start, "0000"); status != 429 {
		t.Errorf("%d", status)
	}
}
