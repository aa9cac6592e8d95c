package kernel

import (
	"sync"

	"punchcard/store"
)

// uses are the times of the last requests of keys and devices, which are written to the
// file once in a while.
type uses struct {
	mu   sync.Mutex
	last map[store.Actor]store.Time
}

// note notes a request of a caller, if it is a key or a device.
func (u *uses) note(c *Caller, now store.Time) {
	if c.Key == nil && c.Device == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last = map[store.Actor]store.Time{}
	}
	u.last[c.Actor] = now
}

// take returns the times since it was called before.
func (u *uses) take() map[store.Actor]store.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	last := u.last
	u.last = nil
	return last
}
