package kernel

import (
	"net/http"
	"sync"
	"testing"

	"punchcard/store"
)

// TestTillStatuses: what the REST API answers with 402 or 409 is 422 at a
// till, and every other code keeps its status.
func TestTillStatuses(t *testing.T) {
	differ := map[store.Code]bool{store.SubscriptionSuspended: true, store.LocationDisabled: true, store.CardExpired: true}
	for code, status := range Statuses {
		want := status
		if differ[code] {
			want = http.StatusUnprocessableEntity
		}
		if got := TillStatus(code); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
}

// TestPINsAtOnce: tries of one device are counted one by one, those of another
// apart, and the clock alone ends a lock.
func TestPINsAtOnce(t *testing.T) {
	p := pins{devices: map[int64]*pinState{}}
	try := func(device int64, now store.Time, given ...string) (status int, after string) {
		h := http.Header{}
		err := p.check(h, &store.TillIdentity{At: store.At{Device: device}, PIN: "not a hash"}, given, now)
		return err.(*Problem).Status, h.Get("Retry-After")
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

func TestCardOfAnswer(t *testing.T) {
	for body, want := range map[string]string{
		`{"id":"crd_1","program_id":"prg_1"}`:                                       "crd_1",
		`{"transaction":{"id":"txn_1","card_id":"crd_1","x":"crd_2"},"card":{}}`:    "crd_1",
		`{"id":"prg_1","card_id":"prg_2"}`:                                          "",
		`{"transaction":{"id":"txn_1","program_id":"prg_1"},"card":{"id":"crd_1"}}`: "",
		`{"name":"x"}`: "",
		``:             "",
	} {
		if got := cardID([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
