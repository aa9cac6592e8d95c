package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
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
func (s *Sender) post(ctx context.Context, attempt *store.Attempt, written func()) store.Outcome {
	outcome := store.Outcome{
		Webhook: attempt.Webhook,
		Event:   attempt.Event,
		Test:    attempt.Test,
		Headers: "{}",
		Lag:     s.conf.Store.Now().Std().Sub(attempt.DueAt.Std()),
	}
	ctx, cancel := context.WithTimeout(ctx, s.conf.Timeout)
	defer cancel()
	start := time.Now()
	var reached atomic.Int32 // a stage
	resp, err := s.send(traceStage(traceWritten(ctx, written), &reached), attempt, &outcome)
	if err == nil {
		outcome.Status = store.Some(int64(resp.StatusCode))
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
	outcome.Duration = time.Since(start)
	switch {
	case err != nil:
		outcome.Error = s.errorText(ctx, err, reached.Load())
		outcome.TimedOut = errors.Is(ctx.Err(), context.DeadlineExceeded)
	case resp.StatusCode >= 200 && resp.StatusCode < 300:
		outcome.Success = true
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		outcome.Error = fmt.Sprintf("the receiver answered %d; redirects are not followed", resp.StatusCode)
	default:
		outcome.Error = fmt.Sprintf("the receiver answered %d", resp.StatusCode)
		outcome.Gone = resp.StatusCode == http.StatusGone
	}
	if !outcome.Success {
		outcome.RetryAfter = Backoff(s.conf.BackoffBase, attempt.Attempts+1, s.jitter())
		if resp != nil {
			outcome.RetryAfter = max(outcome.RetryAfter, RetryAfter(resp.Header.Get("Retry-After"), time.Now()))
		}
	}
	return outcome
}

// send signs the request, sends it, and sets outcome.Headers. Every attempt has new
// signatures. Their time is the real one even if the store's clock was set, since
// receivers compare it with their own clock; only deterministic fixtures use the
// store's.
func (s *Sender) send(ctx context.Context, attempt *store.Attempt, outcome *store.Outcome) (*http.Response, error) {
	u, err := url.Parse(attempt.URL)
	if err != nil {
		return nil, errBadURL
	}
	if err := s.conf.Guard.CheckScheme(u); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, attempt.URL, bytes.NewReader(attempt.Body))
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
		custom = attempt.Headers
	}
	for k, v := range custom {
		h.Set(k, v)
	}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", s.conf.UserAgent)
	h.Set(HeaderSequence, strconv.FormatInt(attempt.Sequence, 10))
	h.Set(HeaderSignature, Sign(attempt.Secret, now, attempt.Body))
	if standard := SignStandard(attempt.Secret, attempt.EventID, now, attempt.Body); standard != "" {
		h.Set(HeaderID, attempt.EventID)
		h.Set(HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
		h.Set(HeaderStandardSignature, standard)
	}
	if attempt.Bearer != "" {
		h.Set("Authorization", "Bearer "+attempt.Bearer)
	}
	outcome.Headers = loggedHeaders(h, custom)
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
