package store

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"time"
)

// mailing is a store that queues mail, with a program whose cards' links are mailed.
type mailing struct {
	*fixture
	program string
}

// startMailing returns a new mailing whose shop may send perHour messages an hour; 0 is no limit.
func startMailing(t *testing.T, perHour int) *mailing {
	limits := DefaultLimits()
	limits.MailPerHour = perHour
	f := start(t, Options{QueueMail: true, Limits: limits})
	return &mailing{f, f.program(stamps("Tea"))}
}

// queue issues a card whose link is to be mailed.
func (m *mailing) queue(to string) IssuedCard {
	return m.fixture.issue(m.program, CardFields{HolderEmail: set(to), SendEmail: set(true)})
}

// send sends what is due and returns the addresses.
func (m *mailing) send() (to []string) {
	for _, mail := range m.sendDue(m.queued) {
		to = append(to, mail.To)
	}
	return to
}

// sendDue sends the messages that are due, as the sender does, until none is due or waiting
// returns 0, and returns them.
func (m *mailing) sendDue(waiting func() int64) (sent []Mail) {
	m.t.Helper()
	for waiting() > 0 {
		q := m.nextMail()
		if q.Due > m.clock.at() {
			break
		}
		m.must(func(tx *Tx) error {
			switch q.Status {
			case MailObsolete:
				return tx.DequeueMail(&q)
			case MailOverQuota:
				return tx.WaitForQuota(&q)
			}
			sent = append(sent, q.Mail)
			return tx.SentMail(&q)
		})
	}
	if len(sent) > 0 {
		m.checkFile()
	}
	return sent
}

// linkEnd returns when the link of a card ends, according to its page.
func (m *mailing) linkEnd(c IssuedCard) (at Time) {
	m.view(func(v *View) error {
		h, err := v.HolderCard(path.Base(c.InstallURL))
		at = h.LinkExpiresAt.V
		return err
	})
	return at
}

// TestMailQuotaOfAddress checks that an address, in whatever case it is written, gets at most five
// messages in 24 hours, also after a restart.
func TestMailQuotaOfAddress(t *testing.T) {
	m := startMailing(t, 0)
	ttl := DefaultLimits().InstallLinkTTL
	var last IssuedCard
	for i := range 7 {
		last = m.queue([]string{"ada@example.com", "Ada@Example.com"}[i%2])
	}
	m.queue("eve@example.com")
	if to := m.send(); len(to) != 6 || to[5] != "eve@example.com" {
		t.Fatalf("at first mail was sent to %v", to)
	}
	m.clock.move(addressPeriod - time.Millisecond)
	m.Close()
	m.Store = open(t, m.path, m.opts)
	if to := m.send(); len(to) != 0 {
		t.Errorf("within the day mail was sent to %v", to)
	}
	m.clock.move(time.Millisecond)
	if to := m.send(); len(to) != 2 {
		t.Errorf("after a day mail was sent to %v", to)
	}
	if got, want := m.linkEnd(last), m.clock.at().Add(ttl); got != want {
		t.Errorf("the link of the mail that waited ends at %v, want %v", got, want)
	}
	m.selects(2, "SELECT count(DISTINCT address) FROM sent_mails WHERE length(address)=16")
}

// TestMailQuotaOfShop checks that the messages of a shop in any hour are at most as many as its
// quota, and sent in the order in which they were queued, and that another shop is not affected.
func TestMailQuotaOfShop(t *testing.T) {
	m := startMailing(t, 3)
	other := m.shop(ShopFields{})
	for i := range 8 {
		m.queue(fmt.Sprintf("p%d@example.com", i))
	}
	m.a, m.program = other, m.fixture.in(other).program(stamps("Cake"))
	m.queue("other@example.com")
	if to := m.send(); strings.Join(to, " ") != "p0@example.com p1@example.com p2@example.com other@example.com" {
		t.Fatalf("at first mail was sent to %v", to)
	}
	var sent []Time
	var order []string
	for range 4 * 60 {
		m.clock.move(time.Minute)
		for _, to := range m.send() {
			sent, order = append(sent, m.clock.at()), append(order, to)
		}
	}
	if got := strings.Join(order, " "); got != "p3@example.com p4@example.com p5@example.com p6@example.com p7@example.com" {
		t.Errorf("then mail was sent to %s", got)
	}
	if len(sent) == 5 &&
		(sent[3]-sent[0] < Time(shopPeriod.Milliseconds()) || sent[4]-sent[0] > Time((shopPeriod+2*time.Minute).Milliseconds())) {
		t.Errorf("the five messages were sent at %v, want the fourth and fifth an hour after the first", sent)
	}
}

// TestMailOverQuota checks that messages over the quota are spread over the hours in which there is
// room for them, and that new messages do not overtake them.
func TestMailOverQuota(t *testing.T) {
	m := startMailing(t, 2)
	for i := range 40 {
		m.queue(fmt.Sprintf("p%d@example.com", i))
	}
	if to := m.send(); len(to) != 2 {
		t.Fatalf("at first mail was sent to %v", to)
	}
	m.selects(19, "SELECT count(DISTINCT due_at) FROM mails WHERE quota='shop'")
	m.clock.move(shopPeriod + time.Minute)
	m.queue("late@example.com")
	if to := m.send(); strings.Join(to, " ") != "p2@example.com p3@example.com" {
		t.Errorf("after an hour mail was sent to %v", to)
	}
	m.clock.move(19 * shopPeriod)
	for range 30 {
		m.send()
		m.clock.move(shopPeriod + time.Minute)
	}
	if n := m.queued(); n != 0 {
		t.Errorf("%d messages still wait", n)
	}
}

// TestMailQuotaChanged checks that ReplanMail, which runs at each start, applies a changed quota to
// the messages that wait.
func TestMailQuotaChanged(t *testing.T) {
	m := startMailing(t, 1)
	for i := range 5 {
		m.queue(fmt.Sprintf("p%d@example.com", i))
	}
	m.send()
	m.opts.Limits.MailPerHour = 0
	m.must((*Tx).ReplanMail)
	if to := m.send(); len(to) != 4 {
		t.Errorf("without a quota mail was sent to %v", to)
	}
}

// TestMailWaitsBeyondItsLink checks that a message that waits for a quota is not
// lost when its link would have ended, and that the link works when it is sent.
func TestMailWaitsBeyondItsLink(t *testing.T) {
	m := startMailing(t, 1)
	m.opts.Limits.InstallLinkTTL = 10 * time.Minute
	m.queue("first@example.com")
	second := m.queue("second@example.com")
	m.send()
	m.clock.move(shopPeriod)
	if pruned := must(m.fixture, func(tx *Tx) ([]string, error) { return tx.PruneMails(10) }); len(pruned) != 0 {
		t.Errorf("pruned %v", pruned)
	}
	if to := m.send(); len(to) != 1 || to[0] != "second@example.com" {
		t.Errorf("after an hour mail was sent to %v", to)
	}
	if got, want := m.linkEnd(second), m.clock.at().Add(10*time.Minute); got != want {
		t.Errorf("its link ends at %v, want %v", got, want)
	}
}

// TestSentMailForgotten checks that a row of sent mail is deleted after a day or with its card, and
// that an attempt of unknown result has a row too.
func TestSentMailForgotten(t *testing.T) {
	m := startMailing(t, 0)
	erased, kept := m.queue("ada@example.com"), m.queue("eve@example.com")
	m.send()
	m.erase(erased.ID)
	if got := m.lines("SELECT card_id FROM sent_mails"); len(got) != 1 || got[0] != fmt.Sprint(m.key(KindCard, kept.ID)) {
		t.Errorf("after the erasure the cards of sent mail are %v", got)
	}
	m.clock.move(addressPeriod - time.Millisecond)
	m.queue("bob@example.com")
	q := m.nextMail()
	m.must(func(tx *Tx) error { return tx.DelayUnsureMail(&q, time.Minute) })
	m.must(func(tx *Tx) error { return tx.RejectMail(&q, 550) })
	prune := func() bool { return must(m.fixture, func(tx *Tx) (bool, error) { return tx.PruneSentMails(10) }) }
	if prune() {
		t.Error("a row was deleted before its day ended")
	}
	m.clock.move(time.Millisecond)
	if !prune() || prune() || m.number("SELECT count(*) FROM sent_mails") != 1 {
		t.Error("PruneSentMails did not delete exactly the rows that are a day old")
	}
}

// TestMailboxQuota checks the quota of an address in a store that passes messages to Options.Mail
// after the commit instead of queueing them.
func TestMailboxQuota(t *testing.T) {
	var got []Mail
	f := start(t, Options{Mail: func(m Mail) { got = append(got, m) }})
	m := &mailing{f, f.program(stamps("Tea"))}
	for range 6 {
		m.queue("ada@example.com")
	}
	if len(got) != mailsPerAddress || m.queued() != 1 {
		t.Fatalf("%d passed on, %d queued", len(got), m.queued())
	}
	m.clock.move(addressPeriod)
	if to := m.send(); len(to) != 1 {
		t.Errorf("after a day mail was sent to %v", to)
	}
}

// TestSentMailOfErased checks that the outcome of a message can be written although its card, or its shop, was
// erased while it was sent, and that nothing stays of it. The sender writes no other outcome before.
func TestSentMailOfErased(t *testing.T) {
	m := startMailing(t, 0)
	card := m.queue("ada@example.com")
	sending := m.nextMail()
	sent := func(what string) {
		m.must(func(tx *Tx) error { return tx.SentMail(&sending) })
		m.must(func(tx *Tx) error { return tx.DelayUnsureMail(&sending, time.Minute) })
		if n := m.number("SELECT count(*) FROM sent_mails"); n != 0 {
			t.Errorf("%s: %d messages are counted", what, n)
		}
		m.checkFile()
	}
	m.erase(card.ID)
	sent("an erased card")
	m.queue("eve@example.com")
	sending = m.nextMail()
	m.writes(func(tx *Tx) { check(tx.DeleteShop(m.a.Shop, "My shop")) })
	sent("a deleted shop")
	succeed(m.EraseShop(t.Context(), m.a.Shop, 100, func(time.Duration) {}))
	sent("an erased shop")
}
