package store

import "time"

// The quotas of mail. A message over a quota waits until the quota lets it be sent.
// Any 24 hours have at most mailsPerAddress messages to one address, whichever shops
// send them, and any hour has at most Limits.MailPerHour messages of one shop, at most
// a quarter of them asked for at a form that is open to anybody. All count the rows of
// sent_mails.
const (
	mailsPerAddress = 5
	addressPeriod   = 24 * time.Hour
	shopPeriod      = time.Hour
	publicShare     = 4
)

// The values of mails.quota.
const (
	quotaAddress = "address"
	quotaShop    = "shop"
)

// slotTolerance is how late a slot may become free because the message before it
// was sent late. The message keeps its place among those of its shop.
const slotTolerance = time.Minute

// checkQuotas sets m.Status to MailOverQuota, and m.slot, if a quota does not let
// the message be sent now.
func (q *queries) checkQuotas(m *QueuedMail) {
	slot := q.slot(addressPeriod, "SELECT sent_at FROM sent_mails WHERE address=? ORDER BY sent_at DESC LIMIT 1 OFFSET ?",
		q.s.addressHash(m.To), mailsPerAddress-1)
	if slot > q.Now {
		m.Status, m.over, m.slot = MailOverQuota, quotaAddress, slot
		return
	}
	if q.s.opts.Limits.MailPerHour == 0 {
		return
	}
	slot = q.shopSlot(m)
	if m.lost != 0 { // somebody asked for it at a form that is open to anybody
		perHour := max(1, q.s.opts.Limits.MailPerHour/publicShare)
		slot = max(
			slot,
			q.slot(shopPeriod, "SELECT sent_at FROM sent_mails WHERE shop_id=? AND public=1 ORDER BY sent_at DESC LIMIT 1 OFFSET ?",
				m.shop, perHour-1),
		)
	}
	if slot > q.Now {
		m.Status, m.over, m.slot = MailOverQuota, quotaShop, slot
	}
}

// shopSlot returns the time from which the shop's quota lets a message be sent, 0
// for any time. Each message that waits has a slot of its own, an hour after the
// message that is MailPerHour places before it, so that messages go out in the
// order in which they came and each one is made to wait once.
func (q *queries) shopSlot(m *QueuedMail) Time {
	before := q.s.opts.Limits.MailPerHour - 1
	if m.waited == quotaShop {
		slot := q.slot(shopPeriod, "SELECT sent_at FROM sent_mails WHERE shop_id=? ORDER BY sent_at DESC LIMIT 1 OFFSET ?", m.shop, before)
		if slot <= q.Now.Add(slotTolerance) {
			return slot
		}
	}
	return q.slot(shopPeriod, `SELECT sent_at AS at FROM sent_mails WHERE shop_id=?1
		UNION ALL SELECT due_at FROM mails WHERE shop_id=?1 AND quota='shop' AND due_at>?2
		ORDER BY at DESC LIMIT 1 OFFSET ?3`, m.shop, q.Now, before)
}

// slot returns the time that a query selects plus a period, 0 if it selects none.
func (q *queries) slot(period time.Duration, sql string, args ...any) (slot Time) {
	if q.one(into(&slot), sql, args...) {
		slot = slot.Add(period)
	}
	return slot
}

// addressHash returns what sent_mails has of an address. It depends on the file's
// id secret and is the same for addresses that differ only by case.
func (s *Store) addressHash(to string) []byte {
	return s.mac("mail address\x00" + foldCase(to))
}

// WaitForQuota makes a message with the status MailOverQuota wait until its quota
// lets it be sent. Its link is valid as long as if it was made then.
func (tx *Tx) WaitForQuota(m *QueuedMail) error {
	if m.lost != 0 {
		tx.updateMail(m, "due_at=?", m.slot)
		return tx.failed
	}
	if tx.exec("UPDATE mails SET due_at=?, quota=? WHERE card_id=? AND token=? AND due_at=?", m.slot, m.over, m.root, m.Token, m.Due) > 0 {
		tx.renewLink(m, m.slot)
	}
	return tx.failed
}

// recordMail counts a message for the quotas, unless its card was erased, or the shop deleted, while it
// was sent. If it has waited for a quota, its link is renewed.
func (tx *Tx) recordMail(m *QueuedMail) {
	if m.link != 0 { // see mailRule
		return
	}
	tx.exec(`INSERT INTO sent_mails (shop_id, card_id, address, sent_at, public)
		SELECT shop_id, id, ?, ?, ? FROM cards WHERE id=? AND deleted_at IS NULL AND `+ofShopNotDeleted,
		tx.s.addressHash(m.To), tx.Now, m.lost != 0, m.root)
	if m.waited != "" {
		tx.renewLink(m, tx.Now)
	}
}

// renewLink makes the link of a message valid as if it was made at a time, unless it
// was replaced.
func (tx *Tx) renewLink(m *QueuedMail, at Time) {
	ends := at.Add(tx.Limits.InstallLinkTTL)
	tx.exec("UPDATE mails SET ends_at=? WHERE card_id=? AND token=?", ends, m.root, m.Token)
	tx.exec("UPDATE cards SET install_expires_at=? WHERE id=? AND install_hash=?", ends, m.root, Hash(m.Token))
}

// ReplanMail makes the messages due that wait for the quota of their shop. It is
// for a start, at which the quota may be another.
func (tx *Tx) ReplanMail() error {
	tx.exec("UPDATE mails SET due_at=? WHERE quota='shop' AND due_at>?", tx.Now, tx.Now)
	tx.exec("UPDATE lost_mails SET due_at=? WHERE due_at>?", tx.Now, tx.Now)
	return tx.failed
}

// PruneSentMails deletes up to n rows that no quota counts any longer, and reports
// whether it deleted any.
func (tx *Tx) PruneSentMails(n int) (bool, error) {
	deleted := tx.exec(
		"DELETE FROM sent_mails WHERE id IN (SELECT id FROM (SELECT id, sent_at FROM sent_mails ORDER BY id LIMIT ?) WHERE sent_at<=?)",
		n, tx.Now.Add(-addressPeriod))
	return deleted > 0, tx.failed
}
