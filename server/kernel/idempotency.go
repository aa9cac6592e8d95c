package kernel

import (
	"context"
	"sync"
	"time"

	"punchcard/store"
)

// inFlight makes calls with the same idempotency key wait for one another. One
// process serves a file, so a map in memory is enough; what must survive a crash
// is in the store.
type inFlight struct {
	wait time.Duration // how long a duplicate waits
	mu   sync.Mutex
	busy map[inFlightKey]chan struct{}
}

type inFlightKey struct {
	scope int64
	hash  [16]byte
}

func newInFlight(wait time.Duration) *inFlight {
	return &inFlight{wait: wait, busy: map[inFlightKey]chan struct{}{}}
}

// enter locks a key, after whoever holds it, and returns what unlocks it. The
// wait is in real time, whatever the store's clock says.
func (f *inFlight) enter(ctx context.Context, key store.IdempotencyKey) (leave func(), err error) {
	k := inFlightKey{key.Scope, key.Hash}
	var timeout <-chan time.Time
	for {
		f.mu.Lock()
		held := f.busy[k]
		if held == nil {
			done := make(chan struct{})
			f.busy[k] = done
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				delete(f.busy, k)
				f.mu.Unlock()
				close(done)
			}, nil
		}
		f.mu.Unlock()
		if timeout == nil {
			t := time.NewTimer(f.wait)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-held:
		case <-timeout:
			return nil, Refuse(store.IdempotencyConflict, "An earlier request with this Idempotency-Key is still running.")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
