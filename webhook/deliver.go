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

// maxResponse is how much of a response's body is read. What is longer is cut
// off with the connection and not held against the receiver.
const maxResponse = 64 << 10 // bytes

const masked = "***"

// post makes one attempt and says what came of it (contract section 5,
// "Success"): any 2xx whose body ends, or passes maxResponse, within the
// timeout. Any other status speaks for itself, whatever becomes of the body.
// It calls written when the request is on its way.
func (s *Sender) post(ctx context.Context, a *store.Attempt, written func()) store.Outcome {
	o := store.Outcome{Webhook: a.Webhook, Event: a.Event, Test: a.Test, Headers: "{}", Lag: s.conf.Store.Now().Std().Sub(a.DueAt.Std())}
	ctx, cancel := context.WithTimeout(ctx, s.conf.Timeout)
	defer cancel()
	ctx = onTheWay(ctx, written)
	start := time.Now()
	signed := start
	if s.conf.Deterministic {
		signed = s.conf.Store.Now().Std()
	}
	resp, err := s.send(ctx, a, signed, &o)
	if err == nil {
		o.Status = store.Some(int64(resp.StatusCode))
		// What follows a 101 is another protocol, on a connection that the
		// transport has let go of: no timeout would end the reading.
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
		o.Error = s.explain(ctx, err)
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

// send signs and sends. The signature is made anew for each attempt; its time
// is the real one also under a set clock, since the receiver's clock is; only
// what is to be the same in every run bears the set one.
func (s *Sender) send(ctx context.Context, a *store.Attempt, now time.Time, o *store.Outcome) (*http.Response, error) {
	u, err := url.Parse(a.URL)
	if err != nil {
		return nil, errBadURL
	}
	if err := s.conf.Guard.Allowed(u); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.URL, bytes.NewReader(a.Body))
	if err != nil {
		return nil, errBadURL
	}
	h := req.Header
	if s.conf.CustomHeaders {
		for k, v := range a.Headers {
			h.Set(k, v)
		}
	}
	custom := len(h)
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", s.conf.UserAgent)
	h.Set(HeaderSignature, Sign(a.Secret, now, a.Body))
	if standard := SignStandard(a.Secret, a.EventID, now, a.Body); standard != "" {
		h.Set(HeaderID, a.EventID)
		h.Set(HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
		h.Set(HeaderStandardSignature, standard)
	}
	if a.Bearer != "" {
		h.Set("Authorization", "Bearer "+a.Bearer)
	}
	o.Headers = shown(h, custom > 0, a.Headers)
	return s.client.RoundTrip(req)
}

// shown are the headers as the delivery log has them: the signatures whole,
// everything that is secret masked.
func shown(h http.Header, custom bool, own map[string]string) string {
	m := make(map[string]string, len(h))
	for k := range h {
		m[k] = h.Get(k)
	}
	if custom {
		for k := range own {
			m[http.CanonicalHeaderKey(k)] = masked
		}
	}
	if _, ok := m["Authorization"]; ok {
		m["Authorization"] = masked
	}
	b, _ := json.Marshal(m)
	return string(b)
}

var errBadURL = errors.New("the URL cannot be read")

// explain says what went wrong in words for the delivery log. It takes care to
// repeat neither the URL, which may hold secrets, nor addresses that a name
// resolved to.
func (s *Sender) explain(ctx context.Context, err error) string {
	var (
		dns     *net.DNSError
		host    x509.HostnameError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		verify  *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		op      *net.OpError
	)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("no whole answer within %d ms", s.conf.Timeout.Milliseconds())
	case errors.Is(err, errBadURL):
		return errBadURL.Error()
	case errors.Is(err, ErrNotPublic):
		return ErrNotPublic.Error()
	case errors.Is(err, ErrPlainHTTP):
		return ErrPlainHTTP.Error()
	case errors.As(err, &dns):
		return "the host name does not resolve"
	case errors.As(err, &host):
		return "TLS: the certificate is for another host"
	case errors.As(err, &unknown):
		return "TLS: the certificate is from an unknown authority"
	case errors.As(err, &invalid), errors.As(err, &verify):
		return "TLS: the certificate is not valid"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return badHandshake
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return wasReset
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended in the middle of the answer"
	case errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"): // an alert
		return badHandshake
	case errors.As(err, &op):
		return "the connection failed: " + op.Op
	}
	for _, known := range nameless {
		if strings.Contains(err.Error(), known.part) {
			return known.words
		}
	}
	return "the answer is not valid HTTP"
}

const (
	badHandshake = "TLS: the handshake failed"
	wasReset     = "the connection was reset"
)

// nameless are the errors that have no type to be told by. Their own words may
// not get into the log: they quote what the receiver sent, which may be the
// bearer token that it was sent.
var nameless = []struct{ part, words string }{
	{"server response headers exceeded", "the answer's headers are too long"},
	{"response header list larger", "the answer's headers are too long"},
	{"stream error: ", wasReset},
	{"http2: ", "the HTTP/2 connection failed"},
	{"server closed idle connection", wasReset},
	{"tls: ", badHandshake},
}
