package wallet

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"punchcard/server/wallet/request"
	"punchcard/store"
)

// noticeTTL is how long a push service keeps a notice for a browser that it does not reach.
const noticeTTL = 7 * 24 * time.Hour

// noticeMessage returns what a browser is told about a card.
func (s *Sender) noticeMessage(x *store.PushPass, t store.Target) (m message) {
	n, told := noticeOf(&x.HolderCard, &t)
	m.host, m.outcome.Told = store.HostOf(t.Address), store.Some(told)
	if n != nil {
		m.send = func() (string, time.Duration, error) { return s.sendNotice(x, t, n) }
	}
	return m
}

// sendNotice sends a notice to a browser.
func (s *Sender) sendNotice(x *store.PushPass, t store.Target, n *notice) (state string, wait time.Duration, err error) {
	payload, _ := json.Marshal(n) // texts have no error
	if len(payload) > maxPayload {
		return store.PushRefused, 0, fmt.Errorf("it has %d bytes", len(payload))
	}
	body, err := encryptNew(payload, t.PublicKey, t.Auth)
	if err != nil {
		return store.PushEnded, 0, err
	}
	authorization, err := authorization(s.key(), t.Address, s.subject(x.PublicURL), time.Now())
	if err != nil {
		return store.PushFailed, 0, err
	}
	resp, _, err := request.Send(s.Context, s.conf.Transport, http.MethodPost, t.Address, http.Header{
		"Authorization":    {authorization},
		"Content-Encoding": {"aes128gcm"},
		"Content-Type":     {"application/octet-stream"},
		"Ttl":              {fmt.Sprint(int(noticeTTL.Seconds()))},
		"Topic":            {hashOf("topic " + x.PageToken)[:32]}, // a newer notice takes the place of one that was not shown
		"Urgency":          {"normal"},
	}, body)
	if err != nil {
		return store.PushFailed, 0, err
	}
	status := resp.StatusCode
	gone := status == http.StatusNotFound || status == http.StatusGone
	return judge(status, resp.Header.Get("Retry-After"), "", gone, http.StatusUnauthorized, http.StatusForbidden)
}

// subject returns how push services reach the operator, a mailto: or https URL.
func (s *Sender) subject(publicURL string) string {
	switch {
	case s.conf.Subject != "":
		return s.conf.Subject
	case strings.HasPrefix(publicURL, "https://"):
		return publicURL
	}
	return "mailto:punchcard@localhost" // the pages work on this machine only
}
