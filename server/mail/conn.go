package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"net/textproto"
	"runtime"
	"strconv"
	"strings"
	"time"

	smtp "github.com/wneessen/go-mail"
	protocol "github.com/wneessen/go-mail/smtp"

	"punchcard/store"
)

// Security says how a connection is encrypted.
type Security int

// The kinds of security.
const (
	StartTLS    Security = iota // TLS after STARTTLS, which the server must offer
	MaybeTLS                    // TLS where the server offers STARTTLS
	ImplicitTLS                 // TLS from the first byte
	Unencrypted                 // none
)

// Server is a mail server that relays messages.
type Server struct {
	Host     string
	Port     int
	Security Security
	User     string // empty: without authentication
	Password string
	RootCAs  *x509.CertPool // nil: the system's
	// Dial makes the connection; nil means by TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Time limits for the server.
const (
	connectTime = time.Minute      // to connect, including TLS and authentication
	answerTime  = 10 * time.Minute // of each answer: what RFC 5321, section 4.5.3.2.6, allows for accepting a message
	quitTime    = 5 * time.Second
)

// connection is an authenticated connection to a server.
type connection struct {
	client *smtp.Client
	smtp   *protocol.Client
	raw    *timedConn
	// detach stops the end of connect's context from closing the connection.
	detach func() bool
}

// timedConn is a connection with a time limit for each read and write.
type timedConn struct {
	net.Conn
	limit time.Duration
}

func (c *timedConn) Read(b []byte) (int, error) {
	if err := c.Conn.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c *timedConn) Write(b []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// SetDeadline does nothing. The SMTP library calls it to set one deadline for all
// commands of a message.
func (c *timedConn) SetDeadline(time.Time) error { return nil }

// connect connects to the server and authenticates. The end of ctx closes the
// connection.
func (s *Server) connect(ctx context.Context) (c *connection, err error) {
	c = &connection{}
	defer func() {
		if p := recover(); p != nil {
			if c.raw != nil {
				c.raw.Close()
			}
			c, err = nil, panicError(p)
		}
	}()
	dialCtx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	detach := func() bool { return true }
	options := append(s.options(), smtp.WithDialContextFunc(func(_ context.Context, network, _ string) (net.Conn, error) {
		raw, err := s.dial(dialCtx, network)
		if err != nil {
			return nil, err
		}
		c.raw = raw
		detach = context.AfterFunc(dialCtx, func() { raw.Close() })
		if s.Security != ImplicitTLS {
			return raw, nil
		}
		t := tls.Client(raw, s.tlsConfig())
		return t, t.HandshakeContext(dialCtx)
	}))
	if c.client, err = smtp.NewClient(s.Host, options...); err != nil {
		return nil, err
	}
	c.smtp, err = c.client.DialToSMTPClientWithContext(dialCtx)
	if !detach() && err == nil {
		err = context.DeadlineExceeded // the connection was closed just now
	}
	if err != nil {
		if c.raw != nil {
			c.raw.Close() // the library does not
		}
		if errors.Is(dialCtx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("not ready within %v: %w", connectTime, context.DeadlineExceeded)
		}
		return nil, err
	}
	c.detach = context.AfterFunc(ctx, func() { c.raw.Close() })
	return c, nil
}

// dial connects to the server. The address that the SMTP library would use lacks
// the brackets of IPv6.
func (s *Server) dial(ctx context.Context, network string) (*timedConn, error) {
	dial := s.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	c, err := dial(ctx, network, net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
	if err != nil {
		return nil, err
	}
	return &timedConn{c, answerTime}, nil
}

func (s *Server) tlsConfig() *tls.Config {
	return &tls.Config{ServerName: s.Host, MinVersion: tls.VersionTLS12, RootCAs: s.RootCAs}
}

// options returns the settings of the SMTP library.
func (s *Server) options() []smtp.Option {
	options := []smtp.Option{
		smtp.WithPort(s.Port),
		smtp.WithTimeout(connectTime),
		smtp.WithTLSConfig(s.tlsConfig()),
		smtp.WithoutNoop(),
		smtp.WithoutRset(),
		map[Security]smtp.Option{
			ImplicitTLS: smtp.WithSSL(),
			StartTLS:    smtp.WithTLSPolicy(smtp.TLSMandatory),
			MaybeTLS:    smtp.WithTLSPolicy(smtp.TLSOpportunistic),
			Unencrypted: smtp.WithTLSPolicy(smtp.NoTLS),
		}[s.Security],
	}
	if s.User != "" {
		options = append(options, smtp.WithUsername(s.User), smtp.WithPassword(s.Password),
			smtp.WithOpportunisticSMTPAuth(smtp.SMTPAuthSCRAMSHA256, smtp.SMTPAuthPlain, smtp.SMTPAuthLogin, smtp.SMTPAuthCramMD5))
	}
	return options
}

// quit ends the SMTP session and closes the connection.
func (c *connection) quit() {
	c.raw.limit = quitTime
	c.smtp.Quit() // an error does not matter
	c.close()
}

// close closes the connection.
func (c *connection) close() {
	c.detach()
	c.raw.Close()
}

// attempt is the outcome of sending a message once.
type attempt struct {
	result   result
	code     int   // SMTP code of the refusal; 0: none
	reusable bool  // the connection can be used for another message
	panic    error // where the library panicked; nil: it did not
}

// result classifies the outcome of an attempt.
type result int

const (
	accepted      result = iota // the server has accepted the message
	refused                     // the server refuses the message for good
	deferred                    // the server refuses the message for now
	serverRefuses               // the server would accept no message from this sender
	broken                      // the connection failed before the server had the message
	unsure                      // the connection failed after the server had the message
	stale                       // the connection had been closed before, or is being closed, by the server
)

// send sends one message.
func (c *connection) send(m *store.QueuedMail, from *mail.Address) (a attempt) {
	defer func() {
		if p := recover(); p != nil {
			a = attempt{result: unsure, panic: panicError(p)}
		}
	}()
	c.smtp.SkipSMTPUTF8(isASCII(m.To))
	msg := message(m, from)
	err := c.client.SendWithSMTPClient(c.smtp, msg)
	if msg.IsDelivered() {
		return attempt{result: accepted, reusable: true}
	}
	var e *smtp.SendError
	if !errors.As(err, &e) {
		return attempt{result: broken}
	}
	code := e.ErrorCode()
	begun := e.Reason != smtp.ErrSMTPMailFrom && e.Reason != smtp.ErrConnCheck
	switch {
	case !begun && (code == 0 || code == 421):
		return attempt{result: stale, code: code}
	case code == 0 && e.Reason == smtp.ErrSMTPDataClose:
		return attempt{result: unsure}
	case code == 0:
		return attempt{result: broken}
	case code == 421, !begun: // the server is closing, or it refuses the sender's address
		return attempt{result: serverRefuses, code: code}
	case code == 530, code == 534, code == 535, code == 538: // it requires authentication (RFC 4954)
		return attempt{result: serverRefuses, code: code}
	}
	a = attempt{result: deferred, code: code, reusable: c.smtp.Reset() == nil}
	if code >= 500 {
		a.result = refused
	}
	return a
}

// panicError returns an error with the stack of a panic of the library. It omits
// the value of the panic, which may contain parts of a message.
func panicError(p any) error {
	callers := make([]uintptr, 20)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	text := fmt.Sprintf("panic (%T)", p)
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); !strings.HasPrefix(f.Function, "runtime.") {
			text += fmt.Sprintf(" %s:%d", f.Function, f.Line)
		}
	}
	return errors.New(text)
}

// connectError returns the text of an error of connect, without the text of the
// server, which may contain an address. temporary reports whether a later attempt
// may succeed.
func connectError(err error) (text string, temporary bool) {
	var answer *textproto.Error
	var protocol textproto.ProtocolError
	var network net.Error
	switch {
	case errors.As(err, &answer):
		return fmt.Sprintf("the server answered %03d", answer.Code), answer.Code/100 == 4
	case errors.As(err, &protocol):
		return "the server does not speak SMTP", false
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return err.Error(), true
	}
	return err.Error(), false
}
