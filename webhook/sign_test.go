package webhook

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	stripe "github.com/stripe/stripe-go/v85/webhook"
)

const (
	secretA = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	secretB = "whsec_//////////////////////////////////////////8="
)

// TestVectors compares signatures with those of another program. The last is the example in the
// Standard Webhooks specification.
func TestVectors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		secret, id, body string
		at               int64
		sign, standard   string
	}{
		{secretA, "evt_0123456789abcdefghijklmnop", `{"event":"card.added"}`, 1767323045,
			"t=1767323045,v1=4c8a14187acbaaf7ca93db9294fcb13f387f210cd37bcb90260d01e846ac3cf0",
			"v1,3I5CZL9ZC6izqrmV6mBf/ymsQUvlF98p1MO8Mc1BtKM="},
		{secretB, "evt_1", "", 0,
			"t=0,v1=a0d02fd518e7680f027c7d3935c55077372bbfe71512b0b34a277c4af86ac578",
			"v1,loA9jwaag9L9YhhnK/x2Ms3hdDZLkRRMigHycrJrr78="},
		{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", `{"test": 2432232314}`, 1614265330,
			"", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	} {
		// Fractions of a second are truncated, and the time zone does not matter.
		at := time.Unix(c.at, 999_999_999).In(time.FixedZone("", 5*3600))
		if got := Sign(c.secret, at, []byte(c.body)); got != c.sign && c.sign != "" {
			t.Errorf("%s: %s", c.id, got)
		}
		if got := SignStandard(c.secret, c.id, at, []byte(c.body)); got != c.standard {
			t.Errorf("%s: %s", c.id, got)
		}
	}
}

// TestStripeVerifies checks signatures, and changed requests, with Stripe's library.
func TestStripeVerifies(t *testing.T) {
	t.Parallel()
	at := time.Now()
	for _, body := range []string{`{"event":"card.added","data":{"n":"Zoë\u0000"}}`, "", "\x00\xff\n", strings.Repeat("x", 1<<20)} {
		if err := stripe.ValidatePayload([]byte(body), Sign(secretA, at, []byte(body)), secretA); err != nil {
			t.Errorf("%.40q: %v", body, err)
		}
	}

	body := []byte(`{"event":"card.added"}`)
	good := Sign(secretA, at, body)
	now := strconv.FormatInt(at.Unix(), 10)
	for name, c := range map[string]struct {
		body, header, secret string
		want                 error
	}{
		"a changed byte":         {`{"event":"card.addee"}`, good, secretA, stripe.ErrNoValidSignature},
		"a byte more":            {string(body) + "\n", good, secretA, stripe.ErrNoValidSignature},
		"another secret":         {string(body), good, secretB, stripe.ErrNoValidSignature},
		"the secret's key alone": {string(body), good, strings.TrimPrefix(secretA, secretPrefix), stripe.ErrNoValidSignature},
		"another t": {
			string(body), strings.Replace(good, now, strconv.FormatInt(at.Unix()-1, 10), 1), secretA, stripe.ErrNoValidSignature,
		},
		"an old t": {string(body), Sign(secretA, at.Add(-time.Hour), body), secretA, stripe.ErrTooOld},
	} {
		if err := stripe.ValidatePayload([]byte(c.body), c.header, c.secret); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStandardWebhooksVerifies checks signatures, and changed requests, with the library of
// Standard Webhooks.
func TestStandardWebhooksVerifies(t *testing.T) {
	t.Parallel()
	at := time.Now()
	const id = "evt_0123456789abcdefghijklmnop"
	verify := func(secret, id string, at time.Time, body []byte, signature string) error {
		t.Helper()
		w, err := standard.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		h.Set(HeaderID, id)
		h.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
		h.Set(HeaderStandardSignature, signature)
		return w.Verify(body, h)
	}
	for _, body := range []string{`{"event":"card.added","data":{"n":"Zoë\u0000"}}`, "", "\x00\xff\n"} {
		if err := verify(secretA, id, at, []byte(body), SignStandard(secretA, id, at, []byte(body))); err != nil {
			t.Errorf("%q: %v", body, err)
		}
	}

	body := []byte(`{"event":"card.added"}`)
	good := SignStandard(secretA, id, at, body)
	old := at.Add(-time.Hour)
	for name, c := range map[string]struct {
		err, want error
	}{
		"a changed byte": {verify(secretA, id, at, []byte(`{"event":"card.addee"}`), good), standard.ErrNoMatchingSignature},
		"another secret": {verify(secretB, id, at, body, good), standard.ErrNoMatchingSignature},
		"another id":     {verify(secretA, id+"q", at, body, good), standard.ErrNoMatchingSignature},
		"another t":      {verify(secretA, id, at.Add(time.Second), body, good), standard.ErrNoMatchingSignature},
		"an old t":       {verify(secretA, id, old, body, SignStandard(secretA, id, old, body)), standard.ErrMessageTooOld},
		"no signature":   {verify(secretA, id, at, body, ""), standard.ErrRequiredHeaders},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}

// TestNoKeyNoStandardSignature checks that a secret without a key gives no signature,
// instead of one with an empty key.
func TestNoKeyNoStandardSignature(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"", "whsec_", "whsec_***", "whsec_AAECAw", "whsec_" + base64.RawURLEncoding.EncodeToString([]byte{0xfb, 0xff}),
	} {
		if got := SignStandard(secret, "evt_1", time.Unix(0, 0), nil); got != "" {
			t.Errorf("%q: %s", secret, got)
		}
	}
}
