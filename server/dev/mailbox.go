package dev

import (
	"context"
	"time"

	"punchcard/store"
)

// heldMail is how long the message of a locked card waits before it is looked at
// again. Unlocking the card makes it due.
const heldMail = 24 * time.Hour

// Deliver puts the messages into the mailbox that have waited for a quota and are
// due. Those within the quotas are put there when their request is answered.
func (m *Mailbox) Deliver(st *store.Store) error {
	m.delivering.Lock()
	defer m.delivering.Unlock()
	for {
		q, ok, now, err := nextMail(st)
		if err != nil || !ok || q.Due > now {
			return err
		}
		err = st.SystemWrite(context.Background(), func(tx *store.Tx) error {
			switch q.Status {
			case store.MailObsolete:
				return tx.DequeueMail(&q)
			case store.MailHeld:
				return tx.HoldMail(&q, now.Add(heldMail))
			case store.MailOverQuota:
				return tx.WaitForQuota(&q)
			}
			tx.AfterCommit(func() { m.Put(q.Mail) })
			return tx.SentMail(&q)
		})
		if err != nil {
			return err
		}
	}
}

// Due returns when the next message that waits is due; ok is false if none waits.
func (m *Mailbox) Due(st *store.Store) (at time.Time, ok bool, err error) {
	q, ok, _, err := nextMail(st)
	return q.Due.Std(), ok, err
}

// nextMail returns the queued message that is due first, and the time; ok is false if none is queued.
func nextMail(st *store.Store) (q store.QueuedMail, ok bool, now store.Time, err error) {
	err = st.View(0, func(v *store.View) (err error) {
		q, ok, err = v.NextMail()
		now = v.Now
		return err
	})
	return q, ok, now, err
}
