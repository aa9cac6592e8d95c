package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestErrorTexts checks the texts of errors that no receiver on loopback causes, or not in every
// run. The others are in TestReceiverConnections and TestReceiverHangs.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	s := &Sender{conf: Config{Timeout: 1500 * time.Millisecond}}
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, c := range []struct {
		err  error
		at   stage
		want string
	}{
		{errBadURL, connecting, "the URL cannot be read"},
		{dial(fmt.Errorf("8.8.8.8:80: %w", ErrPlainHTTP)), connecting, "plain http is not allowed"},
		{dial(fmt.Errorf("10.0.0.1:443: %w", ErrNotPublic)), connecting, noAddress},
		{dial(&net.DNSError{Err: "i/o timeout", Name: "secret", IsTimeout: true}), connecting, "the host's name could not be looked up"},
		{dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), connecting, "there is no route to the receiver"},
		{dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), connecting, "there is no route to the receiver"},
		{dial(os.NewSyscallError("connect", syscall.ETIMEDOUT)), connecting, "no connection was made within 10 s"},
		{dial(os.NewSyscallError("socket", syscall.EMFILE)), connecting, "the connection failed"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.IncompatibleUsage}}, connecting,
			"the certificate is not valid"},
		{&net.OpError{Op: "local error", Err: errors.New("tls: unexpected message")}, connecting, "the TLS handshake failed"},
		{&net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}, requesting,
			"the receiver reset the connection without an answer"},
		{errors.New("http: server closed idle connection"), requesting, "the receiver closed the connection without an answer"},
		{errors.New("http2: response header list larger than advertised limit"), answering, "the answer's headers are too long"},
		{errors.New("http2: client conn not usable"), requesting, "the HTTP/2 connection failed"},
		{errors.New("malformed HTTP response \"secret\""), answering, "the answer is not valid HTTP"},
	} {
		if text := s.errorText(t.Context(), c.err, c.at); text != c.want {
			t.Errorf("%v: %q, want %q", c.err, text, c.want)
		}
	}
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	if text := s.errorText(late, late.Err(), requesting); text != "the receiver did not answer within 1500 ms" {
		t.Error(text)
	}
	s.conf.Timeout = 10 * time.Second
	if text := s.errorText(late, late.Err(), requesting); text != "the receiver did not answer within 10 s" {
		t.Error(text)
	}
}
