package webhook

import (
	"encoding/base64"
	"testing"
	"time"
)

const (
	secretA = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	secretB = "whsec_//////////////////////////////////////////8="
)

// TestVectors compares signatures with those of another program. The last is the example in the
// Standard Webhooks specification. The receivers of TestWebhooksSurviveKills in server/e2e verify
// them with the libraries of Stripe and of Standard Webhooks.
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
