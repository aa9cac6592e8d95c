package store

import (
	"testing"
	"time"
)

// TestAppleWallet checks the certificate in use beside the request for the next one, what is shown of both by time, and that no
// certificate of another pass type takes the place of one that passes were made with.
func TestAppleWallet(t *testing.T) {
	f := start(t)
	shop := f.a.Shop
	status := func(state string, days int64, waits bool) {
		t.Helper()
		f.view(func(v *View) error {
			s, err := v.AppleStatus(shop)
			if s.State != state || s.DaysLeft.V != days || s.RequestedAt.Valid != waits {
				t.Errorf("the status is %+v, want %s with %d days left, and a request that waits: %t", s, state, days, waits)
			}
			return err
		})
	}
	request := func(key string) (r AppleRequest) {
		t.Helper()
		return must(f, func(tx *Tx) (AppleRequest, error) {
			return tx.RequestAppleCertificate(shop, AppleRequest{DER: []byte("request of " + key), Key: []byte(key)})
		})
	}
	accept := func(w AppleWallet) {
		t.Helper()
		f.writes(func(tx *Tx) { check(tx.SetAppleCertificate(shop, w)) })
	}
	status(AppleOff, 0, false)
	request("first")
	if again := request("another"); string(again.Key) != "first" {
		t.Errorf("a request that waits is replaced by one with the key %s", again.Key)
	}
	status(AppleOff, 0, true)
	w := AppleWallet{PassType: "pass.com.example.card", Team: "TEAM000001", Certificate: []byte("1"), Key: []byte("first")}
	w.NotAfter = f.Now().Add(31*24*time.Hour + time.Minute)
	accept(w)
	status(AppleRunning, 31, false)
	request("second")
	status(AppleRunning, 31, true)
	accept(w) // the file that is in use already
	status(AppleRunning, 31, true)
	w.Certificate = []byte("1, made again of the first request")
	accept(w)
	status(AppleRunning, 31, true) // Apple may have made a certificate of the request that waits
	other := w
	other.PassType, other.Certificate, other.Key = "pass.com.example.other", []byte("2"), []byte("second")
	refused(t, f.do(func(tx *Tx) error { return errorOf(tx.SetAppleCertificate(shop, other)) }), ValidationFailed)
	other.PassType, other.Team = w.PassType, "TEAM000002"
	refused(t, f.do(func(tx *Tx) error { return errorOf(tx.SetAppleCertificate(shop, other)) }), ValidationFailed)
	f.clock.move(25 * time.Hour)
	status(AppleEnding, 29, true)
	f.clock.move(days(30))
	status(AppleEnded, 0, true)
	w.Certificate, w.Key, w.NotAfter = []byte("2"), []byte("second"), f.Now().Add(365*24*time.Hour)
	accept(w)
	status(AppleRunning, 365, false)
	f.reads(func(v *View) {
		got := v.AppleWallet(shop)
		if string(got.Certificate) != "2" || string(got.Key) != "second" {
			t.Errorf("in use is %+v", got)
		}
	})
	f.writes(func(tx *Tx) { check(tx.RemoveAppleWallet(shop, RemoveFields{})) })
	status(AppleOff, 0, false)
	accept(other)
}
