package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"punchcard/server/mail/mailtest"
	"punchcard/store"
)

func TestSent(t *testing.T) {
	run(t, nil, func(r *rig) {
		card := r.issue("ada@example.com")
		at := time.Now()
		m := r.got()
		if m.From != "cards@example.com" || m.To != "ada@example.com" || m.UTF8 {
			t.Errorf("sent from %s to %s, SMTPUTF8 %t", m.From, m.To, m.UTF8)
		}
		h, body := m.Parsed(t)
		want := "Open this link on your phone to add the card Coffee:\r\n\r\n" + card.InstallURL + "\r\n"
		if body != want {
			t.Errorf("the text is %q, want %q", body, want)
		}
		if from, err := h.AddressList("From"); err != nil || len(from) != 1 || *from[0] != *r.conf.From {
			t.Errorf("From is %v, %v", from, err)
		}
		if to, err := h.AddressList("To"); err != nil || len(to) != 1 || to[0].Address != "ada@example.com" || to[0].Name != "" {
			t.Errorf("To is %v, %v", to, err)
		}
		if date, err := h.Date(); err != nil || !date.Equal(at.Truncate(time.Second)) {
			t.Errorf("Date is %v, %v, want %v", date, err, at)
		}
		if h.Get("Auto-Submitted") != "auto-generated" || h.Get("Subject") != "Your card: Coffee" || !strings.HasSuffix(h.Get("Message-Id"), "@example.com>") {
			t.Errorf("the header is %v", h)
		}
		if n, told := r.queued(), r.told(); n != 0 || told != Sent {
			t.Errorf("%d are queued, told %q", n, told)
		}
	})
}

// What waits together goes over one connection, which is left once there has
// been nothing for a while.
func TestOneConnection(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.end()
		for range 5 {
			r.issue("ada@example.com")
		}
		r.begin()
		for range 5 {
			r.got()
		}
		time.Sleep(idleTime / 2)
		r.issue("ada@example.com")
		if m := r.got(); m.Conn != 1 {
			t.Errorf("the sixth came over connection %d", m.Conn)
		}
		time.Sleep(idleTime + time.Second)
		r.issue("ada@example.com")
		if m := r.got(); m.Conn != 2 {
			t.Errorf("the seventh came over connection %d", m.Conn)
		}
	})
}

// A connection that the server ended meanwhile costs no attempt.
func TestStaleConnection(t *testing.T) {
	run(t, nil, func(r *rig) {
		r.issue("ada@example.com")
		r.got()
		r.srv.Close()
		next := &wire{conns: r.wire.conns, closed: make(chan struct{})}
		r.srv = &mailtest.Server{Got: r.srv.Got}
		r.srv.Serve(next)
		r.issue("ada@example.com")
		r.got()
		if told := r.told(); told != Sent+" "+Sent || r.log.String() != "" {
			t.Errorf("told %q, logged %s", told, r.log)
		}
	})
}

// So does one that the server ends with its last word.
func TestClosingConnection(t *testing.T) {
	run(t, func(r *rig) {
		mails := 0
		r.srv.Mail = func(string) error {
			if mails++; mails == 2 {
				return mailtest.Refusal(421, "you were silent for too long")
			}
			return nil
		}
	}, func(r *rig) {
		r.issue("ada@example.com")
		r.got()
		r.issue("ada@example.com")
		if m := r.got(); m.Conn != 2 || r.told() != Sent+" "+Sent || r.log.String() != "" {
			t.Errorf("came %+v, logged %s", m, r.log)
		}
	})
}

// A message that the server wants later is tried after a minute, two, four; the
// others go meanwhile. Each time it is the same message.
func TestTemporary(t *testing.T) {
	var asked []time.Time
	run(t, func(r *rig) {
		r.srv.Data = func(m *mailtest.Message) error {
			if m.To != "slow@example.com" {
				return nil
			}
			asked = append(asked, time.Now())
			switch len(asked) {
			case 1, 3:
				return mailtest.Refusal(451, "slow@example.com: try again")
			case 2:
				return mailtest.Refusal(452, "full")
			}
			return nil
		}
	}, func(r *rig) {
		r.issue("slow@example.com")
		r.issue("ada@example.com")
		if m := r.got(); m.To != "ada@example.com" {
			t.Errorf("first came that to %s", m.To)
		}
		r.got()
		for i, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			if wait := asked[i+1].Sub(asked[i]); !near(wait, want) {
				t.Errorf("pause %d is %v, want %v", i, wait, want)
			}
		}
		if told := r.told(); told != "failed sent failed failed sent" || r.queued() != 0 {
			t.Errorf("told %q, %d queued", told, r.queued())
		}
		if n := strings.Count(r.log.String(), `"code":45`); n != 3 {
			t.Errorf("%d failures are logged:\n%s", n, r.log)
		}
	})
}

func TestRefused(t *testing.T) {
	for code, at := range map[int]string{550: "RCPT", 554: "DATA"} {
		run(t, func(r *rig) {
			refuse := func(to string) error {
				if to == "nobody@example.com" {
					return mailtest.Refusal(code, "nobody@example.com: no such user")
				}
				return nil
			}
			if at == "RCPT" {
				r.srv.Rcpt = refuse
			} else {
				r.srv.Data = func(m *mailtest.Message) error { return refuse(m.To) }
			}
		}, func(r *rig) {
			r.issue("ada@example.com")
			r.got()
			card := r.issue("nobody@example.com")
			r.issue("ada@example.com")
			r.got()
			if told := r.told(); told != "sent refused sent" || r.queued() != 0 || r.srv.Conns() != 1 {
				t.Errorf("%s: told %q, %d queued, %d connections", at, told, r.queued(), r.srv.Conns())
			}
			if !strings.Contains(r.log.String(), card.ID) {
				t.Errorf("the log does not name the card:\n%s", r.log)
			}
			if got, want := r.audited(card.ID), fmt.Sprintf(`{"smtp_code":%d}`, code); len(got) != 1 || got[0] != want {
				t.Errorf("the audit log has %q, want %s", got, want)
			}
		})
	}
}

// While the server cannot be reached, it is tried once for all that waits, ever
// more seldom; no message loses anything by it.
func TestServerDown(t *testing.T) {
	run(t, func(r *rig) { r.wire.down = true }, func(r *rig) {
		for range 3 {
			r.issue("ada@example.com")
		}
		time.Sleep(26 * time.Hour)
		r.wire.set(false)
		for range 3 {
			r.got()
		}
		var n int
		want := serverWait
		for i := 1; i < len(r.wire.dials)-1; i++ {
			if wait := r.wire.dials[i].Sub(r.wire.dials[i-1]); !near(wait, want) {
				t.Errorf("pause %d is %v, want %v", i, wait, want)
			}
			want = min(2*want, serverMost)
			n++
		}
		if n < 26*5 || n > 26*6+12 {
			t.Errorf("%d pauses in a day", n)
		}
		if r.queued() != 0 || strings.Contains(r.log.String(), "put off") || strings.Contains(r.log.String(), `"ERROR"`) {
			t.Errorf("%d queued; the log:\n%.2000s", r.queued(), r.log)
		}
	})
}

// A server that will not have us is no fault of the messages.
func TestServerRefusesUs(t *testing.T) {
	for name, spoil := range map[string]func(s *mailtest.Server) (heal func()){
		"authentication": func(s *mailtest.Server) func() {
			s.Password = "another"
			return func() { s.Password = password }
		},
		"sender": func(s *mailtest.Server) func() {
			answer := mailtest.Refusal(550, "cards@example.com: not here")
			s.Mail = func(string) error { return answer }
			return func() { answer = nil }
		},
		"closing": func(s *mailtest.Server) func() {
			answer := mailtest.Refusal(421, "bye")
			s.Rcpt = func(string) error { return answer }
			return func() { answer = nil }
		},
	} {
		var heal func()
		run(t, func(r *rig) {
			// Only to this machine a password may go unencrypted.
			r.conf.Server.Host, r.conf.Server.User, r.conf.Server.Password, r.srv.Password = "localhost", "cards", password, password
			heal = spoil(r.srv)
		}, func(r *rig) {
			r.issue("ada@example.com")
			r.issue("eve@example.com")
			time.Sleep(48 * time.Hour)
			if told := r.told(); r.queued() != 2 || strings.ReplaceAll(told, "failed ", "") != "failed" || strings.Count(told, " ") > 48*6+12 {
				t.Errorf("%s: %d queued, told %.60q…", name, r.queued(), told)
			}
			if strings.Contains(r.log.String(), `"ERROR"`) != (name != "closing") || strings.Contains(r.log.String(), "put off") {
				t.Errorf("%s: the log\n%.1000s", name, r.log)
			}
			synctest.Wait()
			heal()
			first, second := r.got(), r.got()
			if to := []string{first.To, second.To}; !slices.Contains(to, "ada@example.com") || !slices.Contains(to, "eve@example.com") || first.User != "cards" {
				t.Errorf("%s: then came mail to %v, from the user %q", name, to, first.User)
			}
		})
	}
}

// Without STARTTLS, or with a certificate that nobody vouches for, nothing is
// said to another machine.
func TestNoTLS(t *testing.T) {
	made := httptest.NewUnstartedServer(nil)
	made.StartTLS()
	conf := &tls.Config{Certificates: made.TLS.Certificates}
	trusted := x509.NewCertPool()
	trusted.AddCert(made.Certificate())
	made.Close()
	asked := false
	for name, c := range map[string]struct {
		security Security
		server   *tls.Config
		host     string
		roots    *x509.CertPool
		sent     bool
	}{
		"no STARTTLS":       {StartTLS, nil, "example.com", trusted, false},
		"nobody asks who":   {StartTLS, nil, "example.com", trusted, false},
		"untrusted":         {StartTLS, conf, "example.com", x509.NewCertPool(), false},
		"another's":         {StartTLS, conf, "mail.example.net", trusted, false},
		"trusted":           {StartTLS, conf, "example.com", trusted, true},
		"offered":           {MaybeTLS, conf, "example.com", trusted, true},
		"offered, but bad":  {MaybeTLS, conf, "mail.example.net", trusted, false},
		"not offered":       {MaybeTLS, nil, "localhost", trusted, true},
		"TLS to plain SMTP": {ImplicitTLS, nil, "example.com", trusted, false},
	} {
		asked = false
		run(t, func(r *rig) {
			r.conf.Server.Security, r.srv.TLS, r.conf.Server.Host, r.conf.Server.RootCAs = c.security, c.server, c.host, c.roots
			if name != "nobody asks who" {
				r.conf.Server.User, r.conf.Server.Password, r.srv.Password = "cards", password, password
			}
			r.srv.Mail = func(string) error { asked = true; return nil }
		}, func(r *rig) {
			r.issue("ada@example.com")
			if c.sent {
				if m := r.got(); m.User != "cards" || m.TLS != (c.server != nil) {
					t.Errorf("%s: came %+v", name, m)
				}
				return
			}
			time.Sleep(10 * time.Minute)
			if r.queued() != 1 || asked || !strings.Contains(r.log.String(), "cannot be used") {
				t.Errorf("%s: %d queued, the server was asked %t; the log:\n%s", name, r.queued(), asked, r.log)
			}
		})
	}
}

// A server that stops answering is given up in time. Whether it took the
// message nobody knows: it gets the same once more.
func TestServerHangs(t *testing.T) {
	hang := make(chan struct{})
	var ids []string
	var at []time.Time
	run(t, func(r *rig) {
		r.srv.Data = func(m *mailtest.Message) error {
			h, _ := m.Parsed(t)
			ids, at = append(ids, h.Get("Message-Id")), append(at, time.Now())
			if len(ids) == 1 {
				r.srv.Sync()
				<-hang
			}
			return nil
		}
		hang = make(chan struct{})
	}, func(r *rig) {
		r.issue("ada@example.com")
		time.Sleep(answerTime + 2*messageWait)
		close(hang)
		r.got()
		r.got()
		if len(ids) != 2 || ids[0] != ids[1] || !near(at[1].Sub(at[0])-answerTime, messageWait) {
			t.Errorf("sent as %v at %v", ids, at)
		}
		if told := r.told(); told != "failed sent" || r.queued() != 0 {
			t.Errorf("told %q, %d queued", told, r.queued())
		}
	})
}

// A server that accepts and says nothing is given up, too.
func TestServerIsSilent(t *testing.T) {
	run(t, func(r *rig) {
		hello := 0
		r.srv.Hello = func() error {
			if hello++; hello == 1 {
				r.srv.Sync()
				time.Sleep(time.Hour)
			}
			return nil
		}
	}, func(r *rig) {
		r.issue("ada@example.com")
		r.got()
		if wait := r.wire.dials[1].Sub(r.wire.dials[0]); !near(wait-connectTime, serverWait) {
			t.Errorf("tried again after %v", wait)
		}
		time.Sleep(time.Hour)
	})
}

// Stop waits for the message under way as long as it may, and not longer.
func TestStop(t *testing.T) {
	for patience, done := range map[time.Duration]bool{10 * time.Second: false, time.Minute: true} {
		run(t, func(r *rig) {
			r.srv.Data = func(*mailtest.Message) error { time.Sleep(30 * time.Second); return nil }
		}, func(r *rig) {
			r.issue("ada@example.com")
			r.issue("eve@example.com")
			synctest.Wait()
			begun := time.Now()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			r.sender.Stop(ctx)
			r.sender = nil
			took, want := time.Since(begun), min(patience, 30*time.Second)
			if left := r.queued(); took != want || left != map[bool]int64{true: 1, false: 2}[done] {
				t.Errorf("with %v: it took %v and left %d", patience, took, left)
			}
			if strings.Contains(r.log.String(), "put off") {
				t.Errorf("the log:\n%s", r.log)
			}
			time.Sleep(time.Minute)
		})
	}
}

// What became useless while it waited is not sent; what is locked waits on.
func TestUseless(t *testing.T) {
	run(t, func(r *rig) { r.wire.down = true }, func(r *rig) {
		gone, locked, late := r.issue("gone@example.com"), r.issue("locked@example.com"), r.issue("late@example.com")
		synctest.Wait()
		r.write(func(tx *store.Tx) error { return tx.EraseCard(r.shop.Shop, gone.ID) })
		r.write(func(tx *store.Tx) error { _, err := tx.SetCardLocked(r.shop.Shop, locked.ID, true); return err })
		r.write(func(tx *store.Tx) error {
			_, err := tx.UpdateCard(r.shop, late.ID, store.CardPatch{ExpiresAt: store.Given(store.TimeOf(time.Now().Add(time.Hour)))})
			return err
		})
		time.Sleep(2 * time.Hour)
		r.wire.set(false)
		time.Sleep(4 * time.Hour)
		if n := len(r.srv.All()); n != 0 || r.queued() != 1 {
			t.Errorf("%d sent, %d queued:\n%s", n, r.queued(), r.log)
		}
		r.write(func(tx *store.Tx) error { _, err := tx.SetCardLocked(r.shop.Shop, locked.ID, false); return err })
		if m := r.got(); m.To != "locked@example.com" || r.queued() != 0 {
			t.Errorf("then came that to %s", m.To)
		}
	})
}

// The sender goes on where the one before it was.
func TestRestart(t *testing.T) {
	run(t, func(r *rig) { r.wire.down = true }, func(r *rig) {
		r.issue("ada@example.com")
		time.Sleep(24 * time.Hour)
		r.end()
		r.wire.set(false)
		r.begin()
		begun := time.Now()
		r.got()
		if wait := time.Since(begun); wait != 0 {
			t.Errorf("sent after %v", wait)
		}
	})
}
