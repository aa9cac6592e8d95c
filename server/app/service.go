package app

import (
	"context"
	"sync"
	"time"

	"punchcard/server/background"
)

// Service is work that the server does beside answering requests, such as sending
// webhooks. A service runs once and cannot be restarted. Both methods may be called
// at any time and by several goroutines at once.
type Service interface {
	// Start begins the work. It returns when the service runs, or an error if it
	// cannot run. It does nothing if the service runs already, and returns
	// context.Canceled after Stop.
	Start() error

	// Stop begins no more work, waits until ctx is done for the work in progress, and
	// then cancels it. It returns when no goroutine and no connection of the service
	// is left. Work that was not done stays in the store for the next start, so
	// canceling it is no error. Stop returns at once if the service was never started
	// or is stopped already. While one Stop waits, another with an earlier deadline
	// ends the wait.
	Stop(ctx context.Context)
}

// services is a Service made of other services.
type services []Service

// Start starts the services in order. After an error the caller must call Stop,
// since the services before the failed one run.
func (list services) Start() error {
	for _, s := range list {
		if err := s.Start(); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops all services at the same time, so that each has the whole time until
// ctx is done.
func (list services) Stop(ctx context.Context) {
	var stopping sync.WaitGroup
	for _, s := range list {
		stopping.Go(func() { s.Stop(ctx) })
	}
	stopping.Wait()
}

// loop is a Service that runs one function, which returns soon after its context is
// done.
type loop struct {
	*background.Work
	run func(context.Context)
}

// newLoop returns a Service that runs run.
func newLoop(run func(context.Context)) *loop { return &loop{background.New(), run} }

// every calls do once per interval until ctx is done.
func every(ctx context.Context, interval time.Duration, do func()) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			do()
		}
	}
}

// Start runs the function in a goroutine.
func (l *loop) Start() error { return l.Work.Start(func() { l.run(l.Stopping) }) }
