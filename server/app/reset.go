package app

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"
)

// errStopped is what a reset of a fixture gives that has ended.
var errStopped = errors.New("the fixture has ended")

// Reset makes a fixture what it was at its start: data, clock, keys, limits and
// all that was recorded (contract section 8). It breaks off the deliveries
// under way, waits for the requests that came before it, and lets those that
// come meanwhile wait for the new state: each request sees the one or the
// other.
func (a *App) Reset() error {
	a.resetting.Lock()
	defer a.resetting.Unlock()
	if a.stopped {
		return errStopped
	}
	// Before the gate is closed: a delivery to the fixture's own receiver is a
	// request that must end.
	now, cancel := context.WithCancel(context.Background())
	cancel()
	old := a.instance
	old.quiet(now)
	hurry := time.AfterFunc(slowBody, a.hurry)
	a.gate.Lock()
	hurry.Stop()
	defer a.gate.Unlock()
	a.conf.Dev.Clock.Rewind()
	if a.conf.DB != "" {
		// There is but one file, and the old instance has it.
		if err := errors.Join(old.close(), a.drop()); err != nil {
			return err
		}
	}
	next, err := a.begin()
	if err != nil {
		return err
	}
	a.instance = next
	if a.conf.DB == "" {
		a.behind.Go(func() {
			if err := old.close(); err != nil {
				a.conf.Log.Error("the database before the reset cannot be thrown away", "error", err)
			}
		})
	}
	return nil
}

// drop deletes the fixture's own file, so that the next instance begins with a
// new one. The lock file beside it stays.
func (a *App) drop() error {
	for _, part := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(a.conf.DB + part); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

const resetPath = "/dev/reset"

// slowBody is how long a reset waits for a request whose body does not come;
// then the request is refused.
const slowBody = 200 * time.Millisecond

// serveDev is the handler of a fixture. It holds the gate for every request
// but the reset itself.
func (a *App) serveDev(w http.ResponseWriter, r *http.Request) {
	a.gate.RLock()
	i := a.instance
	if r.Method == http.MethodPost && r.URL.Path == resetPath {
		a.gate.RUnlock()
		i.ServeHTTP(w, r)
		return
	}
	defer a.gate.RUnlock()
	if r.ContentLength != 0 {
		body := http.NewResponseController(w)
		a.bodies.Store(body, nil)
		defer a.bodies.Delete(body)
	}
	i.ServeHTTP(w, r)
}

// hurry has those requests fail that still wait for their bodies.
func (a *App) hurry() {
	a.bodies.Range(func(body, _ any) bool {
		body.(*http.ResponseController).SetReadDeadline(time.Now())
		return true
	})
}
