package app

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"punchcard/server/kernel"
	"punchcard/store"
)

// errStopped is what a reset of a fixture gives that has ended.
var errStopped = &kernel.Error{Status: http.StatusServiceUnavailable, Code: store.InternalError, Message: "The fixture has ended."}

// Reset makes a fixture what it was at its start: data, clock, keys, limits and
// all that was recorded (contract section 8). It breaks off the deliveries
// under way, waits for the requests that came before it, and lets those that
// come meanwhile wait for the new state: each request sees the one or the
// other.
func (a *App) Reset() error {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-a.ending:
	}
	select {
	case <-a.ending:
		return errStopped
	default:
	}
	// Before the gate is closed: a delivery to the fixture's own receiver is a
	// request that must end.
	now, cancel := context.WithCancel(context.Background())
	cancel()
	old := a.instance
	old.stopServices(now)
	locked := make(chan struct{})
	go a.failSlowRequests(locked)
	a.gate.Lock()
	close(locked)
	defer a.gate.Unlock()
	a.conf.Dev.Clock.Rewind()
	next, err := a.replace(old)
	if err != nil {
		a.conf.Log.Error("the fixture cannot be reset", "error", err)
		a.failed = &kernel.Error{Status: http.StatusServiceUnavailable, Code: store.InternalError, Message: "The fixture could not be reset, and answers nothing before POST /dev/reset succeeds: " + err.Error()}
		return a.failed
	}
	a.instance, a.failed = next, nil
	if a.conf.DB == "" {
		a.behind.Go(func() {
			if err := old.close(); err != nil {
				a.conf.Log.Error("the database before the reset cannot be thrown away", "error", err)
			}
		})
	}
	return nil
}

// replace makes the instance that comes after old.
func (a *App) replace(old *instance) (next *instance, err error) {
	if a.conf.DB == "" {
		return a.newInstance(nil)
	}
	// There is but one file, and the old instance has it.
	if err := old.close(); err != nil {
		return nil, err
	}
	if start, err := a.conf.Dev.refill(a.conf.DB); err == nil {
		return a.newInstance(start)
	}
	// It is damaged, or too little is left of it to be written into.
	if err := a.deleteDatabase(); err != nil {
		return nil, err
	}
	return a.newInstance(nil)
}

// deleteDatabase deletes the fixture's own file, so that the next instance begins with a
// new one. The lock file beside it stays.
func (a *App) deleteDatabase() error {
	for _, part := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(a.conf.DB + part); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

const resetPath = "/dev/reset"

// How long a reset waits for a client: for a body that does not come, the
// request of which is then refused, and for one that does not read its answer,
// whose connection is then cut.
const (
	slowBody   = 200 * time.Millisecond
	slowReader = 2 * time.Second
)

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
	if a.failed != nil {
		i.refuse(w, a.failed)
		return
	}
	x := &exchange{ResponseWriter: w, body: r.ContentLength != 0}
	a.flight.Store(x, nil)
	defer a.flight.Delete(x)
	i.ServeHTTP(x, r)
}

// exchange is a request to a fixture and its answer.
type exchange struct {
	http.ResponseWriter
	body    bool
	writing atomic.Bool
}

// Unwrap lets an http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) Write(b []byte) (int, error) {
	x.writing.Store(true)
	defer x.writing.Store(false)
	return x.ResponseWriter.Write(b)
}

// FlushError passes on what is written.
func (x *exchange) FlushError() error {
	x.writing.Store(true)
	defer x.writing.Store(false)
	return http.NewResponseController(x.ResponseWriter).Flush()
}

// failSlowRequests has the requests fail that wait for their clients, until a
// reset holds the gate.
func (a *App) failSlowRequests(locked <-chan struct{}) {
	begun := time.Now()
	t := time.NewTicker(slowBody)
	defer t.Stop()
	for {
		select {
		case <-locked:
			return
		case <-t.C:
		}
		a.flight.Range(func(one, _ any) bool {
			x := one.(*exchange)
			if x.body {
				http.NewResponseController(x).SetReadDeadline(time.Now())
			}
			if x.writing.Load() && time.Since(begun) >= slowReader {
				http.NewResponseController(x).SetWriteDeadline(time.Now())
			}
			return true
		})
	}
}
