package kernel

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"punchcard/server/servertest/require"
	"punchcard/store"
)

// keyOf returns a key of a scope; the requests of all keys are equal.
func keyOf(scope int64, value string) store.IdempotencyKey {
	return store.NewIdempotencyKey(scope, value, "POST", "/x", nil)
}

// TestSameKeyIsExclusive checks that one call at a time holds the lock of a key, and that all get it.
func TestSameKeyIsExclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newKeyLocks(30 * time.Second)
		var holders, max, total atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				unlock, err := c.lock(t.Context(), keyOf(1, "k"))
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n > max.Load() {
					max.Store(n)
				}
				total.Add(1)
				synctest.Wait()
				holders.Add(-1)
				unlock()
			})
		}
		wg.Wait()
		if max.Load() != 1 || total.Load() != 50 {
			t.Errorf("%d at once, %d in all", max.Load(), total.Load())
		}
		if len(c.held) != 0 {
			t.Errorf("%d keys are left", len(c.held))
		}
	})
}

func TestOtherKeysDoNotWait(t *testing.T) {
	c := newKeyLocks(0)
	for _, key := range []store.IdempotencyKey{keyOf(1, "k"), keyOf(2, "k"), keyOf(1, "l")} {
		unlock, err := c.lock(t.Context(), key)
		require.NoError(t, err)
		defer unlock()
	}
	// A request with another fingerprint has the same lock.
	if _, err := c.lock(t.Context(), store.NewIdempotencyKey(1, "k", "PATCH", "/y", []byte("{}"))); err == nil {
		t.Error("two requests with a key hold its lock at once")
	}
}

func TestWaitTimesOut(t *testing.T) {
	c := newKeyLocks(time.Millisecond)
	unlock, err := c.lock(t.Context(), keyOf(1, "k"))
	require.NoError(t, err)
	_, err = c.lock(t.Context(), keyOf(1, "k"))
	var p *Error
	if !errors.As(err, &p) || StatusOf(p.Code) != http.StatusConflict || p.Code != store.IdempotencyConflict {
		t.Errorf("%v", err)
	}
	unlock()
	if unlock, err = c.lock(t.Context(), keyOf(1, "k")); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// TestWaitIsNotRestarted checks that a call's wait does not start again when
// another call gets the lock.
func TestWaitIsNotRestarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newKeyLocks(30 * time.Second)
		began := time.Now()
		unlock, err := c.lock(t.Context(), keyOf(1, "k"))
		require.NoError(t, err)
		ended := make(chan time.Duration, 10) // when a call was refused; 0: it was not
		for range 10 {
			go func() {
				unlock, err := c.lock(t.Context(), keyOf(1, "k"))
				if err != nil {
					ended <- time.Since(began)
					return
				}
				<-time.After(20 * time.Second) // holds the lock
				unlock()
				ended <- 0
			}()
		}
		<-time.After(20 * time.Second)
		unlock()
		turns := 0
		for range 10 {
			switch d := <-ended; d {
			case 0:
				turns++
			case 30 * time.Second:
			default:
				t.Errorf("refused after %s", d)
			}
		}
		if turns != 1 {
			t.Errorf("%d calls got the lock, want 1", turns)
		}
	})
}

func TestWaitEndsWithRequest(t *testing.T) {
	c := newKeyLocks(time.Minute)
	unlock, err := c.lock(t.Context(), keyOf(1, "k"))
	require.NoError(t, err)
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.lock(ctx, keyOf(1, "k")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
