package app

import (
	"context"
	"errors"
	"math"
	"time"

	"punchcard/server/dev"
	"punchcard/store"
)

// settle does everything that is due by the clock of a fixture, and returns the
// deliveries since the start.
func (i *instance) settle() (s dev.Settled, err error) {
	if i.webhooks != nil {
		if err := i.webhooks.Settle(); err != nil {
			return s, err
		}
		n := i.webhooks.Count()
		s.Delivered, s.Failed = n.Delivered, n.Failed
	}
	if err := i.mail.Deliver(i.Store); err != nil {
		return s, err
	}
	if i.pushes != nil {
		i.pushes.Settle()
	}
	i.housekeeping.noteUses()
	ctx := context.Background()
	err = errors.Join(i.housekeeping.pruneIdempotency(ctx), i.housekeeping.expireCards(ctx, 0), i.housekeeping.pruneDeliveries(ctx, 0),
		i.housekeeping.writeBatches(ctx, 0, (*store.Tx).StepCardRun))
	if err != nil {
		return s, err
	}
	s.Pending, err = store.Read(i.Store, func(v *store.View) (int64, error) { return v.CountPendingDeliveries(math.MaxInt64) })
	return s, err
}

// wipe overwrites what is left of erased rows in the file, which housekeeping does otherwise.
func (i *instance) wipe() error {
	return i.housekeeping.writeBatches(context.Background(), 0, wipePages)
}

// due returns when the next mail, the next attempt to deliver a webhook or the next push is due; ok
// is false if there is none.
func (i *instance) due() (at time.Time, ok bool, err error) {
	at, ok, err = i.mail.Due(i.Store)
	if i.webhooks == nil || err != nil {
		return at, ok, err
	}
	err = i.Store.View(0, func(v *store.View) error {
		list, err := v.WebhooksWithScheduledDeliveries()
		for _, w := range list {
			if due := w.Due.Std(); !ok || due.Before(at) {
				at, ok = due, true
			}
		}
		if err != nil {
			return err
		}
		pushes, err := v.Pushes(1)
		for _, p := range pushes {
			if due := p.Due.Std(); !ok || due.Before(at) {
				at, ok = due, true
			}
		}
		return err
	})
	return at, ok, err
}
