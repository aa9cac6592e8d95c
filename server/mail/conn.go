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

// Security is what keeps others from reading along.
type Security int

// The kinds of security.
const (
	StartTLS    Security = iota // TLS after STARTTLS, which the server must offer
	MaybeTLS                    // TLS where the server offers STARTTLS
	ImplicitTLS                 // TLS from the first byte
	Unencrypted                 // none
)

// Server is a mail server that takes messages for others.
type Server struct {
	Host     string
	Port     int
	Security Security
	User     string // empty: without authentication
	Password string
	RootCAs  *x509.CertPool // nil: the system's
	// Dial connects; nil: by TCP.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// How long a server is waited for.
const (
	connectTime = time.Minute      // up to being ready to take messages, TLS and authentication included
	answerTime  = 10 * time.Minute // for each answer: as long as taking a message may last (RFC 5321, 4.5.3.2.6)
	quitTime    = 5 * time.Second
)

// connection is one to a server that has let us in.
type connection struct {
	client *smtp.Client
	smtp   *protocol.Client
	raw    *timed
	cut    func() bool // takes back that the end of the sender cuts it
}

// timed is a connection on which each reading and writing has its time.
type timed struct {
	net.Conn
	limit time.Duration
}

func (c *timed) Read(b []byte) (int, error) {
	if err := c.Conn.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c *timed) Write(b []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// SetDeadline is for the library, which would set one for all of a message's
// commands together.
func (c *timed) SetDeadline(time.Time) error { return nil }

// connect reaches the server and is let in. The connection is cut when ctx ends.
func (s *Server) connect(ctx context.Context) (k *connection, err error) {
	k = &connection{}
	defer func() {
		if p := recover(); p != nil {
			if k.raw != nil {
				k.raw.Close()
			}
			k, err = nil, panicked(p)
		}
	}()
	conf := &tls.Config{ServerName: s.Host, MinVersion: tls.VersionTLS12, RootCAs: s.RootCAs}
	dial := s.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	within, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	late := func() bool { return true }
	options := []smtp.Option{smtp.WithPort(s.Port), smtp.WithTimeout(connectTime), smtp.WithTLSConfig(conf), smtp.WithoutNoop(), smtp.WithoutRset(),
		smtp.WithDialContextFunc(func(_ context.Context, network, _ string) (net.Conn, error) {
			// The library's own address lacks the brackets of IPv6.
			c, err := dial(within, network, net.JoinHostPort(s.Host, strconv.Itoa(s.Port)))
			if err != nil {
				return nil, err
			}
			k.raw = &timed{c, answerTime}
			late = context.AfterFunc(within, func() { c.Close() })
			if s.Security != ImplicitTLS {
				return k.raw, nil
			}
			t := tls.Client(k.raw, conf)
			return t, t.HandshakeContext(within)
		})}
	switch s.Security {
	case ImplicitTLS:
		options = append(options, smtp.WithSSL())
	case StartTLS:
		options = append(options, smtp.WithTLSPolicy(smtp.TLSMandatory))
	case MaybeTLS:
		options = append(options, smtp.WithTLSPolicy(smtp.TLSOpportunistic))
	case Unencrypted:
		options = append(options, smtp.WithTLSPolicy(smtp.NoTLS))
	}
	if s.User != "" {
		options = append(options, smtp.WithUsername(s.User), smtp.WithPassword(s.Password),
			smtp.WithOpportunisticSMTPAuth(smtp.SMTPAuthSCRAMSHA256, smtp.SMTPAuthPlain, smtp.SMTPAuthLogin, smtp.SMTPAuthCramMD5))
	}
	if k.client, err = smtp.NewClient(s.Host, options...); err != nil {
		return nil, err
	}
	k.smtp, err = k.client.DialToSMTPClientWithContext(within)
	if !late() && err == nil {
		err = context.DeadlineExceeded // cut just now
	}
	if err != nil {
		if k.raw != nil {
			k.raw.Close() // the library leaves it open
		}
		if errors.Is(within.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("not ready within %v: %w", connectTime, context.DeadlineExceeded)
		}
		return nil, err
	}
	k.cut = context.AfterFunc(ctx, func() { k.raw.Close() })
	return k, nil
}

// leave takes leave of the server, which has nothing in hand of ours.
func (k *connection) leave() {
	k.raw.limit = quitTime
	k.smtp.Quit() // it may be gone already
	k.drop()
}

// drop ends the connection wherever it stands.
func (k *connection) drop() {
	k.cut()
	k.raw.Close()
}

// verdict is what became of sending a message.
type verdict int

const (
	sent     verdict = iota // the server has taken it on
	refused                 // it never will
	later                   // not now
	unusable                // the server would take no message of anybody's
	broken                  // the connection failed before the server had the message
	unsure                  // no telling: it failed when the server had been given the message
	stale                   // not begun: the connection had ended before, or ends now
)

// send sends one message. code is that of the server's refusal, 0 without one;
// whole tells that the connection can be used for another message. failed is
// that the library panicked: where, not with what, which may be of the message.
func (k *connection) send(m *store.QueuedMail, from *mail.Address) (v verdict, code int, whole bool, failed error) {
	defer func() {
		if p := recover(); p != nil {
			v, code, whole, failed = unsure, 0, false, panicked(p)
		}
	}()
	k.smtp.SkipSMTPUTF8(ascii(m.To))
	msg := message(m, from)
	err := k.client.SendWithSMTPClient(k.smtp, msg)
	if msg.IsDelivered() {
		return sent, 0, true, nil
	}
	var e *smtp.SendError
	if !errors.As(err, &e) {
		return broken, 0, false, nil
	}
	code = e.ErrorCode()
	begun := e.Reason != smtp.ErrSMTPMailFrom && e.Reason != smtp.ErrConnCheck
	switch {
	case !begun && (code == 0 || code == 421):
		return stale, code, false, nil
	case code == 0 && e.Reason == smtp.ErrSMTPDataClose:
		return unsure, 0, false, nil
	case code == 0:
		return broken, 0, false, nil
	case code == 421, !begun: // it is closing; it does not like the sender
		return unusable, code, false, nil
	case code == 530, code == 534, code == 535, code == 538: // authentication is wanted (RFC 4954)
		return unusable, code, false, nil
	case code >= 500:
		v = refused
	default:
		v = later
	}
	return v, code, k.smtp.Reset() == nil, nil
}

// panicked tells where the library panicked, called by what. What it panicked
// with may be of a message, and is left out.
func panicked(p any) error {
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

// fault is what went wrong, without the words of the server, which may hold an
// address; passing tells that time may heal it.
func fault(err error) (text string, passing bool) {
	var answer *textproto.Error
	var strange textproto.ProtocolError
	var network net.Error
	switch {
	case errors.As(err, &answer):
		return fmt.Sprintf("the server answered %03d", answer.Code), answer.Code/100 == 4
	case errors.As(err, &strange):
		return "the server does not speak SMTP", false
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return err.Error(), true
	}
	return err.Error(), false
}
