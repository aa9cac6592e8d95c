package e2e

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"punchcard/server/mail/mailtest"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// mailServer serves s on a local port until the test ends.
func mailServer(t *testing.T, s *mailtest.Server, addr string) (at string) {
	t.Helper()
	ln := require.Must(net.Listen("tcp", addr))
	s.Serve(ln)
	t.Cleanup(s.Close)
	return ln.Addr().String()
}

// waitForMail waits for a message.
func waitForMail(t *testing.T, s *mailtest.Server) mailtest.Message {
	t.Helper()
	select {
	case m := <-s.Got:
		return m
	case <-time.After(waitLimit):
		t.Fatal("no mail arrived")
	}
	panic("not reached")
}

const sender = "Caffè Lux <cards@example.com>"

var linkInMail = regexp.MustCompile(`https?://\S+/i/[0-9a-z]+`)

// TestMail requests install links by mail and opens them on the holder's page.
func TestMail(t *testing.T) {
	t.Parallel()
	s := &mailtest.Server{}
	addr := mailServer(t, s, "127.0.0.1:0")
	f := newShop(t, "--smtp-url", "smtp://"+addr, "--mail-from", sender, "--metrics-listen", "127.0.0.1:0")
	api := f.newAPI("CRM")
	program := newProgram(api, `{"type":"standard","name":"Caffè","total_stamps":10,"icon_key":"coffee"}`)
	// Names with line breaks are refused, but older files have them.
	sqlExec(t, f.db, "PRAGMA busy_timeout=5000; UPDATE programs SET name='Caffè'||char(13, 10)||'Bcc: eve@example.com'")
	made := issueCard(api, program, map[string]any{"holder_name": "Zoë", "holder_email": "zoe@example.com", "send_email": true})
	sqlExec(t, f.db, "PRAGMA busy_timeout=5000; UPDATE cards SET holder_name='Zoë'||char(13, 10)||'Bcc: eve@example.com'")
	secrets := []string{"@example.com", "Zoë", "/i/"}
	check := func(r card, to string) {
		t.Helper()
		m := waitForMail(t, s)
		h, body := m.Parsed(t)
		if link := linkInMail.FindString(body); m.From != "cards@example.com" || m.To != to || link != r.InstallURL {
			t.Errorf("the mail from %s to %s has %s, want %s", m.From, m.To, link, r.InstallURL)
		}
		if from, err := h.AddressList("From"); err != nil || from[0].Name != "Caffè Lux" || h.Get("Bcc") != "" ||
			h.Get("Auto-Submitted") != "auto-generated" {
			t.Errorf("the header is %v", h)
		}
		secrets = append(secrets, r.InstallURL[strings.LastIndexByte(r.InstallURL, '/')+1:])
		newClient(t, r.InstallURL, "").Get("").Want(200)
	}
	check(made, "zoe@example.com")
	api.Post("/programs/"+program+"/cards", `{"holder_email":"quiet@example.com"}`).Want(201)
	api.Post("/programs/"+program+"/cards", `{"holder_email":"last@example.com","send_email":true}`).Want(201).Decode(&made)
	check(made, "last@example.com")
	resp := require.Must(http.Get(f.server.metrics))
	scrape, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	for _, line := range []string{
		`punchcard_mail_attempts_total{outcome="failed"} 0`, `punchcard_mail_attempts_total{outcome="sent"} `,
		"punchcard_mail_queue ",
		"punchcard_push_queue ",
	} {
		if err != nil || !strings.Contains(string(scrape), line) {
			t.Errorf("the scrape lacks %s (%v)", line, err)
		}
	}
	f.server.stop()
	for _, secret := range secrets {
		if strings.Contains(f.server.stderr.String(), secret) {
			t.Errorf("the log contains %s", secret)
		}
	}
}

// TestMailOverTLS checks that the password is sent only to a server with a trusted certificate.
func TestMailOverTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servertest.WriteCertificate(t, dir, "mail")
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	own := require.Must(tls.LoadX509KeyPair(cert, key))
	conf := &tls.Config{Certificates: []tls.Certificate{own}}
	secret := filepath.Join(dir, "password")
	noError(t, os.WriteFile(secret, []byte("sésame: ouvre-toi\n"), 0o600))
	db, ready := demoFile(t)
	for _, scheme := range []string{"smtp", "smtps"} {
		s := &mailtest.Server{TLS: conf, Password: "sésame: ouvre-toi"}
		ln := require.Must(net.Listen("tcp", "127.0.0.1:0"))
		at := ln.Addr().String()
		if scheme == "smtps" {
			ln = tls.NewListener(ln, conf)
		}
		s.Serve(ln)
		t.Cleanup(s.Close)
		args := []string{
			"serve", "--db", db, "--listen", "127.0.0.1:0", "--log-format", "json", "--smtp-url",
			scheme + "://cards%40example.com@" + at, "--smtp-password-file", secret, "--mail-from", sender,
		}
		serve := func(env ...string) *process {
			p := launch(t, env, args...)
			p.await(p.stderr, func(text string) bool {
				_, rest, ok := strings.Cut(text, `"origin":"`)
				p.origin, _, _ = strings.Cut(rest, `"`)
				return ok
			})
			return p
		}
		p := serve() // the certificate is not trusted
		card := issueCard(p.api(ready.APIKey), ready.ProgramIDs["standard"], `{"holder_email":"zoe@example.com","send_email":true}`)
		p.await(p.stderr, func(text string) bool {
			return strings.Contains(text, "cannot be used") && strings.Contains(text, "x509")
		})
		p.signal(syscall.SIGTERM)
		p.wait()
		if n := len(s.All()); n != 0 || strings.Contains(p.stderr.String(), "ouvre") {
			t.Errorf("%s: %d mails; the log:\n%s", scheme, n, p.stderr)
		}
		p = serve("SSL_CERT_FILE=" + cert)
		m := waitForMail(t, s)
		if _, body := m.Parsed(t); !m.TLS || m.User != "cards@example.com" || m.To != "zoe@example.com" ||
			!strings.Contains(body, card.InstallURL[strings.Index(card.InstallURL, "/i/"):]) {
			t.Errorf("%s: got %+v", scheme, m)
		}
		p.stop()
		for _, secret := range []string{"ouvre", "zoe@", "@example.com"} {
			if strings.Contains(p.stderr.String(), secret) {
				t.Errorf("%s: the log contains %s", scheme, secret)
			}
		}
	}
}

// TestMailOfCommands checks that a running server notices mail that commands queue before it would
// look at the queue by itself, a minute after it last did.
func TestMailOfCommands(t *testing.T) {
	t.Parallel()
	s := &mailtest.Server{}
	flags := []string{"--smtp-url", "smtp://" + mailServer(t, s, "127.0.0.1:0"), "--mail-from", sender}
	f := newShop(t, flags...)
	program := newProgram(f.newAPI("CRM"), prepaidCard)
	soon := time.After(waitLimit / 2)
	for i := range 3 {
		to := fmt.Sprintf("p%d@example.com", i)
		f.run(append([]string{
			"card", "issue", program, "--holder-email", to, "--send-email", "--public-url", "https://cards.example.com",
		}, flags[:2]...)...)
		select {
		case m := <-s.Got:
			if m.To != to {
				t.Errorf("sent to %s, want %s", m.To, to)
			}
		case <-soon:
			t.Fatalf("no mail to %s arrived", to)
		}
	}
}

// TestMailHeld checks that mail is queued with --webhook-hold, and that the queue is kept without a
// mail server.
func TestMailHeld(t *testing.T) {
	t.Parallel()
	s := &mailtest.Server{}
	flags := []string{"--smtp-url", "smtp://" + mailServer(t, s, "127.0.0.1:0"), "--mail-from", sender}
	f := newShop(t, append(flags, "--webhook-hold")...)
	k := f.makeKey("create", "--name", "CRM")
	program := newProgram(f.api(k), prepaidCard)
	asked := `{"holder_email":"zoe@example.com","send_email":true}`
	issueCard(f.api(k), program, asked)
	f.server.stop()
	f.server = startServe(t, f.db)
	f.api(k).Post("/programs/"+program+"/cards", asked).Want(422, "unprocessable_entity")
	f.server.stop()
	if n := s.Conns(); n != 0 {
		t.Errorf("%d connections though mail is held", n)
	}
	f.server = startServe(t, f.db, flags...)
	waitForMail(t, s)
	f.server.stop()
}
