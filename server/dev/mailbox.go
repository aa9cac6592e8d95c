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
		q, now, err := nextMail(st)
		if err != nil || q == nil || q.Due > now {
			return err
		}
		err = st.SystemWrite(context.Background(), func(tx *store.Tx) error {
			switch q.Status {
			case store.MailObsolete:
				return tx.DequeueMail(q)
			case store.MailHeld:
				return tx.HoldMail(q, now.Add(heldMail))
			case store.MailOverQuota:
				return tx.WaitForQuota(q)
			}
			tx.AfterCommit(func() { m.Put(q.Mail) })
			return tx.SentMail(q)
		})
		if err != nil {
			return err
		}
	}
}

// Due returns when the next message that waits is due; ok is false if none waits.
func (m *Mailbox) Due(st *store.Store) (at time.Time, ok bool, err error) {
	q, _, err := nextMail(st)
	if err != nil || q == nil {
		return at, false, err
	}
	return q.Due.Std(), true, nil
}

// nextMail returns the queued message that is due first, or nil, and the time.
func nextMail(st *store.Store) (m *store.QueuedMail, now store.Time, err error) {
	err = st.View(0, func(v *store.View) error {
		q, ok, err := v.NextMail()
		if ok {
			m = &q
		}
		now = v.Now
		return err
	})
	return m, now, err
}
