package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

var errBadURL = errors.New("the URL cannot be read")

const (
	handshakeFailed = "TLS: the handshake failed"
	connectionReset = "the connection was reset"
)

// errorText returns the text of an error for the delivery log. It contains
// neither the URL, which may have secrets, nor the addresses that a name resolved
// to.
func (s *Sender) errorText(ctx context.Context, err error) string {
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("no whole answer within %d ms", s.conf.Timeout.Milliseconds())
	case errors.Is(err, errBadURL):
		return errBadURL.Error()
	case errors.Is(err, ErrNotPublic):
		return ErrNotPublic.Error()
	case errors.Is(err, ErrPlainHTTP):
		return ErrPlainHTTP.Error()
	case isA[*net.DNSError](err):
		return "the host name does not resolve"
	case isA[x509.HostnameError](err):
		return "TLS: the certificate is for another host"
	case isA[x509.UnknownAuthorityError](err):
		return "TLS: the certificate is from an unknown authority"
	case isA[x509.CertificateInvalidError](err), isA[*tls.CertificateVerificationError](err):
		return "TLS: the certificate is not valid"
	case isA[tls.RecordHeaderError](err), errors.Is(err, http.ErrSchemeMismatch):
		return handshakeFailed
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return connectionReset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended in the middle of the answer"
	case isOp && (op.Op == "remote error" || op.Op == "local error"): // a TLS alert
		return handshakeFailed
	case isOp:
		return "the connection failed: " + op.Op
	}
	for _, e := range untypedErrors {
		if strings.Contains(err.Error(), e.part) {
			return e.text
		}
	}
	return "the answer is not valid HTTP"
}

// isA reports whether err is or wraps an error of type E.
func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// untypedErrors are the errors that only their texts identify, by a part of it.
// These texts are not logged themselves: they quote what the receiver answered,
// which may be the bearer token of the request.
var untypedErrors = []struct{ part, text string }{
	{"server response headers exceeded", "the answer's headers are too long"},
	{"response header list larger", "the answer's headers are too long"},
	{"stream error: ", connectionReset},
	{"http2: ", "the HTTP/2 connection failed"},
	{"server closed idle connection", connectionReset},
	{"tls: ", handshakeFailed},
}
