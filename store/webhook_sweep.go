package store

import "time"

// PruneCursor remembers how far a walk over the events has come, so that those which
// stay (what is pending for a switched-off webhook, say) are not visited again
// by every batch. The zero value begins at the oldest.
type DeliverySweep struct{ event int64 }

// PruneDeliveries deletes log rows older than their retention (spec, "Delivery
// behaviour"), the events that no log row is left of, and the logs of deleted
// webhooks, in a batch of n events or rows. It never touches what is pending.
// more tells whether to go on.
func (tx *Tx) SweepDeliveries(w *DeliverySweep, n int) (more bool, err error) {
	if more, err = tx.sweepDeleted(n); more || err != nil {
		return more, err
	}
	before := tx.Now.Add(-time.Duration(tx.Limits.DeliveryDays) * 24 * time.Hour)
	from, count := w.event, int64(0)
	if _, err = tx.one(func(r *rows) { count, w.event = r.int(), r.int() }, "SELECT "+columns("count(*)", "ifnull(max(id), ?1)")+
		" FROM (SELECT id, occurred_at FROM events WHERE id>?1 ORDER BY id LIMIT ?2) WHERE occurred_at<?3", from, n, before); err != nil || count == 0 {
		return false, err
	}
	if _, err = tx.exec("DELETE FROM deliveries WHERE (webhook_id, event_id) IN (SELECT w.id, e.id FROM events e JOIN webhooks w ON w.shop_id=e.shop_id"+
		" WHERE e.id>? AND e.id<=?) AND outcome IS NOT NULL", from, w.event); err != nil {
		return false, err
	}
	_, err = tx.exec("DELETE FROM events WHERE id>? AND id<=? AND NOT EXISTS (SELECT 1 FROM webhooks w JOIN deliveries d ON d.webhook_id=w.id AND d.event_id=events.id"+
		" WHERE w.shop_id=events.shop_id)", from, w.event)
	return count == int64(n), err
}

// sweepDeleted takes rows of the log of a deleted webhook, and at last the
// webhook itself.
func (tx *Tx) sweepDeleted(n int) (more bool, err error) {
	webhook, err := tx.number("SELECT id FROM webhooks WHERE deleted_at IS NOT NULL LIMIT 1")
	if err != nil || webhook == 0 {
		return false, err
	}
	gone, err := tx.exec("DELETE FROM deliveries WHERE webhook_id=?1 AND event_id IN (SELECT event_id FROM deliveries WHERE webhook_id=?1 ORDER BY event_id LIMIT ?2)", webhook, n)
	// The row goes in a turn of its own, once nothing was left: what its own group
	// queued for the webhook is written after this.
	if err == nil && gone == 0 {
		_, err = tx.exec("DELETE FROM webhooks WHERE id=?", webhook)
	}
	return true, err
}
