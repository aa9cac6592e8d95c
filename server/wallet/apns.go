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

// pushToPhones notes which passes of a card have changed and wakes the phones that have them.
func (s *Sender) pushToPhones(p store.Push) (map[int64]store.TargetOutcome, error) {
	all, hashes, err := s.readPasses(p.Root)
	if err != nil {
		return nil, err
	}
	var messages []message
	for i, x := range all {
		if x.Pass, err = s.refresh(x.Pass, hashes[i]); err != nil {
			return nil, err
		}
		changes := strconv.FormatInt(x.Changes, 10)
		client, unusable := s.appleClient(x.Wallet)
		for _, phone := range x.Phones {
			m := message{Target: phone.Target, told: changes, host: "Apple", held: x.Wallet.Ended(s.conf.Store.Now())}
			if phone.Told != changes && x.Wallet.IsSet() {
				m.send = func(ctx context.Context) (result, time.Duration, error) {
					if unusable != nil {
						return failed, 0, unusable
					}
					return s.wakePhone(ctx, client, x.Wallet.PassType, phone)
				}
			}
			messages = append(messages, m)
		}
	}
	return s.send(messages), nil
}

// readPasses returns the passes of a card with the hashes of what they show. It reads one card at a time, and pauses for as
// long as that took: reading takes the processor, which tills need (BenchmarkProgramChange).
func (s *Sender) readPasses(root int64) (all []store.PassPush, hashes [][]byte, err error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	start := time.Now()
	defer func() { s.pause(time.Since(start)) }()
	err = s.conf.Store.View(0, func(v *store.View) (err error) {
		all, err = v.ApplePush(root)
		return err
	})
	for i := range all {
		hashes = append(hashes, AppleHash(&all[i].Pass))
	}
	return all, hashes, err
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
func (s *Sender) wakePhone(
	ctx context.Context,
	client http.RoundTripper,
	passType string,
	phone store.Phone,
) (result, time.Duration, error) {
	service, _ := s.conf.ApplePush()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, service+"/3/device/"+phone.PushToken, strings.NewReader("{}"))
	if err != nil {
		return gone, 0, errors.New("its push token makes no URL")
	}
	req.Header.Set("Apns-Topic", passType)
	resp, err := client.RoundTrip(req)
	if err != nil {
		return failed, 0, fmt.Errorf("the service cannot be reached: %w", err)
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
		return accepted, 0, nil
	case status == http.StatusGone && answer.Timestamp > int64(phone.Registered), answer.Reason == "BadDeviceToken":
		return gone, 0, nil
	case status == http.StatusTooManyRequests || status >= 500, status == http.StatusGone:
		return failed, webhook.RetryAfter(resp.Header.Get("Retry-After"), time.Now()), statusError(status)
	default:
		return accepted, 0, fmt.Errorf("%w: %.100q", statusError(status), answer.Reason)
	}
}
