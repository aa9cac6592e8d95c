package app

import (
	"context"
	"time"

	"punchcard/store"
)

// newCardRuns returns the Service that makes the changes of many cards, slice by slice, so that tills have their
// turn between them. A run that was interrupted goes on at the start.
func newCardRuns(st *store.Store, h *housekeeping) Service {
	return newLoop(func(ctx context.Context) {
		t := time.NewTicker(housekeepingInterval)
		defer t.Stop()
		for {
			if h.waits((*store.View).CardRunsWait) {
				h.report(h.writeBatches(ctx, runPause, func(tx *store.Tx) (bool, error) { return tx.StepCardRun() }))
			}
			select {
			case <-ctx.Done():
				return
			case <-st.CardRunsDue():
			case <-t.C:
			}
		}
	})
}

// runPause is how long the service waits after a slice, in the time that the slice took.
const runPause = 1
