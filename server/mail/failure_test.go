package mail

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/server/mail/mailtest"
)

// TestOneMessageDelaysNoOther checks that a message at which the server closes every
// connection, or asks for a password, delays no other message, and is not given up.
func TestOneMessageDelaysNoOther(t *testing.T) {
	t.Parallel()
	for at, code := range map[string]int{"RCPT": 421, "DATA": 421, "RCPT wants a password": 530} {
		refusing := true
		run(t, func(f *fixture) {
			refuse := func(to string) error {
				if refusing && to == "ill@example.com" {
					return mailtest.Refusal(code, "bye")
				}
				return nil
			}
			if at == "DATA" {
				f.srv.Data = func(m *mailtest.Message) error { return refuse(m.To) }
			} else {
				f.srv.Rcpt = refuse
			}
		}, func(f *fixture) {
			f.issue("ill@example.com")
			for range 3 {
				f.issue("ada@example.com")
			}
			begun := time.Now()
			for range 3 {
				f.nextMessage()
			}
			if took := time.Since(begun); took > time.Minute || f.queued() != 1 {
				t.Errorf("%s: the others arrived after %v, %d queued:\n%s", at, took, f.queued(), f.log)
			}
			time.Sleep(3 * time.Hour)
			if f.queued() != 1 || f.log.Has("put off") {
				t.Errorf("%s: %d queued; the log:\n%.2000s", at, f.queued(), f.log)
			}
			refusing = false
			begun = time.Now()
			if m := f.nextMessage(); m.To != "ill@example.com" || time.Since(begun) > 2*maxServerWait {
				t.Errorf("%s: then the message to %s arrived after %v", at, m.To, time.Since(begun))
			}
		})
	}
}

// TestServerAddress checks that IPv6 addresses are dialled with brackets.
func TestServerAddress(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{"::1": "[::1]:587", "mail.example.com": "mail.example.com:587"} {
		run(t, func(f *fixture) { f.conf.Server.Host = host }, func(f *fixture) {
			f.issue("ada@example.com")
			f.nextMessage()
			if f.net.addr != want {
				t.Errorf("for %s it dialled %s, want %s", host, f.net.addr, want)
			}
		})
	}
}

// TestSlowServer checks that a server has ten minutes to accept a message (RFC
// 5321, 4.5.3.2.6), and gets it once.
func TestSlowServer(t *testing.T) {
	run(t, func(f *fixture) {
		f.srv.Data = func(*mailtest.Message) error { time.Sleep(10*time.Minute - time.Second); return nil }
	}, func(f *fixture) {
		f.issue("ada@example.com")
		f.nextMessage()
		time.Sleep(24 * time.Hour)
		if outcomes := f.takeOutcomes(); outcomes != Sent || len(f.srv.All()) != 1 {
			t.Errorf("outcomes %q, it arrived %d times:\n%s", outcomes, len(f.srv.All()), f.log)
		}
	})
}

// TestUnsure checks that a message is given up after maxUnsure attempts if it may have
// arrived with each, also across a restart of the sender. A message that the server
// never had is not given up.
func TestUnsure(t *testing.T) {
	run(t, func(f *fixture) {
		f.srv.Data = func(m *mailtest.Message) error {
			if m.To == "twice@example.com" {
				time.Sleep(answerTime + time.Second)
			}
			return nil
		}
		f.srv.Rcpt = func(to string) error {
			if to == "never@example.com" {
				time.Sleep(answerTime + time.Second)
			}
			return nil
		}
	}, func(f *fixture) {
		card := f.issue("twice@example.com")
		never := f.issue("never@example.com")
		time.Sleep(time.Hour)
		f.stopSender()
		f.startSender()
		time.Sleep(2 * 24 * time.Hour)
		if n := len(f.srv.All()); n != maxUnsure || f.queued() != 1 {
			t.Errorf("it arrived %d times, %d queued", n, f.queued())
		}
		if got := f.audited(card.ID); len(got) != 1 || got[0] != `{"smtp_code":0}` {
			t.Errorf("the audit log has %q", got)
		}
		if got := f.audited(never.ID); len(got) != 0 {
			t.Errorf("the audit log has %q of the other", got)
		}
		if outcomes := f.takeOutcomes(); strings.Count(outcomes, Refused) != 1 || strings.Contains(outcomes, Sent) ||
			!f.log.Has("given up") {
			t.Errorf("outcomes %s", outcomes)
		}
		f.stopSender()
		time.Sleep(answerTime + time.Second) // in which a server that is asleep wakes
	})
}

// TestServerRefusesAll checks that a server that is misconfigured and refuses every message makes
// the sender give up maxRefusals messages if it accepted one before, and none if it did not.
func TestServerRefusesAll(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 1} {
		refusing := before == 0
		run(t, func(f *fixture) {
			f.srv.Rcpt = func(string) error {
				if refusing {
					return mailtest.Refusal(554, "5.7.1 relay access denied")
				}
				return nil
			}
		}, func(f *fixture) {
			for range before {
				f.issue("ada@example.com")
				f.nextMessage()
			}
			refusing = true
			var cards []string
			for i := range 10 {
				cards = append(cards, f.issue(fmt.Sprintf("p%d@example.com", i)).ID)
			}
			time.Sleep(6 * time.Hour)
			lost := before * maxRefusals
			if outcomes := f.takeOutcomes(); f.queued() != int64(10-lost) || strings.Count(outcomes, Refused) != lost {
				t.Errorf("%d accepted before: %d queued, %d refused", before, f.queued(), strings.Count(outcomes, Refused))
			}
			if n := strings.Count(f.log.String(), "has taken none of late"); n < 10 || n > 6*6+20 ||
				!f.log.Has(`"ERROR"`) ||
				f.log.Has("put off") {
				t.Errorf("%d accepted before: logged %d times", before, n)
			}
			refusing = false
			for range 10 - lost {
				f.nextMessage()
			}
			gone := slices.DeleteFunc(cards, func(card string) bool { return len(f.audited(card)) == 0 })
			if len(gone) != lost || f.queued() != 0 {
				t.Errorf("%d accepted before: at the end %d are in the audit log, %d queued", before, len(gone), f.queued())
			}
		})
	}
}

// TestPanic checks that a panic in the SMTP library ends only the connection.
func TestPanic(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"EHLO", "RCPT", "DATA"} {
		run(t, func(f *fixture) { f.net.panic = at }, func(f *fixture) {
			f.issue("ada@example.com")
			time.Sleep(messageWait)
			if f.queued() != 1 || !strings.Contains(f.takeOutcomes(), Failed) ||
				!f.log.Has("panic (string) punchcard/server/mail.") ||
				f.log.Has("cannot write") {
				t.Errorf("%s: %d queued; the log:\n%s", at, f.queued(), f.log)
			}
			f.net.mu.Lock()
			f.net.panic = ""
			f.net.mu.Unlock()
			f.nextMessage()
			if n := len(f.srv.All()); n != 1 {
				t.Errorf("%s: it arrived %d times", at, n)
			}
		})
	}
}
