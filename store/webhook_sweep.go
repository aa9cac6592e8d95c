package store

import "time"

// DeliverySweep is the position of a walk over the events. With it the batches
// of one walk do not visit again the events that stay, such as those pending for
// an inactive webhook or sent late. The zero value begins at the oldest event.
type DeliverySweep struct{ event int64 }

// SweepDeliveries deletes one batch of n events or rows: log rows whose last attempt
// was longer than Limits.DeliveryDays ago, events of that age without log rows, and the
// logs of deleted webhooks. A delivery that failed stays until as long after the time at
// which a further attempt would have been due. It never deletes a pending delivery of an
// existing webhook. more reports whether there may be more to delete.
func (tx *Tx) SweepDeliveries(w *DeliverySweep, n int) (more bool, err error) {
	if tx.sweepDeleted(n) {
		return true, tx.failed
	}
	before := tx.Now.Add(-time.Duration(tx.Limits.DeliveryDays) * 24 * time.Hour)
	from, count := w.event, int64(0)
	tx.one(into(&count, &w.event), `SELECT count(*), ifnull(max(id), ?1)
		FROM (SELECT id, occurred_at FROM events WHERE id>?1 ORDER BY id LIMIT ?2) WHERE occurred_at<?3`, from, n, before)
	if count == 0 {
		return false, tx.failed
	}
	tx.exec(
		"DELETE FROM deliveries WHERE (webhook_id, event_id) IN (SELECT w.id, e.id FROM events e JOIN webhooks w ON w.shop_id=e.shop_id"+
			" WHERE e.id>? AND e.id<=?) AND outcome IS NOT NULL AND ifnull(delivered_at, due_at)<?",
		from, w.event, before)
	tx.exec(`DELETE FROM events WHERE id>? AND id<=? AND NOT EXISTS (SELECT 1 FROM webhooks w JOIN deliveries d ON d.webhook_id=w.id
			AND d.event_id=events.id`+
		" WHERE w.shop_id=events.shop_id)", from, w.event)
	return count == int64(n), tx.failed
}

// sweepDeleted deletes up to n log rows of a deleted webhook, and the webhook
// itself once it has none.
func (tx *Tx) sweepDeleted(n int) bool {
	webhook := tx.number("SELECT id FROM webhooks WHERE deleted_at IS NOT NULL LIMIT 1")
	if webhook == 0 {
		return false
	}
	deleted := tx.exec(`DELETE FROM deliveries WHERE webhook_id=?1 AND event_id IN (SELECT event_id FROM deliveries WHERE webhook_id=?1
			ORDER BY event_id LIMIT ?2)`, webhook, n)
	// The webhook is deleted in a later batch than its last row: deliveries that
	// this group queued for it are written after this.
	if deleted == 0 {
		tx.exec("DELETE FROM webhooks WHERE id=?", webhook)
	}
	return true
}
