package store

// What makes a delivery special (deliveries.special).
const (
	throughSuspension = 1 // subscription.state_changed: goes out though the shop is suspended
	onlyATest         = 2 // test.ping: once, also where the webhook is inactive
)

// wakes notes that a webhook has something due; who sends is told after the
// commit.
func (tx *Tx) wakes(webhook int64) { tx.woken = append(tx.woken, webhook) }

// OnDue has f called after each commit with the webhooks for which it queued
// something. f must be quick and must not write: the writer waits for it.
// It is to be set before the first write.
func (s *Store) OnDue(f func(webhooks []int64)) { s.onDue = f }

// dropWebhooks takes a program's webhooks away, what is pending for them too.
func (tx *Tx) dropWebhooks(program int64) error {
	_, err := tx.exec("UPDATE webhooks SET deleted_at=? WHERE program_id=? AND deleted_at IS NULL", tx.Now, program)
	return err
}
