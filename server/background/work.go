// Package background begins and ends what a service does beside the answers to requests.
package background

import (
	"context"
	"sync"
)

// Work is what a service does in goroutines. It cannot be started again after Stop.
type Work struct {
	Stopping context.Context // ends when Stop is called
	Context  context.Context // of work in progress; ends with the context of Stop

	stop, cancel context.CancelFunc

	mu      sync.Mutex // held while goroutines begin
	started bool
	running sync.WaitGroup
}

// New returns work that does nothing before Start.
func New() *Work {
	w := &Work{}
	w.Stopping, w.stop = context.WithCancel(context.Background())
	w.Context, w.cancel = context.WithCancel(context.Background())
	return w
}

// Start runs functions in goroutines. They have to return soon after Stopping ends. It does nothing if the
// work was started before. After Stop it returns context.Canceled.
func (w *Work) Start(functions ...func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.Stopping.Err(); err != nil || w.started {
		return err
	}
	w.started = true
	for _, f := range functions {
		w.running.Go(f)
	}
	return nil
}

// Go runs a function in a goroutine, for which Stop waits. It reports false after Stop, when it runs nothing.
func (w *Work) Go(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Stopping.Err() != nil {
		return false
	}
	w.running.Go(f)
	return true
}

// Stop begins no more work and waits for what is in progress. When ctx is done it ends Context. It may be called
// without Start, and more than once.
func (w *Work) Stop(ctx context.Context) {
	w.mu.Lock()
	w.stop()
	w.mu.Unlock()
	release := context.AfterFunc(ctx, w.cancel)
	defer release()
	w.running.Wait()
	w.cancel()
}
