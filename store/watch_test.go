package store

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

// TestWatch checks that Watch calls its function after another process has written to the file,
// calls it repeatedly where there is no file to watch, and ends with its context.
func TestWatch(t *testing.T) {
	f := start(t)
	other := open(t, f.Path(), Options{MustExist: true})
	for name, watched := range map[string]*Store{"announced": f.Store, "polled": {path: filepath.Join(t.TempDir(), "none")}} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			calls, ended := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				watched.Watch(ctx, func() {
					select {
					case calls <- struct{}{}:
					case <-ctx.Done():
					}
				})
			}()
			for range 3 {
				for called := false; !called; { // the first writes may come before the watch
					succeed(other.Write(ctx, write((*Tx).Probe)))
					select {
					case <-calls:
						called = true
					case <-time.After(5 * time.Millisecond):
					}
				}
			}
			stop()
			<-ended
		})
	}
	(&Store{opts: Options{Small: true}}).Watch(t.Context(), nil) // ends at once
}
