package wallet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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

// pushToBrowsers sends notices about a card to the browsers that show them.
func (s *Sender) pushToBrowsers(p store.Push) (map[int64]store.TargetOutcome, error) {
	var h store.HolderCard
	var subs []store.Subscription
	err := s.conf.Store.View(0, func(v *store.View) (err error) {
		h, subs, err = v.BrowserPush(p.Root)
		return err
	})
	var messages []message
	for _, sub := range subs {
		n, told := noticeOf(&h, &sub)
		m := message{Target: sub.Target, told: told, host: store.HostOf(sub.Endpoint)}
		if n != nil {
			m.send = func(ctx context.Context) (result, time.Duration, error) {
				return s.sendNotice(ctx, &sub, n, topic(h.PageToken))
			}
		}
		messages = append(messages, m)
	}
	return s.send(messages), err
}

// sendNotice sends a notice to a browser. wait is what the push service asks for before the next attempt.
// The error says why it was not accepted, without the path of the endpoint, which is secret.
func (s *Sender) sendNotice(
	ctx context.Context,
	sub *store.Subscription,
	n *notice,
	topic string,
) (r result, wait time.Duration, err error) {
	endpoint, err := url.Parse(sub.Endpoint)
	if err != nil {
		return gone, 0, fmt.Errorf("its endpoint is no URL")
	}
	payload, err := json.Marshal(n)
	if err != nil {
		return accepted, 0, err
	}
	if len(payload) > maxPayload {
		return accepted, 0, fmt.Errorf("it has %d bytes", len(payload))
	}
	body, err := encryptNew(payload, sub.PublicKey, sub.Auth)
	if err != nil {
		return gone, 0, err
	}
	now := time.Now() // push services compare it with their own clocks
	authorization, err := authorization(s.key(), endpoint, s.subject(n), now)
	if err != nil {
		return failed, 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, sub.Endpoint, bytes.NewReader(body))
	if err != nil {
		return gone, 0, fmt.Errorf("its endpoint is no URL")
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
		return failed, 0, fmt.Errorf("the push service cannot be reached: %w", err)
	}
	defer resp.Body.Close()
	io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
	return judge(resp, now)
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

// judge returns the result of an answer of a push service (RFC 8030).
func judge(resp *http.Response, now time.Time) (r result, wait time.Duration, err error) {
	switch status := resp.StatusCode; {
	case status >= 200 && status < 300:
		return accepted, 0, nil
	case status == http.StatusNotFound || status == http.StatusGone:
		return gone, 0, nil
	case status == http.StatusTooManyRequests || status >= 500, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return failed, webhook.RetryAfter(resp.Header.Get("Retry-After"), now), statusError(status)
	default:
		return accepted, 0, statusError(status)
	}
}

// topic returns the topic of notices about a card, which push services see: it must not lead to the page.
func topic(pageToken string) string {
	sum := sha256.Sum256([]byte("topic " + pageToken))
	return base64.RawURLEncoding.EncodeToString(sum[:24]) // 32 characters, as many as a topic may have
}
