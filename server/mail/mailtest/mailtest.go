// Package mailtest provides a mail server for tests.
package mailtest

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Message is a message that the server has accepted.
type Message struct {
	From, To string
	User     string // authenticated user; empty: none
	TLS      bool
	UTF8     bool // sent with SMTPUTF8
	Conn     int  // number of its connection, from 1
	Data     []byte
}

// Parsed returns the header and the decoded text of the message.
func (m Message) Parsed(t testing.TB) (h mail.Header, text string) {
	t.Helper()
	h, text, _ = m.Parts(t)
	return h, text
}

// Parts returns the header, the text and the HTML of the message, which must be a
// multipart/alternative of these two.
func (m Message) Parts(t testing.TB) (h mail.Header, text, html string) {
	t.Helper()
	p, err := mail.ReadMessage(bytes.NewReader(m.Data))
	if err != nil {
		t.Fatalf("%v:\n%s", err, m.Data)
	}
	kind, params, err := mime.ParseMediaType(p.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		t.Fatalf("the message is %s, %v", kind, err)
	}
	r := multipart.NewReader(p.Body, params["boundary"])
	var parts []string
	for _, want := range []string{"text/plain", "text/html"} {
		part, err := r.NextPart() // which decodes quoted-printable
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		kind, params, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		body, readErr := io.ReadAll(part)
		if err != nil || readErr != nil || kind != want || !strings.EqualFold(params["charset"], "utf-8") {
			t.Fatalf("the part is %s %v, %v, %v; want %s", kind, params, err, readErr, want)
		}
		parts = append(parts, string(body))
	}
	if _, err := r.NextPart(); err != io.EOF {
		t.Fatalf("after the second part: %v", err)
	}
	return p.Header, parts[0], parts[1]
}

// Server is a mail server. Set its fields before Serve; change them only while the
// server is idle, and call Sync afterwards. The functions are called for each
// command, may block, and may be nil.
type Server struct {
	TLS      *tls.Config // enables STARTTLS; nil: none
	Password string      // of every user; empty: no authentication
	Hello    func() error
	Mail     func(from string) error
	Rcpt     func(to string) error
	Data     func(m *Message) error
	Got      chan Message // receives each message before its sender has the answer

	srv   *smtp.Server
	order atomic.Int64 // see Sync
	wg    sync.WaitGroup
	mu    sync.Mutex
	conns int
	all   []Message
}

// Refusal returns the error that makes the server answer with a code.
func Refusal(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCodeNotSet, Message: text}
}

// Serve starts to serve connections of a listener, until Close.
func (s *Server) Serve(ln net.Listener) {
	if s.Got == nil {
		s.Got = make(chan Message, 10_000)
	}
	s.srv = smtp.NewServer(s)
	s.srv.Domain = "mail.example.com"
	s.srv.TLSConfig = s.TLS
	s.srv.EnableSMTPUTF8 = true
	s.srv.AllowInsecureAuth = s.TLS == nil
	s.srv.ErrorLog = log.New(io.Discard, "", 0)
	srv := s.srv
	s.wg.Go(func() { srv.Serve(ln) })
}

// Close stops the server and closes its connections.
func (s *Server) Close() {
	s.srv.Close()
	s.wg.Wait()
}

// Sync orders memory accesses for the race detector: what its caller did before
// happens before what the server's functions do after, and vice versa.
func (s *Server) Sync() { s.order.Add(1) }

// Conns returns the number of connections so far.
func (s *Server) Conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// All returns the accepted messages.
func (s *Server) All() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message{}, s.all...)
}

// NewSession implements smtp.Backend.
func (s *Server) NewSession(c *smtp.Conn) (smtp.Session, error) {
	s.mu.Lock()
	s.conns++
	n := s.conns
	s.mu.Unlock()
	s.Sync()
	defer s.Sync()
	if s.Hello != nil {
		if err := s.Hello(); err != nil {
			return nil, err
		}
	}
	return &session{s: s, conn: c, m: Message{Conn: n}}, nil
}

type session struct {
	s    *Server
	conn *smtp.Conn
	m    Message
}

func (x *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (x *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		x.s.Sync()
		if x.s.Password == "" || password != x.s.Password {
			return Refusal(535, "no such password for "+user+": "+password)
		}
		x.m.User = user
		return nil
	}), nil
}

func (x *session) Mail(from string, o *smtp.MailOptions) error {
	x.s.Sync()
	defer x.s.Sync()
	if x.s.Password != "" && x.m.User == "" {
		return Refusal(530, "who are you?")
	}
	_, x.m.TLS = x.conn.TLSConnectionState()
	x.m.From, x.m.UTF8 = from, o != nil && o.UTF8
	if x.s.Mail != nil {
		return x.s.Mail(from)
	}
	return nil
}

func (x *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	x.s.Sync()
	defer x.s.Sync()
	if x.m.To != "" {
		return errors.New("one recipient is enough")
	}
	if x.s.Rcpt != nil {
		if err := x.s.Rcpt(to); err != nil {
			return err
		}
	}
	x.m.To = to
	return nil
}

func (x *session) Data(r io.Reader) (err error) {
	m := x.m
	if m.Data, err = io.ReadAll(r); err != nil {
		return err
	}
	if x.s.Data != nil {
		x.s.Sync()
		err := x.s.Data(&m)
		if x.s.Sync(); err != nil {
			return err
		}
	}
	x.s.mu.Lock()
	x.s.all = append(x.s.all, m)
	x.s.mu.Unlock()
	x.s.Got <- m
	return nil
}

func (x *session) Reset()        { x.m = Message{User: x.m.User, Conn: x.m.Conn} }
func (x *session) Logout() error { return nil }
