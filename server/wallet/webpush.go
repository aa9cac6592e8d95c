package wallet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"punchcard/store"
	"punchcard/webhook"
)

// noticeTTL is how long a push service keeps a notice for a browser that it does not reach.
const noticeTTL = 7 * 24 * time.Hour

// noticeMessage returns what a browser is told about a card.
func (s *Sender) noticeMessage(x *store.PushPass, t store.Target) (m message) {
	n, told := noticeOf(&x.HolderCard, &t)
	m.host, m.outcome.Told = store.HostOf(t.Address), store.Some(told)
	if n != nil {
		m.send = func(ctx context.Context) (string, time.Duration, error) {
			return s.sendNotice(ctx, &t, n, topic(x.PageToken))
		}
	}
	return m
}

// sendNotice sends a notice to a browser. wait is what the push service asks for before the next attempt.
// The error says why it was not accepted, without the path of the endpoint, which is secret.
func (s *Sender) sendNotice(
	ctx context.Context,
	t *store.Target,
	n *notice,
	topic string,
) (state string, wait time.Duration, err error) {
	payload, _ := json.Marshal(n) // texts have no error
	if len(payload) > maxPayload {
		return store.PushRefused, 0, fmt.Errorf("it has %d bytes", len(payload))
	}
	body, err := encryptNew(payload, t.PublicKey, t.Auth)
	if err != nil {
		return store.PushEnded, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Address, bytes.NewReader(body))
	if err != nil {
		return store.PushEnded, 0, errors.New("its endpoint is no URL")
	}
	now := time.Now() // push services compare it with their own clocks
	authorization, err := authorization(s.key(), req.URL, s.subject(n), now)
	if err != nil {
		return store.PushFailed, 0, err
	}
	req.Header = http.Header{
		"Authorization":    {authorization},
		"Content-Encoding": {"aes128gcm"},
		"Content-Type":     {"application/octet-stream"},
		"Ttl":              {fmt.Sprint(int(noticeTTL.Seconds()))},
		"Topic":            {topic}, // a newer notice takes the place of one that was not shown
		"Urgency":          {"normal"},
	}
	resp, err := s.conf.Transport.RoundTrip(req) // which follows no redirect
	if err != nil {
		return store.PushFailed, 0, fmt.Errorf("the push service cannot be reached: %w", err)
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
	switch status := resp.StatusCode; {    // of RFC 8030
	case status >= 200 && status < 300:
		return store.PushSent, 0, nil
	case status == http.StatusNotFound || status == http.StatusGone:
		return store.PushEnded, 0, nil
	case status == http.StatusTooManyRequests || status >= 500, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return store.PushFailed, webhook.RetryAfter(resp.Header.Get("Retry-After"), now), statusError(status)
	default:
		return store.PushRefused, 0, statusError(status)
	}
}

// subject returns how push services reach the operator, a mailto: or https URL.
func (s *Sender) subject(n *notice) string {
	switch page, err := url.Parse(n.URL); {
	case s.conf.Subject != "":
		return s.conf.Subject
	case err == nil && page.Scheme == "https":
		return "https://" + page.Host
	}
	return "mailto:punchcard@localhost" // the pages work on this machine only
}

// topic returns the topic of notices about a card, which push services see: it must not lead to the page.
func topic(pageToken string) string {
	sum := sha256.Sum256([]byte("topic " + pageToken))
	return base64.RawURLEncoding.EncodeToString(sum[:24]) // 32 characters, as many as a topic may have
}
