package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"punchcard/store"
)

// maxResponse is the number of bytes of a response's body that are read. A longer
// body is no failure, but the connection is closed.
const maxResponse = 64 << 10

// masked replaces secrets in the delivery log.
const masked = "***"

// post makes one attempt and returns its outcome. It is a success if the status
// is 2xx and the body ends, or exceeds maxResponse, within the timeout. With any
// other status an error in the body does not matter. post calls written when the
// request has been written.
func (s *Sender) post(ctx context.Context, a *store.Attempt, written func()) store.Outcome {
	o := store.Outcome{
		Webhook: a.Webhook,
		Event:   a.Event,
		Test:    a.Test,
		Headers: "{}",
		Lag:     s.conf.Store.Now().Std().Sub(a.DueAt.Std()),
	}
	ctx, cancel := context.WithTimeout(ctx, s.conf.Timeout)
	defer cancel()
	start := time.Now()
	resp, err := s.send(traceWritten(ctx, written), a, &o)
	if err == nil {
		o.Status = store.Some(int64(resp.StatusCode))
		// The body of a 101 is a connection that speaks another protocol: no
		// timeout would end the reading.
		if resp.StatusCode != http.StatusSwitchingProtocols {
			_, err = io.CopyN(io.Discard, resp.Body, maxResponse)
		}
		resp.Body.Close()
		if errors.Is(err, io.EOF) || resp.StatusCode < 200 || resp.StatusCode > 299 {
			err = nil
		}
	}
	o.Duration = time.Since(start)
	switch {
	case err != nil:
		o.Error = s.errorText(ctx, err)
		o.TimedOut = errors.Is(ctx.Err(), context.DeadlineExceeded)
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		o.Success = true
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		o.Error = fmt.Sprintf("the receiver answered %d; redirects are not followed", resp.StatusCode)
	default:
		o.Error = fmt.Sprintf("the receiver answered %d", resp.StatusCode)
		o.Gone = resp.StatusCode == http.StatusGone
	}
	if !o.Success {
		o.RetryAfter = backoff(s.conf.BackoffBase, a.Attempts+1, s.jitter())
		if resp != nil {
			o.RetryAfter = max(o.RetryAfter, retryAfter(resp.Header.Get("Retry-After"), time.Now()))
		}
	}
	return o
}

// send signs the request, sends it, and sets o.Headers. Every attempt has new
// signatures. Their time is the real one even if the store's clock was set, since
// receivers compare it with their own clock; only deterministic fixtures use the
// store's.
func (s *Sender) send(ctx context.Context, a *store.Attempt, o *store.Outcome) (*http.Response, error) {
	u, err := url.Parse(a.URL)
	if err != nil {
		return nil, errBadURL
	}
	if err := s.conf.Guard.CheckScheme(u); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, bytes.NewReader(a.Body))
	if err != nil {
		return nil, errBadURL
	}
	now := time.Now()
	if s.conf.Deterministic {
		now = s.conf.Store.Now().Std()
	}
	h := req.Header
	var custom map[string]string
	if s.conf.CustomHeaders {
		custom = a.Headers
	}
	for k, v := range custom {
		h.Set(k, v)
	}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", s.conf.UserAgent)
	h.Set(HeaderSequence, strconv.FormatInt(a.Sequence, 10))
	h.Set(HeaderSignature, Sign(a.Secret, now, a.Body))
	if standard := SignStandard(a.Secret, a.EventID, now, a.Body); standard != "" {
		h.Set(HeaderID, a.EventID)
		h.Set(HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
		h.Set(HeaderStandardSignature, standard)
	}
	if a.Bearer != "" {
		h.Set("Authorization", "Bearer "+a.Bearer)
	}
	o.Headers = loggedHeaders(h, custom)
	return s.client.RoundTrip(req)
}

// loggedHeaders returns the headers as JSON for the delivery log. The signatures
// are complete; the values of custom headers and the bearer token are masked.
func loggedHeaders(h http.Header, custom map[string]string) string {
	m := make(map[string]string, len(h))
	for k := range h {
		m[k] = h.Get(k)
	}
	for k := range custom {
		m[http.CanonicalHeaderKey(k)] = masked
	}
	if _, ok := m["Authorization"]; ok {
		m["Authorization"] = masked
	}
	b, _ := json.Marshal(m)
	return string(b)
}

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
