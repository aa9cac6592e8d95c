package mail

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/server/mail/mailtest"
	"punchcard/store"
)

// A message that the server ends the connection at, as if it were closing, lets
// the others pass and loses nothing.
func TestOneMessageHoldsUpNoOther(t *testing.T) {
	for at, code := range map[string]int{"RCPT": 421, "DATA": 421, "RCPT wants a password": 530} {
		ill := true
		run(t, func(r *rig) {
			refuse := func(to string) error {
				if ill && to == "ill@example.com" {
					return mailtest.Refusal(code, "bye")
				}
				return nil
			}
			if at == "DATA" {
				r.srv.Data = func(m *mailtest.Message) error { return refuse(m.To) }
			} else {
				r.srv.Rcpt = refuse
			}
		}, func(r *rig) {
			r.issue("ill@example.com")
			for range 3 {
				r.issue("ada@example.com")
			}
			begun := time.Now()
			for range 3 {
				r.got()
			}
			if took := time.Since(begun); took > time.Minute || r.queued() != 1 {
				t.Errorf("%s: the others came after %v, %d queued:\n%s", at, took, r.queued(), r.log)
			}
			time.Sleep(6 * time.Hour)
			if r.queued() != 1 || strings.Contains(r.log.String(), "put off") {
				t.Errorf("%s: %d queued; the log:\n%.2000s", at, r.queued(), r.log)
			}
			ill = false
			begun = time.Now()
			if m := r.got(); m.To != "ill@example.com" || time.Since(begun) > 2*serverMost {
				t.Errorf("%s: then came that to %s after %v", at, m.To, time.Since(begun))
			}
		})
	}
}

// An address of IPv6 is dialled as one.
func TestServerAddress(t *testing.T) {
	for host, want := range map[string]string{"::1": "[::1]:587", "2001:db8::25": "[2001:db8::25]:587", "127.0.0.1": "127.0.0.1:587", "mail.example.com": "mail.example.com:587"} {
		run(t, func(r *rig) { r.conf.Server.Host = host }, func(r *rig) {
			r.issue("ada@example.com")
			r.got()
			if r.wire.addr != want {
				t.Errorf("for %s it dialled %s, want %s", host, r.wire.addr, want)
			}
		})
	}
}

// A server may take ten minutes over a message that it has in hand (RFC 5321,
// 4.5.3.2.6), and gets it once.
func TestSlowServer(t *testing.T) {
	run(t, func(r *rig) {
		r.srv.Data = func(*mailtest.Message) error { time.Sleep(10*time.Minute - time.Second); return nil }
	}, func(r *rig) {
		r.issue("ada@example.com")
		r.got()
		time.Sleep(24 * time.Hour)
		if told := r.told(); told != Sent || len(r.srv.All()) != 1 {
			t.Errorf("told %q, it came %d times:\n%s", told, len(r.srv.All()), r.log)
		}
	})
}

// A message after which the connection breaks again and again may have arrived
// each time: it is given up, also if the sender was started anew meanwhile. One
// that the server never had in hand is not.
func TestUnsure(t *testing.T) {
	run(t, func(r *rig) {
		r.srv.Data = func(m *mailtest.Message) error {
			if m.To == "twice@example.com" {
				time.Sleep(answerTime + time.Second)
			}
			return nil
		}
		r.srv.Rcpt = func(to string) error {
			if to == "never@example.com" {
				time.Sleep(answerTime + time.Second)
			}
			return nil
		}
	}, func(r *rig) {
		card := r.issue("twice@example.com")
		never := r.issue("never@example.com")
		time.Sleep(time.Hour)
		r.end()
		r.begin()
		time.Sleep(4 * 24 * time.Hour)
		if n := len(r.srv.All()); n != mostUnsure || r.queued() != 1 {
			t.Errorf("it came %d times, %d queued", n, r.queued())
		}
		if got := r.audited(card.ID); len(got) != 1 || got[0] != `{"smtp_code":0}` {
			t.Errorf("the audit log has %q", got)
		}
		if got := r.audited(never.ID); len(got) != 0 {
			t.Errorf("the audit log has %q of the other", got)
		}
		if told := r.told(); strings.Count(told, Refused) != 1 || strings.Contains(told, Sent) || !strings.Contains(r.log.String(), "given up") {
			t.Errorf("told %s", told)
		}
	})
}

// What waits for a locked card goes out as soon as it is unlocked.
func TestUnlocked(t *testing.T) {
	run(t, func(r *rig) { r.wire.down = true }, func(r *rig) {
		card := r.issue("ada@example.com")
		r.write(func(tx *store.Tx) error { _, err := tx.SetCardLocked(r.shop.Shop, card.ID, true); return err })
		r.wire.set(false)
		time.Sleep(5*time.Hour + 30*time.Second)
		begun := time.Now()
		r.write(func(tx *store.Tx) error { _, err := tx.SetCardLocked(r.shop.Shop, card.ID, false); return err })
		r.got()
		if took := time.Since(begun); took != 0 {
			t.Errorf("it came %v after the card was unlocked", took)
		}
		if n := len(r.srv.All()); n != 1 {
			t.Errorf("%d came", n)
		}
	})
}

// A relay that is set up wrongly refuses everybody. Nobody's mail is lost to it:
// none before it has taken the first, then a few.
func TestServerRefusesEverybody(t *testing.T) {
	for _, before := range []int{0, 1} {
		ill := before == 0
		run(t, func(r *rig) {
			r.srv.Rcpt = func(string) error {
				if ill {
					return mailtest.Refusal(554, "5.7.1 relay access denied")
				}
				return nil
			}
		}, func(r *rig) {
			for range before {
				r.issue("ada@example.com")
				r.got()
			}
			ill = true
			var cards []string
			for i := range 10 {
				cards = append(cards, r.issue(fmt.Sprintf("p%d@example.com", i)).ID)
			}
			time.Sleep(48 * time.Hour)
			lost := before * mostRefusals
			if told := r.told(); r.queued() != int64(10-lost) || strings.Count(told, Refused) != lost {
				t.Errorf("%d taken before: %d queued, %d refused", before, r.queued(), strings.Count(told, Refused))
			}
			if n := strings.Count(r.log.String(), "has taken none of late"); n < 10 || n > 48*6+20 || !strings.Contains(r.log.String(), `"ERROR"`) || strings.Contains(r.log.String(), "put off") {
				t.Errorf("%d taken before: %d times the log tells of it", before, n)
			}
			ill = false
			for range 10 - lost {
				r.got()
			}
			gone := slices.DeleteFunc(cards, func(card string) bool { return len(r.audited(card)) == 0 })
			if len(gone) != lost || r.queued() != 0 {
				t.Errorf("%d taken before: at the end %d are in the audit log, %d queued", before, len(gone), r.queued())
			}
		})
	}
}

// A panic in the midst of a connection ends that, and nothing else.
func TestPanic(t *testing.T) {
	for _, at := range []string{"EHLO", "RCPT", "DATA"} {
		run(t, func(r *rig) { r.wire.panic = at }, func(r *rig) {
			r.issue("ada@example.com")
			time.Sleep(messageWait)
			if r.queued() != 1 || !strings.Contains(r.told(), Failed) || !strings.Contains(r.log.String(), "panic (string) punchcard/server/mail.") || strings.Contains(r.log.String(), "cannot write") {
				t.Errorf("%s: %d queued; the log:\n%s", at, r.queued(), r.log)
			}
			r.wire.mu.Lock()
			r.wire.panic = ""
			r.wire.mu.Unlock()
			r.got()
			if n := len(r.srv.All()); n != 1 {
				t.Errorf("%s: it came %d times", at, n)
			}
		})
	}
}
