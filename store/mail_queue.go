package store

import (
	"cmp"
	"strconv"
	"time"
)

// Mail is a message to a holder with the install link of a card, or to a person with a
// one-time link.
type Mail struct {
	CardID   string // empty: a one-time link
	To       string // address
	Program  string // name, in the language
	Link     string // URL
	At       Time   // when it was requested
	Kind     string // of the one-time link, or MailTest or MailLost
	Shop     string // name of the shop of an invitation; empty: to be an operator
	Language string // of the text: that of the person or, of a card, the shop
	// Lost are the cards of a message of kind MailLost, newest first. CardID, Program and Link are those of the first one.
	Lost []LostCard
}

// The kinds of messages that have no one-time link.
const (
	MailTest = "test"       // it shows whether mail works, and has no link
	MailLost = "lost_cards" // its links are those of the cards with an email
)

// installURL returns the install link with a token of a card whose shop has a public URL.
func installURL(public, token string) string { return public + "/i/" + token }

// checkSendEmail returns a detail if send_email is true without an address.
func checkSendEmail(send Opt[bool], to Null[string]) []Detail {
	if send.Or(false) && !to.Valid {
		return []Detail{{"holder_email", "required", "is required with send_email"}}
	}
	return nil
}

// requireMailServer refuses send_email if no mail server is configured.
func (tx *Tx) requireMailServer(send Opt[bool]) error {
	if send.Or(false) && !tx.s.mails() {
		return refuse(Unprocessable, "send_email needs a mail server, and none is configured.")
	}
	return nil
}

// sendMail sends the new install link of a chain if send is true: it passes the
// message to Options.Mail after the commit, or queues it in the transaction. A
// message over a quota is queued in either case.
func (tx *Tx) sendMail(out IssuedCard, shop, root int64, token, program string, send Opt[bool]) {
	if !send.Or(false) {
		return
	}
	m := QueuedMail{
		Mail:  Mail{CardID: out.ID, To: out.HolderEmail.V, Program: program, Link: out.InstallURL, At: tx.Now},
		Due:   tx.Now,
		Token: token,
		root:  root,
		shop:  shop,
	}
	if deliver := tx.s.opts.Mail; deliver != nil && tx.failed == nil {
		var programs map[string]string // its name by language
		tx.one(into(&m.Language, &programs), `SELECT s.language, p.name_localizations FROM cards c JOIN shops s ON s.id=c.shop_id
			JOIN programs p ON p.id=c.program_id WHERE c.id=?`, root)
		m.Program = cmp.Or(programs[m.Language], program)
		if tx.checkQuotas(&m); m.Status == MailReady {
			tx.recordMail(&m)
			tx.AfterCommit(func() { deliver(m.Mail) })
			return
		}
	}
	tx.notifyMail()
	tx.exec("INSERT INTO mails (card_id, token, ends_at, due_at, created_at, shop_id) VALUES (?1,?2,?3,?4,?4,?5)",
		root, token, out.InstallURLExpiresAt, tx.Now, shop)
	if m.Status == MailOverQuota {
		tx.WaitForQuota(&m)
	}
}

// notifyMail has the function of OnMail called after the commit.
func (tx *Tx) notifyMail() {
	tx.AfterCommit(func() {
		if f := tx.s.onMail.Load(); f != nil {
			(*f)()
		}
	})
}

// releaseMail makes the message of an unlocked chain due at once.
func (tx *Tx) releaseMail(root int64) {
	tx.notifyMail()
	tx.exec("UPDATE mails SET due_at=? WHERE card_id=?", tx.Now, root)
}

// deleteMail deletes the queued message of a chain, whose link has ended or is no
// longer needed.
func (tx *Tx) deleteMail(root int64) {
	tx.exec("DELETE FROM mails WHERE card_id=?", root)
}

// OnMail sets the function that is called after each commit that queued mail or
// unlocked a card. It must be quick and must not write: the writer waits for it.
func (s *Store) OnMail(f func()) { s.onMail.Store(&f) }

// MailStatus says whether a queued message is to be sent.
type MailStatus int

// The states of a queued message.
const (
	MailReady     MailStatus = iota // it is sent when it is due
	MailHeld                        // it waits: the card is locked, and its page shows nothing
	MailObsolete                    // it is never sent: the link has ended, or there is no address
	MailOverQuota                   // it waits: the shop or the address has had as many as it may
)

// QueuedMail is a queued message. Its text, address and status are read right
// before each attempt, so that a corrected address or an archived card holds from
// the next attempt on.
type QueuedMail struct {
	Mail
	Status   MailStatus
	Due      Time
	Attempts int    // made so far
	Unsure   int    // attempts of which it is not known whether the message arrived
	Token    string // of the link: secret, and unique to the message
	link     int64  // key of the one-time link; 0: it is about cards
	lost     int64  // key of the request for the links of lost cards; 0: it is another message
	root     int64
	shop     int64
	waited   string // quota that it has waited for; empty: none
	over     string // quota that it is over; empty: none
	slot     Time   // when that quota lets it be sent
}

// NextMail returns the queued message that is due first, which may be after
// v.Now. It returns false if none is queued.
func (v *View) NextMail() (m QueuedMail, ok bool, err error) {
	v.snapshot()
	for _, next := range []func() (QueuedMail, bool, error){v.nextCardMail, v.nextLostMail, v.nextLinkMail} {
		n, found, err := next()
		if err != nil {
			return m, false, err
		}
		if found && (!ok || n.Due <= m.Due) {
			m, ok = n, true
		}
	}
	return m, ok, nil
}

// nextCardMail returns the queued message with the link of a card that is due first.
func (v *View) nextCardMail() (m QueuedMail, ok bool, err error) {
	if !v.one(into(&m.root, &m.Token, &m.Due, &m.Attempts, &m.Unsure, &m.At, &m.shop, &m.waited),
		"SELECT card_id, token, due_at, attempts, unsure, created_at, shop_id, quota FROM mails WHERE "+ofOpenShop+
			" ORDER BY due_at LIMIT 1") {
		return m, false, v.failed
	}
	m.CardID = v.ID(KindCard, m.root)
	h, err := v.HolderCard(m.Token)
	e, refused := AsError(err)
	switch {
	case refused && e.Code == Conflict:
		m.Status = MailHeld
	case refused || err == nil && (!h.Card.HolderEmail.Valid || h.Card.InstalledAt.Valid):
		m.Status = MailObsolete
	case err != nil:
		return m, false, err
	default:
		m.Mail = Mail{
			CardID:   m.CardID,
			To:       h.Card.HolderEmail.V,
			Program:  cmp.Or(h.Texts.Names[h.Shop.Language], h.Program.Name),
			Link:     installURL(v.PublicURLOf(m.shop), m.Token),
			At:       m.At,
			Language: h.Shop.Language,
		}
		if m.Due <= v.Now {
			v.checkQuotas(&m)
		}
	}
	return m, true, v.failed
}

// row returns the table of a queued message, and the condition for its row, whose
// arguments come last.
func (m *QueuedMail) row() (table, where string, args []any) {
	switch {
	case m.link != 0:
		return "link_mails", " WHERE link_id=? AND token=?", []any{m.link, m.Token}
	case m.lost != 0:
		return "lost_mails", " WHERE id=? AND token=?", []any{m.lost, m.Token}
	}
	return "mails", " WHERE card_id=? AND token=?", []any{m.root, m.Token}
}

// updateMail sets columns of the row of a queued message.
func (tx *Tx) updateMail(m *QueuedMail, set string, args ...any) {
	table, where, last := m.row()
	tx.exec("UPDATE "+table+" SET "+set+where, append(args, last...)...)
}

// CountMails returns the number of queued messages, at most max.
func (v *View) CountMails(max int64) (int64, error) {
	return v.number("SELECT count(*) FROM (SELECT 1 FROM mails WHERE due_at>=0 LIMIT ?)", max), v.failed
}

// DequeueMail deletes a message that is not to be sent. It leaves a message of the
// same card with a newer link.
func (tx *Tx) DequeueMail(m *QueuedMail) error {
	table, where, args := m.row()
	tx.exec("DELETE FROM "+table+where, args...)
	return tx.failed
}

// SentMail deletes a message that was sent, counts it for the quotas and, if it
// has waited for one, renews its link.
func (tx *Tx) SentMail(m *QueuedMail) error {
	tx.recordMail(m)
	return tx.DequeueMail(m)
}

// RejectMail does the same as DequeueMail for a message that the mail server
// refused, and writes the code of its answer to the shop's audit log. Code 0
// means that the message was given up after attempts of unknown result, the last
// of which counts for the quotas.
func (tx *Tx) RejectMail(m *QueuedMail, code int) error {
	if code == 0 {
		tx.recordMail(m)
	}
	action, kind, key := "card.mail_refused", KindCard, m.root
	if m.link != 0 {
		action, kind, key = "user.mail_refused", KindLink, m.link
	}
	tx.audit(m.shop, action, kind, key, `{"smtp_code":`+strconv.Itoa(code)+`}`)
	return tx.DequeueMail(m)
}

// DelayMail counts a failed attempt and sets the time of the next one.
func (tx *Tx) DelayMail(m *QueuedMail, wait time.Duration) error {
	tx.updateMail(m, "due_at=?, attempts=attempts+1", tx.Now.Add(wait))
	return tx.failed
}

// DelayUnsureMail does the same as DelayMail after an attempt of which it is not
// known whether the message arrived. The quotas count it as sent.
func (tx *Tx) DelayUnsureMail(m *QueuedMail, wait time.Duration) error {
	tx.recordMail(m)
	tx.updateMail(m, "due_at=?, attempts=attempts+1, unsure=unsure+1", tx.Now.Add(wait))
	return tx.failed
}

// HoldMail sets the time at which a message is due, without counting an attempt.
// It does nothing if that time has changed since the message was read, as when
// the card was unlocked meanwhile.
func (tx *Tx) HoldMail(m *QueuedMail, due Time) error {
	table, where, args := m.row()
	tx.exec("UPDATE "+table+" SET due_at=?"+where+" AND due_at=?", append(append([]any{due}, args...), m.Due)...)
	return tx.failed
}

// PruneMails deletes up to n messages whose links have ended and returns the ids
// of their cards. It also deletes requests for lost cards that are too old to be answered.
func (tx *Tx) PruneMails(n int) (cards []string, err error) {
	for _, root := range tx.keys("SELECT card_id FROM mails WHERE ends_at<=? LIMIT ?", tx.Now, n) {
		tx.deleteMail(root)
		cards = append(cards, tx.ID(KindCard, root))
	}
	tx.exec(`DELETE FROM lost_mails WHERE id IN (SELECT id FROM (SELECT id, created_at FROM lost_mails ORDER BY id LIMIT ?)
			WHERE created_at<=?)`, n, tx.Now.Add(-lostPeriod))
	return cards, tx.failed
}
