package store

import (
	"context"
	"time"
)

// The pauses before the calls of Watch's function. A change is announced before its
// commit is complete, which takes as long as the disk takes to sync. So there are two
// calls after each, of which the second also bounds how often there are any.
var (
	watchPauses = []time.Duration{20 * time.Millisecond, 200 * time.Millisecond} // after a change
	pollPauses  = []time.Duration{250 * time.Millisecond}                        // where changes are not announced
)

// Watch calls f when this or another process has written to the file, until ctx is
// done. On Linux the kernel announces changes of the log, so that nothing runs while
// nothing is written. Elsewhere, and where the kernel cannot do that, f is called four
// times a second. A change may be missed, so callers must also look by themselves now
// and then. A small store is not watched, since no other process has its file.
func (s *Store) Watch(ctx context.Context, f func()) {
	if s.opts.Small {
		return
	}
	changes, err := openWatch(s.path + "-wal")
	if err == nil {
		defer changes.Close()
		defer context.AfterFunc(ctx, func() { changes.Close() })() // ends a read
	}
	for buf := make([]byte, 4096); ; {
		if err == nil {
			_, err = changes.Read(buf)
		}
		pauses := watchPauses
		if err != nil {
			pauses = pollPauses
		}
		for _, pause := range pauses {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			f()
		}
	}
}
