package store

import (
	"strconv"
	"time"
)

// Mail is what a message to a holder is about: the install link of a card.
type Mail struct {
	CardID  string
	To      string // address
	Program string // name
	Link    string // URL
	At      Time   // when it was asked for
}

// linkTo is the install link of a token.
func (s *Store) installURL(token string) string { return s.opts.PublicURL + "/i/" + token }

// mayMail tells what is wrong with a wish to send mail.
func checkSendEmail(send Opt[bool], to Null[string]) []Detail {
	if send.Or(false) && !to.Valid {
		return []Detail{{"holder_email", "required", "is required with send_email"}}
	}
	return nil
}

func (tx *Tx) requireMailServer(send Opt[bool]) error {
	if send.Or(false) && tx.s.opts.Mail == nil && !tx.s.opts.QueueMail {
		return refuse(Unprocessable, "send_email needs a mail server, and none is configured.")
	}
	return nil
}

// mail has the new install link of a chain sent, if asked to: it is handed on
// once the write is on disk, or queued in the same transaction.
func (tx *Tx) sendMail(out IssuedCard, root int64, token, program string, send Opt[bool]) error {
	if !send.Or(false) {
		return nil
	}
	if take := tx.s.opts.Mail; take != nil {
		m := Mail{CardID: out.ID, To: out.HolderEmail.V, Program: program, Link: out.InstallURL, At: tx.Now}
		tx.AfterCommit(func() { take(m) })
		return nil
	}
	tx.notifyMail()
	_, err := tx.exec("INSERT INTO mails (card_id, token, ends_at, due_at, created_at) VALUES (?1,?2,?3,?4,?4)",
		root, token, out.InstallURLExpiresAt, tx.Now)
	return err
}

// ringForMail has OnMail's function called after the commit.
func (tx *Tx) notifyMail() {
	tx.AfterCommit(func() {
		if f := tx.s.onMail.Load(); f != nil {
			(*f)()
		}
	})
}

// releaseMail makes what waited while a chain was locked due at once.
func (tx *Tx) releaseMail(root int64) error {
	tx.notifyMail()
	_, err := tx.exec("UPDATE mails SET due_at=? WHERE card_id=?", tx.Now, root)
	return err
}

// dropMail takes away what waits to be sent for a chain: its link is dead, or
// of no more use.
func (tx *Tx) deleteMail(root int64) error {
	_, err := tx.exec("DELETE FROM mails WHERE card_id=?", root)
	return err
}

// OnMail has f called after each commit that queued mail, or unlocked a card. f
// must be quick and must not write: the writer waits for it.
func (s *Store) OnMail(f func()) { s.onMail.Store(&f) }

// MailState tells whether a queued message is to be sent.
type MailStatus int

// The states of a queued message.
const (
	MailReady    MailStatus = iota // when it is due
	MailHeld                       // the card is locked, and its page shows nothing
	MailObsolete                   // for good: the link has ended, or there is nobody to send it to
)

// QueuedMail is a message as it would go out now: what it says, to whom and
// whether at all is what the file says at this moment, so that a corrected
// address or an archived card counts from the next attempt on.
type QueuedMail struct {
	Mail
	Status   MailStatus
	Due      Time
	Attempts int    // made so far
	Unsure   int    // of these, after which nobody knows whether it arrived
	Token    string // of its link: a secret, and no other message ever has it
	root     int64
}

// NextMail is the queued message that is due first, be it later than v.Now;
// false: none is queued.
func (v *View) NextMail() (m QueuedMail, ok bool, err error) {
	err = v.snapshot(func() error {
		ok, err = v.one(func(r *rows) {
			m.root, m.Token, m.Due, m.Attempts, m.Unsure, m.At = r.int(), r.str(), r.time(), int(r.int()), int(r.int()), r.time()
		}, "SELECT "+columns("card_id", "token", "due_at", "attempts", "unsure", "created_at")+" FROM mails ORDER BY due_at LIMIT 1")
		if err != nil || !ok {
			return err
		}
		m.CardID = v.s.ID(KindCard, m.root)
		h, err := v.HolderCard(m.Token)
		e, refused := AsError(err)
		switch {
		case refused && e.Code == Conflict:
			m.Status = MailHeld
		case refused || err == nil && (!h.Card.HolderEmail.Valid || h.Card.InstalledAt.Valid):
			m.Status = MailObsolete
		case err != nil:
			return err
		default:
			m.Mail = Mail{CardID: m.CardID, To: h.Card.HolderEmail.V, Program: h.Program.Name, Link: v.s.installURL(m.Token), At: m.At}
		}
		return nil
	})
	return m, ok && err == nil, err
}

// CountMails counts the messages that are queued, up to most.
func (v *View) CountMails(most int64) (int64, error) {
	return v.number("SELECT count(*) FROM (SELECT 1 FROM mails WHERE due_at>=0 LIMIT ?)", most)
}

// DeleteMail takes a message out of the queue: it was sent, or is not to be. One
// with a newer link, queued meanwhile, stays.
func (tx *Tx) DequeueMail(m *QueuedMail) error {
	_, err := tx.exec("DELETE FROM mails WHERE card_id=? AND token=?", m.root, m.Token)
	return err
}

// RejectMail is DeleteMail for a message that the mail server will not take,
// with the code of its answer, or is not to be given again: 0. The card's shop
// finds it in its audit log.
func (tx *Tx) RejectMail(m *QueuedMail, code int) error {
	shop, err := tx.number("SELECT shop_id FROM cards WHERE id=?", m.root)
	if err != nil {
		return err
	}
	if err := tx.audit(shop, "card.mail_refused", KindCard, m.root, `{"smtp_code":`+strconv.Itoa(code)+`}`); err != nil {
		return err
	}
	return tx.DequeueMail(m)
}

// RetryMail has a message wait for its next attempt.
func (tx *Tx) DelayMail(m *QueuedMail, wait time.Duration) error {
	_, err := tx.exec("UPDATE mails SET due_at=?, attempts=attempts+1 WHERE card_id=? AND token=?", tx.Now.Add(wait), m.root, m.Token)
	return err
}

// RetryUnsureMail is RetryMail after an attempt of which nobody knows whether the
// message arrived.
func (tx *Tx) DelayUnsureMail(m *QueuedMail, wait time.Duration) error {
	_, err := tx.exec("UPDATE mails SET due_at=?, attempts=attempts+1, unsure=unsure+1 WHERE card_id=? AND token=?", tx.Now.Add(wait), m.root, m.Token)
	return err
}

// PostponeMail has a message wait, behind what is due before, without counting an
// attempt. One whose time changed since it was read, as that of a card unlocked
// meanwhile does, keeps it.
func (tx *Tx) HoldMail(m *QueuedMail, due Time) error {
	_, err := tx.exec("UPDATE mails SET due_at=? WHERE card_id=? AND token=? AND due_at=?", due, m.root, m.Token, m.Due)
	return err
}

// PruneMails takes up to n messages out of the queue whose links have ended,
// and returns the ids of their cards.
func (tx *Tx) PruneMails(n int) (cards []string, err error) {
	roots, err := tx.keys("SELECT card_id FROM mails WHERE ends_at<=? LIMIT ?", tx.Now, n)
	for _, root := range roots {
		if err := tx.deleteMail(root); err != nil {
			return nil, err
		}
		cards = append(cards, tx.s.ID(KindCard, root))
	}
	return cards, err
}
