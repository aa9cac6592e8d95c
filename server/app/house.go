package app

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"time"

	"punchcard/server/dev"
	"punchcard/store"
)

// How often what time ended is cleared away, and in which batches: small ones,
// with rests in which others write.
const (
	housekeeping = time.Minute
	sweepRows    = 25
	sweepRest    = 4 // times as long as the batch took
)

var system = store.Actor{Type: "system"}

// keepHouse clears away what time ended.
func (i *instance) keepHouse(log *slog.Logger) {
	defer i.wg.Done()
	t := time.NewTicker(housekeeping)
	defer t.Stop()
	for {
		select {
		case <-i.ctx.Done():
			return
		case <-t.C:
			err := i.forget()
			if err == nil {
				err = i.lapse(sweepRest)
			}
			if err == nil {
				err = i.sweep(sweepRest)
			}
			if err == nil {
				err = i.pruneMails(log)
			}
			if err != nil && !errors.Is(err, store.ErrClosed) {
				log.Error("housekeeping failed", "error", err)
			}
		}
	}
}

// forget deletes remembered responses whose window has ended.
func (i *instance) forget() error {
	return i.batches(0, func(tx *store.Tx) (bool, error) {
		n, err := tx.PruneIdempotency(500)
		return n > 0, err
	})
}

// sweep deletes what the delivery log keeps no longer.
func (i *instance) sweep(rest int) error {
	var at store.Sweep
	return i.batches(rest, func(tx *store.Tx) (bool, error) { return tx.Sweep(&at, sweepRows) })
}

// pruneMails takes the mail out of the queue whose links have ended, which is
// the end of what cannot be sent for too long.
func (i *instance) pruneMails(log *slog.Logger) error {
	return i.batches(sweepRest, func(tx *store.Tx) (bool, error) {
		cards, err := tx.PruneMails(sweepRows)
		tx.AfterCommit(func() {
			for _, card := range cards {
				log.Warn("mail not sent: the card's link has ended", "card", card)
			}
		})
		return len(cards) > 0, err
	})
}

// lapse marks the cards that time has ended.
func (i *instance) lapse(rest int) error {
	return i.batches(rest, func(tx *store.Tx) (bool, error) { return tx.Lapse(sweepRows) })
}

// batches runs do until there is no more. It rests after each batch, rest times
// as long as the batch took.
func (i *instance) batches(rest int, do func(*store.Tx) (more bool, err error)) error {
	for {
		start := time.Now()
		var more bool
		err := i.Store.Write(context.Background(), store.Write{Actor: system, Do: func(tx *store.Tx) (err error) {
			more, err = do(tx)
			return err
		}})
		if err != nil || !more {
			return err
		}
		if rest == 0 {
			continue
		}
		select {
		case <-i.ctx.Done():
			return nil
		case <-time.After(time.Duration(rest) * time.Since(start)):
		}
	}
}

// settle does all that is due by the clock of a fixture, and tells what was
// sent since the start.
func (i *instance) settle() (s dev.Settled, err error) {
	if i.hooks != nil {
		if err := i.hooks.Settle(); err != nil {
			return s, err
		}
		n := i.hooks.Count()
		s.Delivered, s.Failed = n.Delivered, n.Failed
	}
	if err := i.forget(); err != nil {
		return s, err
	}
	if err := errors.Join(i.lapse(0), i.sweep(0)); err != nil {
		return s, err
	}
	err = i.Store.View(0, func(v *store.View) (err error) {
		s.Pending, err = v.Pending(math.MaxInt64)
		return err
	})
	return s, err
}

// due tells when the next webhook is to be attempted.
func (i *instance) due() (at time.Time, ok bool, err error) {
	if i.hooks == nil {
		return at, false, nil
	}
	err = i.Store.View(0, func(v *store.View) error {
		list, err := v.Waiting()
		for _, w := range list {
			if due := w.Due.Std(); !ok || due.Before(at) {
				at, ok = due, true
			}
		}
		return err
	})
	return at, ok, err
}
