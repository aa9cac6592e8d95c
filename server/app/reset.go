package app

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"punchcard/server/kernel"
	"punchcard/store"
)

// errStopped is the error of a reset of a fixture that was stopped.
var errStopped = &kernel.Error{Status: http.StatusServiceUnavailable, Code: store.InternalError, Message: "The fixture has ended."}

// Reset gives a fixture the state of its start: data, clock, keys, limits, faults
// and everything that was recorded. It cancels deliveries and waits for the requests
// that came before it (see failSlowRequests for those that never end). Requests that
// come meanwhile wait for the reset. So each request sees the state before or the
// state after it.
func (a *App) Reset() error { return a.reset(nil) }

// history returns the function that gives a fixture the state of its start, with a demo shop that
// had so many days of business until now. It returns nil for a fixture with a seed.
func (a *App) history(d *Dev) func(days int) error {
	if d.Seed != nil {
		return nil
	}
	return func(days int) error {
		past, start := *d, &image{}
		past.History = days
		if err := start.make(&past); err != nil {
			return err
		}
		return a.reset(start)
	}
}

// reset does what Reset does, with another image than that of the start unless it is nil.
func (a *App) reset(start *image) error {
	select {
	case a.resets <- struct{}{}:
		defer func() { <-a.resets }()
	case <-a.stopping.Done():
	}
	if a.stopping.Err() != nil {
		return errStopped
	}
	// Services stop before the gate is locked: a delivery to the fixture's own
	// receiver is a request that has to end.
	expired, cancel := context.WithCancel(context.Background())
	cancel()
	old := a.instance
	old.stopServices(expired)
	waiting, locked := context.WithCancel(context.Background())
	go a.failSlowRequests(waiting)
	a.gate.Lock()
	locked()
	defer a.gate.Unlock()
	a.conf.Dev.Clock.Rewind()
	next, err := a.replace(old, start)
	if err != nil {
		a.conf.Log.Error("the fixture cannot be reset", "error", err)
		a.resetErr = &kernel.Error{
			Status:  http.StatusServiceUnavailable,
			Code:    store.InternalError,
			Message: "The fixture could not be reset, and answers nothing before POST /dev/reset succeeds: " + err.Error(),
		}
		return a.resetErr
	}
	a.instance, a.resetErr = next, nil
	if a.conf.DB == "" {
		a.closing.Go(func() {
			if err := old.close(); err != nil {
				a.conf.Log.Error("the database before the reset cannot be thrown away", "error", err)
			}
		})
	}
	return nil
}

// replace returns the instance that follows old, with the image start, or that of the fixture's
// start if it is nil.
func (a *App) replace(old *instance, start *image) (next *instance, err error) {
	if a.conf.DB == "" {
		return a.newInstance(start)
	}
	// Both instances use the same file, so the old one is closed first.
	if err := old.close(); err != nil {
		return nil, err
	}
	if start == nil {
		if start, err = loadImage(a.conf.Dev); err != nil {
			return nil, err
		}
	}
	if err := start.refill(a.conf.DB); err != nil {
		// The file is too damaged to be written to.
		if err := a.deleteDatabase(); err != nil {
			return nil, err
		}
		if err := start.write(a.conf.DB); err != nil {
			return nil, err
		}
	}
	return a.newInstance(start)
}

// deleteDatabase deletes the fixture's file, so that the next instance creates a
// new one. It leaves the lock file.
func (a *App) deleteDatabase() error {
	for _, part := range []string{"-wal", "-shm", ""} {
		if err := os.Remove(a.conf.DB + part); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// resetPaths are the paths of the requests that reset a fixture.
var resetPaths = []string{"/dev/reset", "/dev/history"}

// slowBody is how long a reset waits for a client that does not send its body, whose request is
// then refused. slowReader is how long it waits for one that does not read its answer, whose
// connection is then closed.
const (
	slowBody   = 200 * time.Millisecond
	slowReader = 2 * time.Second
)

// serveFixture is the handler of a fixture. It holds the gate during every request
// except those that reset it.
func (a *App) serveFixture(w http.ResponseWriter, r *http.Request) {
	a.gate.RLock()
	i := a.instance
	if r.Method == http.MethodPost && slices.Contains(resetPaths, r.URL.Path) {
		a.gate.RUnlock()
		i.ServeHTTP(w, r)
		return
	}
	defer a.gate.RUnlock()
	if a.resetErr != nil {
		i.kernel.AnswerError(w, a.resetErr)
		return
	}
	x := &request{ResponseWriter: w, hasBody: r.ContentLength != 0}
	a.inFlight.Store(x, nil)
	defer a.inFlight.Delete(x)
	i.ServeHTTP(x, r)
}

// request is a request to a fixture that is being answered.
type request struct {
	http.ResponseWriter
	hasBody bool
	writing atomic.Bool // the answer is being written
}

// Unwrap lets an http.ResponseController reach the connection.
func (x *request) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *request) Write(b []byte) (int, error) {
	x.writing.Store(true)
	defer x.writing.Store(false)
	return x.ResponseWriter.Write(b)
}

// FlushError sends what is written so far.
func (x *request) FlushError() error {
	x.writing.Store(true)
	defer x.writing.Store(false)
	return http.NewResponseController(x.ResponseWriter).Flush()
}

// failSlowRequests sets deadlines that end the requests which wait for their clients. It returns
// when waiting is done.
func (a *App) failSlowRequests(waiting context.Context) {
	start := time.Now()
	every(waiting, slowBody, func() {
		a.inFlight.Range(func(one, _ any) bool {
			x := one.(*request)
			if x.hasBody {
				http.NewResponseController(x).SetReadDeadline(time.Now())
			}
			if x.writing.Load() && time.Since(start) >= slowReader {
				http.NewResponseController(x).SetWriteDeadline(time.Now())
			}
			return true
		})
	})
}
