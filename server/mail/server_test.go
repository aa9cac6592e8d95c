package mail

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"punchcard/server/mail/mailtest"
	"punchcard/store"
)

// TestServerDown checks that an unreachable server is tried with increasing waits,
// and that this counts as an attempt of no message.
func TestServerDown(t *testing.T) {
	run(t, func(f *fixture) { f.net.down = true }, func(f *fixture) {
		for range 3 {
			f.issue("ada@example.com")
		}
		time.Sleep(6 * time.Hour)
		f.net.set(false)
		for range 3 {
			f.nextMessage()
		}
		var n int
		want := serverWait
		for i := 1; i < len(f.net.dials)-1; i++ {
			if wait := f.net.dials[i].Sub(f.net.dials[i-1]); !near(wait, want) {
				t.Errorf("pause %d is %v, want %v", i, wait, want)
			}
			want = min(2*want, maxServerWait)
			n++
		}
		if n < 6*5 || n > 6*6+12 {
			t.Errorf("%d pauses in six hours", n)
		}
		if f.queued() != 0 || f.log.Has("put off") || f.log.Has(`"ERROR"`) {
			t.Errorf("%d queued; the log:\n%.2000s", f.queued(), f.log)
		}
	})
}

// TestServerDownAfterClockSetBack checks that the waits are the same once the clock was set back, and
// that the message is sent before the clock has caught up.
func TestServerDownAfterClockSetBack(t *testing.T) {
	run(t, func(f *fixture) { f.net.down = true }, func(f *fixture) {
		f.back.Store(int64(time.Hour))
		f.issue("ada@example.com")
		time.Sleep(10 * time.Minute)
		f.net.set(false)
		f.nextMessage()
		if n := len(f.net.dials); n < 3 || n > 12 {
			t.Errorf("%d attempts in ten minutes", n)
		}
	})
}

// TestServerRefusesSender checks that no message is given up when the server
// refuses the sender.
func TestServerRefusesSender(t *testing.T) {
	t.Parallel()
	for name, misconfigure := range map[string]func(s *mailtest.Server) (repair func()){
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
		var repair func()
		run(t, func(f *fixture) {
			// A password is sent unencrypted only to the same machine.
			f.conf.Server.Host, f.conf.Server.User, f.conf.Server.Password, f.srv.Password = "localhost", "cards", password, password
			repair = misconfigure(f.srv)
		}, func(f *fixture) {
			f.issue("ada@example.com")
			f.issue("eve@example.com")
			time.Sleep(3 * time.Hour)
			if outcomes := f.takeOutcomes(); f.queued() != 2 || strings.ReplaceAll(outcomes, "failed ", "") != "failed" ||
				strings.Count(outcomes, " ") > 3*6+12 {
				t.Errorf("%s: %d queued, outcomes %.60q…", name, f.queued(), outcomes)
			}
			if f.log.Has(`"ERROR"`) != (name != "closing") || f.log.Has("put off") {
				t.Errorf("%s: the log\n%.1000s", name, f.log)
			}
			synctest.Wait()
			repair()
			first, second := f.nextMessage(), f.nextMessage()
			if to := []string{first.To, second.To}; !slices.Contains(to, "ada@example.com") || !slices.Contains(to, "eve@example.com") ||
				first.User != "cards" {
				t.Errorf("%s: then got mail to %v, from the user %q", name, to, first.User)
			}
		})
	}
}

// TestNoTLS checks that nothing is sent without TLS where it is required, or if the
// server's certificate is not trusted.
func TestNoTLS(t *testing.T) {
	t.Parallel()
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
		"no TLS, no user":   {StartTLS, nil, "example.com", trusted, false},
		"untrusted":         {StartTLS, conf, "example.com", x509.NewCertPool(), false},
		"another's":         {StartTLS, conf, "mail.example.net", trusted, false},
		"trusted":           {StartTLS, conf, "example.com", trusted, true},
		"offered":           {MaybeTLS, conf, "example.com", trusted, true},
		"offered, but bad":  {MaybeTLS, conf, "mail.example.net", trusted, false},
		"not offered":       {MaybeTLS, nil, "localhost", trusted, true},
		"TLS to plain SMTP": {ImplicitTLS, nil, "example.com", trusted, false},
	} {
		asked = false
		run(t, func(f *fixture) {
			f.conf.Server.Security, f.srv.TLS, f.conf.Server.Host, f.conf.Server.RootCAs = c.security, c.server, c.host, c.roots
			if name != "no TLS, no user" {
				f.conf.Server.User, f.conf.Server.Password, f.srv.Password = "cards", password, password
			}
			f.srv.Mail = func(string) error { asked = true; return nil }
		}, func(f *fixture) {
			f.issue("ada@example.com")
			if c.sent {
				if m := f.nextMessage(); m.User != "cards" || m.TLS != (c.server != nil) {
					t.Errorf("%s: got %+v", name, m)
				}
				return
			}
			time.Sleep(10 * time.Minute)
			if f.queued() != 1 || asked || !f.log.Has("cannot be used") {
				t.Errorf("%s: %d queued, the server got MAIL %t; the log:\n%s", name, f.queued(), asked, f.log)
			}
		})
	}
}

// TestServerHangs checks that a server that stops answering is given up in time.
// It may have accepted the message, and gets the same message again.
func TestServerHangs(t *testing.T) {
	var hang chan struct{}
	var ids []string
	var at []time.Time
	run(t, func(f *fixture) {
		f.srv.Data = func(m *mailtest.Message) error {
			h, _ := m.Parsed(t)
			ids, at = append(ids, h.Get("Message-Id")), append(at, time.Now())
			if len(ids) == 1 {
				f.srv.Sync()
				<-hang
			}
			return nil
		}
		hang = make(chan struct{}) // in the bubble
	}, func(f *fixture) {
		f.issue("ada@example.com")
		time.Sleep(answerTime + 2*messageWait)
		close(hang)
		f.nextMessage()
		f.nextMessage()
		if len(ids) != 2 || ids[0] != ids[1] || !near(at[1].Sub(at[0])-answerTime, messageWait) {
			t.Errorf("sent as %v at %v", ids, at)
		}
		f.want(0, "failed sent")
	})
}

// TestServerIsSilent checks that a server that accepts connections and sends nothing is given up in
// time, and is tried again.
func TestServerIsSilent(t *testing.T) {
	run(t, func(f *fixture) {
		hello := 0
		f.srv.Hello = func() error {
			if hello++; hello == 1 {
				f.srv.Sync()
				time.Sleep(time.Hour)
			}
			return nil
		}
	}, func(f *fixture) {
		f.issue("ada@example.com")
		f.nextMessage()
		if wait := f.net.dials[1].Sub(f.net.dials[0]); !near(wait-connectTime, serverWait) {
			t.Errorf("tried again after %v", wait)
		}
		time.Sleep(time.Hour)
	})
}

// TestSendTest sends a test message, and checks the errors if the server refuses it or is down.
func TestSendTest(t *testing.T) {
	run(t, nil, func(f *fixture) {
		m := store.Mail{Kind: store.MailTest, To: "ada@example.com", At: f.store.Now(), Language: "de"}
		send := func() error { return SendTest(f.ctx, f.conf.Server, f.conf.From, m) }
		noError(t, send())
		header, body := f.nextMessage().Parsed(t)
		if header.Get("Subject") != "Testnachricht" || header.Get("To") != "<ada@example.com>" || !strings.Contains(body, "senden kann") {
			t.Errorf("%v\n%s", header, body)
		}
		f.srv.Rcpt = func(string) error { return mailtest.Refusal(550, "no Ada here") }
		if err := send(); err == nil || err.Error() != "the mail server refused the message: it answered 550" {
			t.Error(err)
		}
		f.net.set(true)
		if err := send(); err == nil || !strings.HasPrefix(err.Error(), "the mail server cannot be used: ") {
			t.Error(err)
		}
	})
}
