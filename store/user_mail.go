package store

import "time"

// mailRule lets five invitations go to an address within a day.
var mailRule = attemptRule{name: "mail", max: mailsPerAddress, window: addressPeriod, lock: addressPeriod, longest: addressPeriod}

// mails reports whether there is a mail server, or the mailbox of a fixture.
func (s *Store) mails() bool { return s.opts.Mail != nil || s.opts.QueueMail }

// countInvitation counts an invitation that is mailed to an address, and refuses it if the
// address has had too many. Requests for resets are counted apart: only accounts get them, and
// the count of invitations must not show who has an account.
func (tx *Tx) countInvitation(email string) error {
	address := subject{mailRule, tx.s.subjectHash("mail", foldCase(email))}
	if until := tx.countAll(address); until > 0 {
		return tooMany("This address has had as many messages as it may within a day.", tx.Now, until)
	}
	return tx.failed
}

// mailLink sends a new one-time link, whose key is given, to its person.
func (tx *Tx) mailLink(c *CreatedLink, key int64) {
	c.Mailed = true
	deliver := tx.s.opts.Mail
	tx.exec("INSERT INTO link_mails (link_id, token, due_at) VALUES (?,?,?)", key, c.Token, tx.Now)
	if deliver == nil {
		tx.notifyMail()
		return
	}
	m, err := tx.linkMail(key)
	if err != nil && tx.failed == nil {
		tx.failed = err
	}
	tx.exec("DELETE FROM link_mails WHERE link_id=?", key)
	tx.AfterCommit(func() { deliver(m.Mail) })
}

// nextLinkMail returns the queued message with a one-time link that is due first.
func (v *View) nextLinkMail() (m QueuedMail, ok bool, err error) {
	var key int64
	if !v.one(into(&key), "SELECT link_id FROM link_mails ORDER BY due_at LIMIT 1") {
		return m, false, v.failed
	}
	m, err = v.linkMail(key)
	return m, err == nil, err
}

// linkMail returns the queued message with a one-time link.
func (q *queries) linkMail(key int64) (m QueuedMail, err error) {
	var expires Time
	m.link = key
	err = q.find("message",
		into(&m.Token, &m.Due, &m.Attempts, &m.Unsure, &m.Kind, &m.To, &m.shop, &m.At, &expires, &m.Shop, &m.Language),
		`SELECT q.token, q.due_at, q.attempts, q.unsure, l.kind, l.email, ifnull(l.shop_id, 0), l.created_at, l.expires_at,
		ifnull(s.name, ''), ifnull(u.language, ifnull(s.language, 'en')) FROM link_mails q JOIN links l ON l.id=q.link_id
		LEFT JOIN shops s ON s.id=l.shop_id LEFT JOIN users u ON u.id=l.user_id WHERE q.link_id=?`, key)
	m.Link = q.s.opts.PublicURL + linkPaths[m.Kind] + m.Token
	if expires <= q.Now.Add(time.Minute) {
		m.Status = MailObsolete
	}
	return m, err
}
