package kernel

import (
	"context"
	"errors"
	"net/http"
	"time"

	"punchcard/store"
	"punchcard/store/password"
)

// View reads the store, also before a write; see Prepare. A view may find that the epoch moved while it read. The
// face cannot identify a caller without an epoch again, so the read is repeated here.
func (c *Call) View(fn func(*store.View) error) error {
	for {
		err := c.kernel.st.View(c.Epoch, fn)
		if c.Epoch != 0 || !errors.Is(err, store.ErrEpoch) {
			return err
		}
	}
}

// HashPassword returns the hash of a password as the store keeps it. It waits while
// others are hashed, and then takes tens of milliseconds.
func (c *Call) HashPassword(ctx context.Context, given string) (string, error) {
	hash, err := c.kernel.conf.Passwords.Hash(ctx, given)
	return hash, busy(err)
}

// CheckPassword reports whether a password is the one of a hash. An empty hash takes as
// long as any other, and no password is the one of it.
func (c *Call) CheckPassword(ctx context.Context, given, hash string) (bool, error) {
	ok, err := c.kernel.conf.Passwords.Check(ctx, given, hash)
	return ok, busy(err)
}

// busy returns the refusal of a call whose password was not hashed in time.
func busy(err error) error {
	if !errors.Is(err, password.ErrBusy) {
		return err
	}
	e := refuseAs(http.StatusServiceUnavailable, store.RateLimited, "Too many people sign in at this moment. Try again in a few seconds.")
	e.RetryAfter = 5 * time.Second
	return e
}
