package kernel

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"punchcard/store"
)

// claims makes requests with the same Idempotency-Key wait for one another:
// one process serves a file, so a map in memory is enough. What must survive
// a crash is in the store.
type claims struct {
	wait time.Duration // how long a duplicate waits; 30 s (contract section 1)
	mu   sync.Mutex
	busy map[claimKey]chan struct{}
}

type claimKey struct {
	caller int64
	hash   [16]byte
}

func newClaims(wait time.Duration) *claims {
	return &claims{wait: wait, busy: map[claimKey]chan struct{}{}}
}

// enter takes the claim, after whoever holds it. The wait is in real time,
// whatever the store's clock says.
func (c *claims) enter(ctx context.Context, claim store.Claim) (leave func(), err error) {
	k := claimKey{claim.Caller, claim.KeyHash}
	var timeout <-chan time.Time
	for {
		c.mu.Lock()
		held := c.busy[k]
		if held == nil {
			done := make(chan struct{})
			c.busy[k] = done
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				delete(c.busy, k)
				c.mu.Unlock()
				close(done)
			}, nil
		}
		c.mu.Unlock()
		if timeout == nil {
			t := time.NewTimer(c.wait)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-held:
		case <-timeout:
			return nil, fail(http.StatusConflict, store.IdempotencyConflict, "An earlier request with this Idempotency-Key is still running.")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// idempotencyKey reads the header (spec Endpoints 2); an absent one is nil.
func idempotencyKey(r *http.Request, most int) (*string, error) {
	v := r.Header["Idempotency-Key"]
	if len(v) == 0 {
		return nil, nil
	}
	d := store.Detail{Field: "Idempotency-Key"}
	switch n := len([]rune(v[0])); {
	case len(v) > 1:
		d.Code, d.Message = "invalid_value", "must be sent once"
	case n == 0:
		d.Code, d.Message = "too_short", "must not be empty"
	case n > most:
		d.Code, d.Message = "too_long", fmt.Sprintf("must be at most %d characters", most)
	default:
		return &v[0], nil
	}
	return nil, store.Invalid(d)
}
