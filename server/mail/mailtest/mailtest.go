// Package mailtest is a mail server for tests, on whatever listener it is given.
package mailtest

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Message is one that the server has taken.
type Message struct {
	From, To string
	User     string // who sent it; empty: nobody had to say
	TLS      bool
	UTF8     bool // sent with SMTPUTF8
	Conn     int  // its connection, counted from 1
	Data     []byte
}

// Parsed is the message as a reader takes it apart.
func (m Message) Parsed(t testing.TB) (h mail.Header, body string) {
	t.Helper()
	p, err := mail.ReadMessage(bytes.NewReader(m.Data))
	if err != nil {
		t.Fatalf("%v:\n%s", err, m.Data)
	}
	var r io.Reader = p.Body
	if p.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		r = quotedprintable.NewReader(r)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return p.Header, string(text)
}

// Server is a mail server. What it is to do is set before Serve, or changed
// while it has nothing to do and before a Sync; the functions are called with each
// command, and may wait.
type Server struct {
	TLS      *tls.Config // for STARTTLS, if set
	Password string      // wanted of every user, if set
	Hello    func() error
	Mail     func(from string) error
	Rcpt     func(to string) error
	Data     func(m *Message) error
	Got      chan Message // what it has taken, before it says so

	srv   *smtp.Server
	order atomic.Int64
	wg    sync.WaitGroup
	mu    sync.Mutex
	n     int
	all   []Message
}

// Refusal is an answer of the server.
func Refusal(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCodeNotSet, Message: text}
}

// Serve serves until Close.
func (s *Server) Serve(ln net.Listener) {
	if s.Got == nil {
		s.Got = make(chan Message, 10_000)
	}
	s.srv = smtp.NewServer(s)
	s.srv.Domain, s.srv.TLSConfig, s.srv.EnableSMTPUTF8, s.srv.AllowInsecureAuth = "mail.example.com", s.TLS, true, s.TLS == nil
	s.srv.ErrorLog = log.New(io.Discard, "", 0)
	srv := s.srv
	s.wg.Go(func() { srv.Serve(ln) })
}

// Close ends the server and all its connections.
func (s *Server) Close() {
	s.srv.Close()
	s.wg.Wait()
}

// Sync has what the caller did before happen before all that the server's
// functions do after, and the other way round.
func (s *Server) Sync() { s.order.Add(1) }

// Conns is how many connections there were.
func (s *Server) Conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// All are the messages that were taken.
func (s *Server) All() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message{}, s.all...)
}

// NewSession begins a connection.
func (s *Server) NewSession(c *smtp.Conn) (smtp.Session, error) {
	s.mu.Lock()
	s.n++
	n := s.n
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
