package wallet

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"punchcard/server/wallet/apple"
	"punchcard/store"
	"punchcard/webhook"
)

// ApplePushURL is the production service of Apple. Passes have no other one.
const ApplePushURL = "https://api.push.apple.com"

// heldWait is the time until a phone is looked at again that cannot be woken, since the certificate has ended.
const heldWait = time.Hour

// phoneMessage returns what wakes a phone that has a pass.
func (s *Sender) phoneMessage(x *store.PushPass, t store.Target) (m message) {
	changes := strconv.FormatInt(x.Changes, 10)
	m.host, m.outcome.Told = "Apple", store.Some(changes)
	if t.Told.V != changes && x.Wallet.IsSet() {
		m.send = func(ctx context.Context) (string, time.Duration, error) { return s.wakePhone(ctx, x.Wallet, t) }
	}
	return m
}

// refresh notes the hash of what a pass shows now.
func (s *Sender) refresh(p store.Pass, hash []byte) (store.Pass, error) {
	if !p.NeedsRefresh(hash) {
		return p, nil
	}
	err := s.conf.Store.SystemWrite(s.Context, func(tx *store.Tx) (err error) {
		p, err = tx.RefreshPass(p, hash)
		return err
	})
	return p, err
}

// appleClient returns a client that presents the certificate of a shop. It keeps the connections of each.
func (s *Sender) appleClient(w store.AppleWallet) (http.RoundTripper, error) {
	if have, ok := s.apple.Load(string(w.Certificate)); ok {
		return have.(*http.Transport), nil
	}
	key, err := apple.ParseKey(w.Key)
	if err != nil {
		return nil, err
	}
	_, roots := s.conf.ApplePush()
	t := &http.Transport{
		TLSClientConfig: &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{w.Certificate}, PrivateKey: key}},
			RootCAs:      roots,
		},
		ForceAttemptHTTP2: true,
		IdleConnTimeout:   10 * time.Minute,
	}
	have, _ := s.apple.LoadOrStore(string(w.Certificate), t)
	return have.(*http.Transport), nil
}

// wakePhone sends a phone an empty push, after which it asks which of its passes have changed.
func (s *Sender) wakePhone(ctx context.Context, w store.AppleWallet, t store.Target) (state string, wait time.Duration, err error) {
	if w.Ended(s.conf.Store.Now()) {
		return store.PushHeld, heldWait, nil
	}
	client, err := s.appleClient(w)
	if err != nil {
		return store.PushFailed, 0, err
	}
	service, _ := s.conf.ApplePush()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, service+"/3/device/"+t.Address, strings.NewReader("{}"))
	if err != nil {
		return store.PushEnded, 0, errors.New("its push token makes no URL")
	}
	req.Header.Set("Apns-Topic", w.PassType)
	resp, err := client.RoundTrip(req)
	if err != nil {
		return store.PushFailed, 0, fmt.Errorf("the service cannot be reached: %w", err)
	}
	defer resp.Body.Close()
	var answer struct {
		Reason    string `json:"reason"`
		Timestamp int64  `json:"timestamp"` // since when the token is not valid, in milliseconds
	}
	json.NewDecoder(io.LimitReader(resp.Body, 4<<10)).Decode(&answer)
	io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
	switch status := resp.StatusCode; {
	case status == http.StatusOK:
		return store.PushSent, 0, nil
	case status == http.StatusGone && answer.Timestamp > int64(t.Since), answer.Reason == "BadDeviceToken":
		return store.PushEnded, 0, nil
	case status == http.StatusTooManyRequests || status >= 500, status == http.StatusGone:
		return store.PushFailed, webhook.RetryAfter(resp.Header.Get("Retry-After"), time.Now()), statusError(status)
	default:
		return store.PushRefused, 0, fmt.Errorf("%w: %.100q", statusError(status), answer.Reason)
	}
}
