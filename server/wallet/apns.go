package wallet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"punchcard/server/wallet/apple"
	"punchcard/server/wallet/request"
	"punchcard/store"
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
		m.send = func() (string, time.Duration, error) { return s.wakePhone(x.Wallet, t) }
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

// appleClient returns a client that presents the certificate of a shop. It keeps the connections of each until the sender stops.
func (s *Sender) appleClient(w store.AppleWallet, roots *x509.CertPool) (http.RoundTripper, error) {
	if have, ok := s.apple.Load(string(w.Certificate)); ok {
		return have.(http.RoundTripper), nil
	}
	key, err := apple.ParseKey(w.Key)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{
		TLSClientConfig: &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{w.Certificate}, PrivateKey: key}},
			RootCAs:      roots,
		},
		ForceAttemptHTTP2: true,
		IdleConnTimeout:   10 * time.Minute,
	}
	context.AfterFunc(s.Context, t.CloseIdleConnections)
	have, _ := s.apple.LoadOrStore(string(w.Certificate), t)
	return have.(http.RoundTripper), nil
}

// wakePhone sends a phone an empty push, after which it asks which of its passes have changed.
func (s *Sender) wakePhone(w store.AppleWallet, t store.Target) (state string, wait time.Duration, err error) {
	if w.Ended(s.conf.Store.Now()) {
		return store.PushHeld, heldWait, nil
	}
	service, roots := s.conf.ApplePush()
	client, err := s.appleClient(w, roots)
	if err != nil {
		return store.PushFailed, 0, err
	}
	header := http.Header{"Apns-Topic": {w.PassType}}
	resp, body, err := request.Send(s.Context, client, http.MethodPost, service+"/3/device/"+t.Address, header, []byte("{}"))
	if err != nil {
		return store.PushFailed, 0, err
	}
	var answer struct {
		Reason    string
		Timestamp int64 // since when the token is not valid, in milliseconds
	}
	json.Unmarshal(body, &answer)
	gone := resp.StatusCode == http.StatusGone && answer.Timestamp > int64(t.Since) || answer.Reason == "BadDeviceToken"
	return judge(resp.StatusCode, resp.Header.Get("Retry-After"), cut(answer.Reason, 100), gone, http.StatusGone)
}
