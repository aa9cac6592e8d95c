package store

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// nextMail returns the first mail of the queue, which must not be empty.
func (f *fixture) nextMail() (m QueuedMail) {
	f.t.Helper()
	f.view(func(v *View) error {
		var ok bool
		var err error
		if m, ok, err = v.NextMail(); err == nil && !ok {
			f.t.Fatal("no mail is queued")
		}
		return err
	})
	return m
}

// queued returns how many messages are queued.
func (f *fixture) queued() int64 { return f.number("SELECT count(*) FROM mails") }

// startMail returns a store that queues mail, a program, and a card whose link is queued.
func startMail(t *testing.T) (f *fixture, program string, card IssuedCard) {
	f = start(t, Options{QueueMail: true, PublicURL: "https://cards.example.com/shop"})
	program = f.program(stamps("Tea & cake"))
	card = f.issue(program, CardFields{HolderName: set("Ada"), HolderEmail: set("ada@example.com"), SendEmail: set(true)})
	return f, program, card
}

func TestQueuedMail(t *testing.T) {
	f, _, card := startMail(t)
	m := f.nextMail()
	want := Mail{CardID: card.ID, To: "ada@example.com", Program: "Tea & cake", Link: card.InstallURL, At: f.clock.at(), Language: "en"}
	if !reflect.DeepEqual(m.Mail, want) || m.Status != MailReady || m.Due != f.clock.at() || m.Attempts != 0 ||
		m.Token != path.Base(card.InstallURL) {
		t.Errorf("queued %+v, want %+v", m, want)
	}
	// The queue has the current values.
	f.update(card.ID, CardPatch{HolderEmail: set("lovelace@example.com")})
	if m := f.nextMail(); m.To != "lovelace@example.com" || m.Status != MailReady {
		t.Errorf("after a change of the address %+v", m)
	}
	f.lock(card.ID, true)
	if m := f.nextMail(); m.Status != MailHeld {
		t.Errorf("of a locked card %+v", m)
	}
	f.lock(card.ID, false)
	f.update(card.ID, CardPatch{HolderEmail: null[string]()})
	if m := f.nextMail(); m.Status != MailObsolete || m.To != "" {
		t.Errorf("without an address %+v", m)
	}
	f.checkFile()
}

// TestMailOfInvalidLinks checks that a link that has ended for any reason is not mailed.
func TestMailOfInvalidLinks(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(f *fixture, program string, card IssuedCard){
		"a newer link":         func(f *fixture, _ string, card IssuedCard) { f.newLink(card.ID) },
		"a reissue":            func(f *fixture, _ string, card IssuedCard) { f.reissue(card.ID, ReissueFields{}) },
		"archiving":            func(f *fixture, _ string, card IssuedCard) { f.archive(card.ID) },
		"erasing":              func(f *fixture, _ string, card IssuedCard) { f.erase(card.ID) },
		"installing":           func(f *fixture, _ string, card IssuedCard) { check(till{fixture: f}.install(card.InstallURL)) },
		"deleting the program": func(f *fixture, program string, _ IssuedCard) { f.deleteProgram(program) },
	} {
		f, program, card := startMail(t)
		other := f.cardWith(f.program(stamps("Other")), CardFields{HolderEmail: set("eve@example.com"), SendEmail: set(true)})
		token := path.Base(card.InstallURL)
		if !strings.Contains(f.dump(), token) {
			t.Fatal("the file does not contain the token of the queued mail")
		}
		end(f, program, card)
		if strings.Contains(f.dump(), token) {
			t.Errorf("after %s the file still contains the token", what)
		}
		if m := f.nextMail(); f.queued() != 1 || m.CardID != other {
			t.Errorf("after %s %d are queued, first %+v", what, f.queued(), m)
		}
		f.checkFile()
	}
}

// TestMailOfNewerLink checks that a new link that is to be mailed replaces the queued one.
func TestMailOfNewerLink(t *testing.T) {
	f, _, card := startMail(t)
	old := f.nextMail()
	again := f.reissue(card.ID, ReissueFields{HolderEmail: set("new@example.com"), SendEmail: set(true)})
	// The outcome of the first mail is recorded late.
	f.must(func(tx *Tx) error { return tx.DelayMail(&old, time.Hour) })
	f.must(func(tx *Tx) error { return tx.DequeueMail(&old) })
	if m := f.nextMail(); m.Token != path.Base(again.InstallURL) || m.To != "new@example.com" || m.Attempts != 0 || m.Due != f.clock.at() {
		t.Errorf("queued %+v", m)
	}
	f.checkFile()
}

// TestRefusedWriteQueuesNoMail checks that a write that is rolled back queues nothing, and that
// a store that sends no mail refuses a card whose link is to be mailed.
func TestRefusedWriteQueuesNoMail(t *testing.T) {
	f, program, _ := startMail(t)
	fields := CardFields{HolderEmail: set("b@example.com"), SendEmail: set(true)}
	if err := f.do(func(tx *Tx) error {
		succeed(f.issuing(program, fields)(tx))
		return refuse(Conflict, "taken back")
	}); err == nil || f.queued() != 1 {
		t.Errorf("%v, %d queued", err, f.queued())
	}
	none := start(t)
	refused(t, none.do(none.issuing(none.program(stamps("P")), fields)), Unprocessable)
}

func TestMailOutcomes(t *testing.T) {
	f, program, first := startMail(t)
	f.clock.move(time.Second)
	second := f.cardWith(program, CardFields{HolderEmail: set("b@example.com"), SendEmail: set(true)})
	m := f.nextMail()
	if m.CardID != first.ID {
		t.Fatalf("first is %+v", m)
	}
	f.must(func(tx *Tx) error { return tx.DelayMail(&m, time.Minute) })
	if next := f.nextMail(); next.CardID != second {
		t.Errorf("after a delay the first is %+v", next)
	}
	over := f.nextMail()
	f.must(func(tx *Tx) error { return tx.DequeueMail(&over) })
	if next := f.nextMail(); next.CardID != first.ID || next.Attempts != 1 || next.Due != f.clock.at().Add(time.Minute) || next.At != m.At {
		t.Errorf("then it is %+v", next)
	}
	f.must(func(tx *Tx) error { return tx.RejectMail(&m, 550) })
	if n := f.queued(); n != 0 {
		t.Errorf("%d are queued at the end", n)
	}
	refusal := fmt.Sprintf(`card.mail_refused %d {"smtp_code":550} %d`, f.key(KindCard, first.ID), f.a.Shop)
	f.selectsLines([]string{refusal}, "SELECT concat_ws(' ', action, target_id, detail, shop_id) FROM audit WHERE action LIKE 'card.mail%'")
	f.checkFile()
}

// TestMailEndsWithItsLink checks that mail is pruned with its own link only.
func TestMailEndsWithItsLink(t *testing.T) {
	f, program, first := startMail(t)
	f.clock.move(time.Minute)
	second := f.cardWith(program, CardFields{HolderEmail: set("b@example.com"), SendEmail: set(true)})
	prune := func() []string { return must(f, func(tx *Tx) ([]string, error) { return tx.PruneMails(10) }) }
	f.clock.move(DefaultLimits().InstallLinkTTL - time.Minute - time.Millisecond)
	if gone := prune(); len(gone) != 0 || f.nextMail().Status != MailReady {
		t.Errorf("pruned %v a millisecond before the end", gone)
	}
	f.clock.move(time.Millisecond)
	if m := f.nextMail(); m.CardID != first.ID || m.Status != MailObsolete {
		t.Errorf("at the end %+v", m)
	}
	if gone := prune(); !slices.Equal(gone, []string{first.ID}) {
		t.Errorf("pruned %v", gone)
	}
	if m := f.nextMail(); m.CardID != second || m.Status != MailReady {
		t.Errorf("the second is %+v", m)
	}
	f.checkFile()
}

// TestMailOfLockedCard checks that mail of a locked card waits without an attempt and is due once
// the card is unlocked, even if the sender looks late.
func TestMailOfLockedCard(t *testing.T) {
	f, _, card := startMail(t)
	notified := 0
	f.OnMail(func() { notified++ })
	f.lock(card.ID, true)
	m := f.nextMail()
	f.must(func(tx *Tx) error { return tx.HoldMail(&m, f.clock.at().Add(time.Hour)) })
	held := f.nextMail()
	if held.Due != f.clock.at().Add(time.Hour) || held.Attempts != 0 || held.Status != MailHeld || notified != 0 {
		t.Errorf("held %+v, notified %d times", held, notified)
	}
	f.clock.move(time.Minute)
	f.lock(card.ID, false)
	f.must(func(tx *Tx) error { return tx.HoldMail(&held, held.Due) })
	if m := f.nextMail(); m.Due != f.clock.at() || m.Attempts != 0 || m.Status != MailReady || notified != 1 {
		t.Errorf("unlocked %+v, notified %d times", m, notified)
	}
	f.checkFile()
}

// TestMailUnsure checks that attempts whose message may have arrived are also counted by
// themselves, and that a newer link begins with neither count.
func TestMailUnsure(t *testing.T) {
	f, _, card := startMail(t)
	m := f.nextMail()
	f.must(func(tx *Tx) error { return tx.DelayMail(&m, time.Minute) })
	f.must(func(tx *Tx) error { return tx.DelayUnsureMail(&m, time.Hour) })
	if m := f.nextMail(); m.Attempts != 2 || m.Unsure != 1 || m.Due != f.clock.at().Add(time.Hour) {
		t.Errorf("queued %+v", m)
	}
	f.reissue(card.ID, ReissueFields{SendEmail: set(true)})
	if m := f.nextMail(); m.Attempts != 0 || m.Unsure != 0 {
		t.Errorf("with a newer link %+v", m)
	}
	f.checkFile()
}

// TestMailLanguage checks that a message is in the language of the shop, whether it is queued or
// passed to Options.Mail.
func TestMailLanguage(t *testing.T) {
	t.Parallel()
	var sent []Mail
	for _, opts := range []Options{{QueueMail: true}, {Mail: func(m Mail) { sent = append(sent, m) }}} {
		f := start(t, opts)
		f.sql("UPDATE shops SET language='it'")
		program := stamps("Coffee")
		program.NameLocalizations = set(map[string]string{"it": "Tessera caffè", "de": "Kaffeekarte"})
		f.cardWith(f.program(program), CardFields{HolderEmail: set("ada@example.com"), SendEmail: set(true)})
		m := append(sent, Mail{})[0]
		if opts.QueueMail {
			m = f.nextMail().Mail
		}
		if m.Language != "it" || m.Program != "Tessera caffè" {
			t.Errorf("%+v", m)
		}
	}
}
