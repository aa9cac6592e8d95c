package app

import (
	"context"
	"sync"
)

// Service is work that the server does by itself, beside answering requests,
// such as sending webhooks. Its constructor gets all that it needs. It runs
// once: a server that is to have it again makes a new one. Both methods may be
// called at any time and by several goroutines at once.
type Service interface {
	// Start begins the work and returns when it is under way, or an error if it
	// cannot be. It does nothing while the service runs. After Stop it begins
	// nothing and returns context.Canceled.
	Start() error

	// Stop has the service begin nothing more, waits until ctx is done for what is
	// under way, and then breaks that off. It returns when no goroutine and no
	// connection of the service is left. Work that was not done stays in the store
	// for the next start, so breaking it off is no error. A service that was never
	// started, or is stopped already, is stopped at once; while one Stop waits,
	// another may end the wait with an earlier deadline.
	Stop(ctx context.Context)
}

// services is a Service that consists of others.
type services []Service

// Start starts the services in their order. After an error the caller calls Stop,
// since those before the failed one run.
func (list services) Start() error {
	for _, s := range list {
		if err := s.Start(); err != nil {
			return err
		}
	}
	return nil
}

// Stop stops all services side by side, so that none uses up the time that
// another has until ctx is done.
func (list services) Stop(ctx context.Context) {
	var stopping sync.WaitGroup
	for _, s := range list {
		stopping.Go(func() { s.Stop(ctx) })
	}
	stopping.Wait()
}

// loop is a Service that runs one function, which returns soon after its context
// is done: nothing of it is worth waiting for.
type loop struct {
	run    func(context.Context)
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	started bool
	running sync.WaitGroup
}

// newLoop returns a Service that runs run.
func newLoop(run func(context.Context)) *loop {
	l := &loop{run: run}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Start runs the function in a goroutine.
func (l *loop) Start() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ctx.Err(); err != nil || l.started {
		return err
	}
	l.started = true
	l.running.Go(func() { l.run(l.ctx) })
	return nil
}

// Stop ends the function's context and waits for the function, whatever ctx is.
func (l *loop) Stop(context.Context) {
	l.mu.Lock()
	l.cancel()
	l.mu.Unlock()
	l.running.Wait()
}
