package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// stage is how far an attempt has come.
type stage = int32

const (
	connecting stage = iota // including the lookup of the name and the TLS handshake
	requesting              // there is a connection, and no byte of the answer yet
	answering               // the first byte of the answer has come
)

// traceStage returns a context for a request whose stage is kept in to.
func traceStage(ctx context.Context, to *atomic.Int32) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:              func(httptrace.GotConnInfo) { to.Store(requesting) },
		GotFirstResponseByte: func() { to.Store(answering) },
	})
}

var errBadURL = errors.New("the URL cannot be read")

// The texts of failures that several errors stand for. noAddress is the same for a
// name that does not resolve and for one that resolves to other addresses, since
// the owner of a public name can make it an alias of a name in the operator's
// network.
const (
	noAddress        = "the host has no public address, or its name does not resolve"
	tlsFailed        = "the TLS handshake failed"
	headersTooLong   = "the answer's headers are too long"
	notHTTP          = "the answer is not valid HTTP"
	connectionFailed = "the connection failed"
)

// The texts of a connection that ended, by the stage in which it did.
var (
	closedIn = [...]string{
		"the receiver closed the connection during the TLS handshake",
		"the receiver closed the connection without an answer",
		"the receiver closed the connection in the middle of its answer",
	}
	resetIn = [...]string{
		"the receiver reset the connection while it was made",
		"the receiver reset the connection without an answer",
		"the receiver reset the connection in the middle of its answer",
	}
	lateIn = [...]string{
		"no connection was made within ",
		"the receiver did not answer within ",
		"the receiver did not end its answer within ",
	}
)

// failure is a kind of error and its text in the delivery log.
type failure struct {
	is   func(error) bool
	text string
}

// failures are the kinds of errors, of which the first that fits has the text. An
// error that ends a connection has a text for each stage instead.
var failures = []failure{
	{is(errBadURL), errBadURL.Error()},
	{is(ErrNotPublic), noAddress},
	{is(ErrPlainHTTP), ErrPlainHTTP.Error()},
	{func(err error) bool { e, ok := errors.AsType[*net.DNSError](err); return ok && e.IsNotFound }, noAddress},
	{isA[*net.DNSError], "the host's name could not be looked up"},
	{isA[x509.HostnameError], "the certificate is not valid for this name"},
	{isA[x509.UnknownAuthorityError], "the certificate is from an unknown authority"},
	{func(err error) bool {
		e, ok := errors.AsType[x509.CertificateInvalidError](err)
		return ok && e.Reason == x509.Expired
	}, "the certificate has expired or is not valid yet"},
	{isA[*tls.CertificateVerificationError], "the certificate is not valid"},
	{isA[tls.RecordHeaderError], "the receiver does not speak TLS on this port"},
	{is(syscall.ECONNREFUSED), "the connection was refused"},
	{func(err error) bool {
		return errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
	}, "there is no route to the receiver"},
	{isOp("remote error", "protocol version"), "the receiver does not speak TLS 1.2 or newer"},
	{isOp("remote error", ""), "the receiver refused the TLS connection"},
	{isOp("local error", ""), tlsFailed},
	{
		func(err error) bool { e, ok := errors.AsType[net.Error](err); return ok && e.Timeout() },
		"no connection was made within " + seconds(dialTimeout),
	},
	{isA[*net.OpError], connectionFailed},
	// The rest is known by its text only, which is not logged itself: it quotes what
	// the receiver answered, which may be the bearer token of the request.
	{says("server response headers exceeded"), headersTooLong},
	{says("response header list larger"), headersTooLong},
	{says("http2: "), "the HTTP/2 connection failed"},
	{says("tls: "), tlsFailed},
}

// errorText returns the text of an error for the delivery log. It contains
// neither the URL, which may have secrets, nor the addresses that a name resolved
// to.
func (s *Sender) errorText(ctx context.Context, err error, at stage) string {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return lateIn[at] + seconds(s.conf.Timeout)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), says("stream error: ")(err):
		return resetIn[at]
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), says("server closed idle connection")(err):
		return closedIn[at]
	}
	for _, f := range failures {
		if f.is(err) {
			return f.text
		}
	}
	return notHTTP
}

// seconds returns a duration in whole seconds, or else in milliseconds.
func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}

// is returns a function that reports whether an error is or wraps another.
func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// isA reports whether err is or wraps an error of type E.
func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// isOp returns a function that reports whether an error is one of an operation on
// a connection, such as a TLS alert, and contains a text.
func isOp(op, part string) func(error) bool {
	return func(err error) bool {
		e, ok := errors.AsType[*net.OpError](err)
		return ok && e.Op == op && strings.Contains(e.Error(), part)
	}
}

// says returns a function that reports whether an error contains a text.
func says(part string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), part) }
}
