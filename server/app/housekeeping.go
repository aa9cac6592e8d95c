package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"punchcard/store"
)

// How often housekeeping runs, and the sizes of its batches. Batches are small, with pauses between
// them, so that other writes wait only briefly. Remembered responses are cheaper to delete: their
// batches are larger and have no pauses.
const (
	housekeepingInterval = time.Minute
	batchRows            = 25
	batchPages           = 100
	eraseRows            = 100
	wordRows             = 256
	batchPause           = 4 // times as long as the batch took
	runPause             = 1 // likewise, where somebody waits for the end
)

// housekeeping is the Service that deletes expired data and marks expired cards.
type housekeeping struct {
	*loop
	store *store.Store
	uses  func() map[store.Actor]store.Time // see kernel.TakeUses; nil: none are noted
	log   *slog.Logger
	audit store.AuditWalk
}

// newHousekeeping returns the Service that does the housekeeping of a store.
func newHousekeeping(st *store.Store, log *slog.Logger) *housekeeping {
	h := &housekeeping{store: st, log: log}
	h.loop = newLoop(h.runPeriodically)
	return h
}

// wipePages overwrites what is left of erased rows in the next pages.
func wipePages(tx *store.Tx) (more bool, err error) { return tx.WipePages(batchPages) }

// runPeriodically does all housekeeping once per interval until ctx is done.
func (h *housekeeping) runPeriodically(ctx context.Context) {
	t := time.NewTicker(housekeepingInterval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.store.NamesDue():
			h.report(h.indexNames(ctx))
			continue
		case <-t.C:
		}
		h.noteUses()
		h.pruneCopies()
		h.report(errors.Join(
			h.pruneIdempotency(ctx),
			h.expireCards(ctx, batchPause),
			h.pruneDeliveries(ctx, batchPause),
			h.pruneMail(ctx),
			h.writeBatches(ctx, batchPause, rows((*store.Tx).PruneSessions)),
			h.writeBatches(ctx, batchPause, rows((*store.Tx).PrunePasses)),
			h.pruneAttempts(ctx),
			h.indexNames(ctx),
			h.writeBatches(ctx, batchPause, rows((*store.Tx).ForgetCards)),
			h.writeBatches(ctx, batchPause, (*store.Tx).PruneImports),
			h.eraseShops(ctx),
			h.writeBatches(ctx, batchPause, wipePages),
		))
	}
}

// whenDue returns the Service that does work of the store when it is due, and looks for what another
// process or an earlier run has left at its start and once per interval.
func (h *housekeeping) whenDue(due <-chan struct{}, waits func(*store.View) (bool, error), work func(context.Context) error) Service {
	return newLoop(func(ctx context.Context) {
		t := time.NewTicker(housekeepingInterval)
		defer t.Stop()
		for {
			wait, err := store.Read(h.store, waits)
			if wait {
				err = work(ctx)
			}
			h.report(err)
			select {
			case <-ctx.Done():
				return
			case <-due:
			case <-t.C:
			}
		}
	})
}

// runImports continues imports and their undo, and mails invitations. A command that imports does the work
// itself; the server finishes it if the command ends before.
func (h *housekeeping) runImports(ctx context.Context) error {
	return errors.Join(h.writeBatches(ctx, runPause, (*store.Tx).ContinueImports),
		h.writeBatches(ctx, batchPause, rows((*store.Tx).InviteImported)))
}

// runCardRuns makes the changes of many cards. A run that was interrupted goes on.
func (h *housekeeping) runCardRuns(ctx context.Context) error {
	return h.writeBatches(ctx, runPause, (*store.Tx).StepCardRun)
}

// report logs an error of housekeeping, unless the store was closed.
func (h *housekeeping) report(err error) {
	if err != nil && !errors.Is(err, store.ErrClosed) {
		h.log.Error("housekeeping failed", "error", err)
	}
}

// pruneCopies removes the copies from before migrations after 30 days. Their times are those
// of the file system, also where the clock of a fixture stands still.
func (h *housekeeping) pruneCopies() {
	if err := h.store.PruneCopies(time.Now().AddDate(0, 0, -30)); err != nil {
		h.log.Error("an old copy of the database was not removed", "error", err)
	}
}

// noteUses writes when keys and devices made their last requests. The instance calls it
// once more when it has answered its last request.
func (h *housekeeping) noteUses() {
	if h.uses == nil {
		return
	}
	last := h.uses()
	if len(last) == 0 {
		return
	}
	err := h.store.SystemWrite(context.Background(), func(tx *store.Tx) error { return tx.NoteUses(last) })
	if err != nil && !errors.Is(err, store.ErrClosed) {
		h.log.Error("the last uses of keys and tills were not written", "error", err)
	}
}

// pruneIdempotency deletes the remembered responses whose window has ended.
func (h *housekeeping) pruneIdempotency(ctx context.Context) error {
	return h.writeBatches(ctx, 0, func(tx *store.Tx) (bool, error) {
		n, err := tx.PruneIdempotency(500)
		return n > 0, err
	})
}

// expireCards marks the cards that have expired.
func (h *housekeeping) expireCards(ctx context.Context, pause int) error {
	return h.writeBatches(ctx, pause, rows((*store.Tx).MarkExpiredCards))
}

// pruneDeliveries deletes the entries of the delivery log that are past their
// retention.
func (h *housekeeping) pruneDeliveries(ctx context.Context, pause int) error {
	var at store.DeliverySweep
	return h.writeBatches(ctx, pause, func(tx *store.Tx) (bool, error) { return tx.SweepDeliveries(&at, batchRows) })
}

// pruneMail deletes the queued mail whose links have expired, and the sent mail that
// no quota counts any longer.
func (h *housekeeping) pruneMail(ctx context.Context) error {
	sent := h.writeBatches(ctx, batchPause, rows((*store.Tx).PruneSentMails))
	return errors.Join(sent, h.writeBatches(ctx, batchPause, func(tx *store.Tx) (bool, error) {
		cards, err := tx.PruneMails(batchRows)
		tx.AfterCommit(func() {
			for _, card := range cards {
				h.log.Warn("mail not sent: the card's link has ended", "card", card)
			}
		})
		return len(cards) > 0, err
	}))
}

// pruneAttempts deletes the audit rows about failed sign-ins and the like that are older than
// 90 days. It continues where the last call ended, and reads outside of the write lock.
func (h *housekeeping) pruneAttempts(ctx context.Context) error {
	var keys []int64
	next := func(v *store.View) (err error) {
		keys, err = v.OldAttempts(&h.audit, batchRows)
		return err
	}
	for ctx.Err() == nil {
		if err := h.store.View(0, next); err != nil || len(keys) == 0 {
			return err
		}
		remove := func(tx *store.Tx) (bool, error) { return false, tx.DeleteAudit(keys) }
		if err := h.writeBatches(ctx, 0, remove); err != nil {
			return err
		}
	}
	return nil
}

// eraseShops erases the shops that were deleted or moved away a while ago, as far as it gets until the
// rest of the housekeeping is due again.
func (h *housekeeping) eraseShops(ctx context.Context) error {
	shops, err := store.Read(h.store, (*store.View).EndedShops)
	if err != nil || len(shops) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, housekeepingInterval)
	defer cancel()
	for _, shop := range shops {
		err := h.store.EraseShop(ctx, shop, eraseRows, func(took time.Duration) { pauseFor(ctx, batchPause*took) })
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pauseFor waits for a time, or until ctx is done.
func pauseFor(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// indexNames adds the names of new cards to the index of the search, if there are enough.
func (h *housekeeping) indexNames(ctx context.Context) error {
	var names store.NewNames
	var enough bool
	find := func(v *store.View) (err error) {
		names, enough, err = v.NewNames()
		return err
	}
	for ctx.Err() == nil {
		if err := h.store.View(0, find); err != nil || !enough {
			return err
		}
		err := h.writeBatches(ctx, batchPause, func(tx *store.Tx) (bool, error) { return tx.IndexNames(&names, wordRows) })
		if err != nil {
			return err
		}
	}
	return nil
}

// rows returns what does work on at most batchRows rows.
func rows(work func(*store.Tx, int) (more bool, err error)) func(*store.Tx) (bool, error) {
	return func(tx *store.Tx) (bool, error) { return work(tx, batchRows) }
}

// writeBatches calls do, each time in a write of its own, until there is no more
// to do or ctx is done. After each batch it pauses for pause times as long as the
// batch took.
func (h *housekeeping) writeBatches(ctx context.Context, pause int, do func(*store.Tx) (more bool, err error)) error {
	for ctx.Err() == nil {
		start := time.Now()
		var more bool
		err := h.store.SystemWrite(context.Background(), func(tx *store.Tx) (err error) {
			more, err = do(tx)
			return err
		})
		if err != nil || !more {
			return err
		}
		if pause == 0 {
			continue
		}
		pauseFor(ctx, time.Duration(pause)*time.Since(start))
	}
	return nil
}
