package app

import (
	"context"
	"errors"
	"math"
	"time"

	"punchcard/server/dev"
	"punchcard/store"
)

// settle does all that is due by the clock of a fixture, and returns what was
// sent since the start.
func (i *instance) settle() (s dev.Settled, err error) {
	if i.hooks != nil {
		if err := i.hooks.Settle(); err != nil {
			return s, err
		}
		n := i.hooks.Count()
		s.Delivered, s.Failed = n.Delivered, n.Failed
	}
	ctx := context.Background()
	if err := i.housekeeping.pruneIdempotency(ctx); err != nil {
		return s, err
	}
	if err := errors.Join(i.housekeeping.expireCards(ctx, 0), i.housekeeping.pruneDeliveries(ctx, 0)); err != nil {
		return s, err
	}
	err = i.Store.View(0, func(v *store.View) (err error) {
		s.Pending, err = v.CountPendingDeliveries(math.MaxInt64)
		return err
	})
	return s, err
}

// due returns when the next webhook is to be attempted; ok is false if none is.
func (i *instance) due() (at time.Time, ok bool, err error) {
	if i.hooks == nil {
		return at, false, nil
	}
	err = i.Store.View(0, func(v *store.View) error {
		list, err := v.WebhooksWithScheduledDeliveries()
		for _, w := range list {
			if due := w.Due.Std(); !ok || due.Before(at) {
				at, ok = due, true
			}
		}
		return err
	})
	return at, ok, err
}
