package store

import "time"

// Sweep remembers how far a walk over the delivery log has come, so that rows
// which stay (what is pending for a switched-off webhook, say) are not visited
// again by every batch. The zero value begins at the oldest row.
type Sweep struct {
	deliveries, events int64
	past               bool // the deliveries are done
}

// Sweep deletes log rows older than their retention (spec, "Delivery
// behaviour"), the events that no log row is left of, and the logs of deleted
// webhooks, visiting at most n rows. It never touches what is pending. More
// tells whether to go on.
func (tx *Tx) Sweep(w *Sweep, n int) (more bool, err error) {
	if more, err = tx.sweepDeleted(n); more || err != nil {
		return more, err
	}
	before := tx.Now.Add(-time.Duration(tx.Limits.DeliveryDays) * 24 * time.Hour)
	if !w.past {
		last, err := tx.lastOf("SELECT "+packed("count(*)", "max(id)")+" FROM (SELECT id, created_at FROM deliveries WHERE id>? ORDER BY id LIMIT ?) WHERE created_at<?", &w.deliveries, before, n)
		if err != nil {
			return false, err
		}
		if _, err := tx.exec("DELETE FROM deliveries WHERE id>? AND id<=? AND state<>'pending'", last.from, w.deliveries); err != nil {
			return false, err
		}
		w.past = last.count < int64(n)
		return true, nil
	}
	last, err := tx.lastOf("SELECT "+packed("count(*)", "max(id)")+" FROM (SELECT id, occurred_at FROM events WHERE id>? ORDER BY id LIMIT ?) WHERE occurred_at<?", &w.events, before, n)
	if err != nil {
		return false, err
	}
	_, err = tx.exec("DELETE FROM events WHERE id>? AND id<=? AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event_id=events.id)", last.from, w.events)
	return last.count == int64(n), err
}

type stretch struct{ from, count int64 }

// lastOf moves at to the end of the next stretch of old rows.
func (tx *Tx) lastOf(sql string, at *int64, before Time, n int) (s stretch, err error) {
	s.from = *at
	_, err = tx.one(func(r *rows) {
		s.count = r.int()
		if last := r.nullInt(); last.Valid {
			*at = last.V
		}
	}, sql, *at, n, before)
	return s, err
}

// sweepDeleted takes rows of the log of a deleted webhook, and at last the
// webhook itself.
func (tx *Tx) sweepDeleted(n int) (more bool, err error) {
	webhook, err := tx.number("SELECT id FROM webhooks WHERE deleted_at IS NOT NULL LIMIT 1")
	if err != nil || webhook == 0 {
		return false, err
	}
	gone, err := tx.exec("DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE webhook_id=? LIMIT ?)", webhook, n)
	if err == nil && gone < int64(n) {
		_, err = tx.exec("DELETE FROM webhooks WHERE id=?", webhook)
	}
	return true, err
}
