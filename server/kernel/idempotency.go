package kernel

import (
	"context"
	"sync"
	"time"

	"punchcard/store"
)

// keyLocks makes calls with the same idempotency key wait for one another. Only one
// process serves a file, so the locks are in memory.
type keyLocks struct {
	wait time.Duration // how long a call waits for a lock
	mu   sync.Mutex
	held map[lockKey]chan struct{} // closed when the lock is released
}

// lockKey identifies an idempotency key without its fingerprint.
type lockKey struct {
	scope int64
	hash  [16]byte
}

func newKeyLocks(wait time.Duration) *keyLocks {
	return &keyLocks{wait: wait, held: map[lockKey]chan struct{}{}}
}

// lock locks a key and returns a function that unlocks it. It waits while another
// call holds the lock, in real time even if the store's clock is set.
func (l *keyLocks) lock(ctx context.Context, key store.IdempotencyKey) (unlock func(), err error) {
	k := lockKey{key.Scope, key.Hash}
	var timeout <-chan time.Time
	for {
		l.mu.Lock()
		released := l.held[k]
		if released == nil {
			done := make(chan struct{})
			l.held[k] = done
			l.mu.Unlock()
			return func() {
				l.mu.Lock()
				delete(l.held, k)
				l.mu.Unlock()
				close(done)
			}, nil
		}
		l.mu.Unlock()
		if timeout == nil {
			t := time.NewTimer(l.wait)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-released:
		case <-timeout:
			return nil, Refuse(store.IdempotencyConflict, "An earlier request with this Idempotency-Key is still running.")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
