package google_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"punchcard/server/wallet/google"
	"punchcard/server/wallet/wallettest"
)

// verify verifies a callback at a time.
func verify(t *testing.T, keys *google.Keys, body []byte, at time.Time) (google.Event, error) {
	t.Helper()
	return keys.Verify(t.Context(), body, at)
}

// TestCallback checks that a callback of Google is taken, and that every other one is refused for its own reason.
func TestCallback(t *testing.T) {
	t.Parallel()
	g := wallettest.NewGoogle()
	t.Cleanup(g.Close)
	sent := &counter{seen: map[string]int{}}
	keys := &google.Keys{URL: g.URL + "/keys", Transport: sent}
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	const good = ""
	for _, c := range []struct {
		name, want string
		change     func(*wallettest.GoogleEvent)
	}{
		{"save", good, func(*wallettest.GoogleEvent) {}},
		{"del", good, func(e *wallettest.GoogleEvent) { e.Type = "del" }},
		{"type", "the eventType must be save or del", func(e *wallettest.GoogleEvent) { e.Type = "open" }},
		{"nonce", "the nonce must have 1 to 100 letters, digits and hyphens", func(e *wallettest.GoogleEvent) { e.Nonce = "a b" }},
		{"long nonce", "the nonce must have 1 to 100 letters, digits and hyphens",
			func(e *wallettest.GoogleEvent) { e.Nonce = strings.Repeat("n", 101) }},
		{"longest", good, func(e *wallettest.GoogleEvent) {
			e.Nonce, e.ObjectID = strings.Repeat("n", 100), issuer+"."+strings.Repeat("o", 200)
		}},
		{"long object", "classId and objectId must be ids of one issuer",
			func(e *wallettest.GoogleEvent) { e.ObjectID = issuer + "." + strings.Repeat("o", 201) }},
		{"ids", "classId and objectId must be ids of one issuer", func(e *wallettest.GoogleEvent) { e.ObjectID = "2.card" }},
		{"protocol", "the protocolVersion must be ECv2SigningOnly", func(e *wallettest.GoogleEvent) { e.Protocol = "ECv1" }},
		{"root", "the intermediate key is signed by none of the keys of Google", func(e *wallettest.GoogleEvent) { e.Root = stranger }},
		{"sender", "the intermediate key is signed by none of the keys of Google",
			func(e *wallettest.GoogleEvent) { e.Sender = "GooglePay" }},
		{"recipient", "the signature is wrong", func(e *wallettest.GoogleEvent) { e.Recipient = "1" }},
		{"key", "the intermediate key has expired", func(e *wallettest.GoogleEvent) { e.KeyExpires = now }},
		{"late", "the callback has expired", func(e *wallettest.GoogleEvent) { e.Expires = now }},
	} {
		e := wallettest.GoogleEvent{ClassID: issuer + ".coffee", ObjectID: issuer + ".card", Type: "save", Nonce: "n-1"}
		c.change(&e)
		got, err := verify(t, keys, g.Sign(e), now)
		switch {
		case c.want == good && (err != nil || got.Issuer+"."+got.Name != e.ObjectID || got.Saved != (e.Type == "save") ||
			got.Nonce != e.Nonce):
			t.Errorf("%s: %+v, %v", c.name, got, err)
		case c.want != good && (err == nil || err.Error() != c.want):
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if n := sent.seen["/keys"]; n != 1 {
		t.Errorf("the keys were asked for %d times", n)
	}
	body := g.Sign(wallettest.GoogleEvent{ClassID: issuer + ".coffee", ObjectID: issuer + ".card", Type: "save"})
	forged := bytes.Replace(body, []byte("save"), []byte("del"), 1)
	if _, err := verify(t, keys, forged, now); err == nil || err.Error() != "the signature is wrong" {
		t.Errorf("a changed message: %v", err)
	}
}

// TestKeysExpire checks that keys are asked for again when they may be kept no longer, and not at every callback while that fails.
func TestKeysExpire(t *testing.T) {
	t.Parallel()
	g := wallettest.NewGoogle()
	sent := &counter{seen: map[string]int{}}
	keys := &google.Keys{URL: g.URL + "/keys", Transport: sent}
	now := time.Now()
	body := g.Sign(wallettest.GoogleEvent{
		ClassID: "1.coffee", ObjectID: "1.card", Type: "save", Expires: now.AddDate(2, 0, 0), KeyExpires: now.AddDate(2, 0, 0)})
	for _, at := range []time.Duration{0, 59 * time.Minute, time.Hour} { // Google says max-age=3600
		if _, err := verify(t, keys, body, now.Add(at)); err != nil {
			t.Errorf("after %v: %v", at, err)
		}
	}
	if n := sent.seen["/keys"]; n != 2 {
		t.Errorf("the keys were asked for %d times in an hour", n)
	}
	if _, err := verify(t, keys, body, now.AddDate(1, 0, 1)); !errors.Is(err, google.ErrKeys) {
		t.Errorf("after the end of the root key: %v", err)
	}
	g.Close()
	late := now.AddDate(1, 0, 2)
	for _, at := range []time.Time{late, late.Add(59 * time.Second), late.Add(time.Minute)} {
		if _, err := verify(t, keys, body, at); !errors.Is(err, google.ErrKeys) {
			t.Errorf("without keys: %v", err)
		}
	}
	if n := sent.seen["/keys"]; n != 5 {
		t.Errorf("the keys were asked for %d times, want 5", n)
	}
}

// FuzzParseCallback checks that no body stops the server, and that none without a signature of Google is taken.
func FuzzParseCallback(f *testing.F) {
	g := wallettest.NewGoogle()
	f.Cleanup(g.Close)
	keys := &google.Keys{URL: g.URL + "/keys", Transport: http.DefaultTransport}
	stranger := wallettest.NewGoogle()
	f.Cleanup(stranger.Close)
	f.Add(stranger.Sign(wallettest.GoogleEvent{ClassID: "1.a", ObjectID: "1.b", Type: "save"}))
	f.Add([]byte(`{"protocolVersion":"ECv2SigningOnly","signedMessage":"{}","intermediateSigningKey":{"signatures":["",""]}}`))
	f.Add([]byte(`{"protocolVersion":"ECv2SigningOnly","signedMessage":"` +
		`{\"classId\":\"1.a\",\"objectId\":\"1.b\",\"eventType\":\"del\",\"nonce\":\"1\"}"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if e, err := verify(t, keys, body, time.Now()); err == nil {
			t.Errorf("%+v was taken", e)
		}
	})
}
