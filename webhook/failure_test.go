package webhook

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestErrorTexts checks the texts of errors that no receiver on loopback causes.
// The rest is in TestReceiverConnections and TestReceiverHangs.
func TestErrorTexts(t *testing.T) {
	s := &Sender{conf: Config{Timeout: 1500 * time.Millisecond}}
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for want, err := range map[string]error{
		"the URL cannot be read":                 errBadURL,
		"plain http is not allowed":              dial(fmt.Errorf("8.8.8.8:80: %w", ErrPlainHTTP)),
		noAddress:                                dial(fmt.Errorf("10.0.0.1:443: %w", ErrNotPublic)),
		"the host's name could not be looked up": dial(&net.DNSError{Err: "i/o timeout", Name: "secret", IsTimeout: true}),
		"there is no route to the receiver":      dial(os.NewSyscallError("connect", syscall.ENETUNREACH)),
		"no connection was made within 10 s":     dial(os.NewSyscallError("connect", syscall.ETIMEDOUT)),
		"the connection failed":                  dial(os.NewSyscallError("socket", syscall.EMFILE)),
	} {
		if text := s.errorText(t.Context(), err, connecting); text != want {
			t.Errorf("%v: %q, want %q", err, text, want)
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
