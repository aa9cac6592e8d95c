package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// The headers of a delivery. Every attempt has new signatures, so that receivers
// can compare their time with the clock.
const (
	HeaderSignature = "X-Service-Signature" // [Sign]

	// HeaderSequence has the place of the event among those of the shop. It is not
	// signed.
	HeaderSequence = "X-Service-Sequence"

	// The headers of Standard Webhooks.
	HeaderID                = "webhook-id" // the event_id
	HeaderTimestamp         = "webhook-timestamp"
	HeaderStandardSignature = "webhook-signature" // [SignStandard]
)

// secretPrefix is the beginning of every signing secret; the key follows in base64.
const secretPrefix = "whsec_"

// Sign returns the value of X-Service-Signature, t=<unix seconds>,v1=<hex>. The
// key is the whole secret. The digits are in lower case and no space follows the
// comma, as Stripe's verifiers require.
func Sign(secret string, at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	sum := digest([]byte(secret), t+".", body)
	return "t=" + t + ",v1=" + hex.EncodeToString(sum)
}

// SignStandard returns the value of webhook-signature for a delivery with the
// given webhook-id and a webhook-timestamp of the given time. The key is the
// secret's decoded base64. If the secret is not base64 the result is empty, and
// the header must be left out.
func SignStandard(secret, id string, at time.Time, body []byte) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil || len(key) == 0 {
		return ""
	}
	sum := digest(key, id+"."+strconv.FormatInt(at.Unix(), 10)+".", body)
	return "v1," + base64.StdEncoding.EncodeToString(sum)
}

// digest returns the HMAC-SHA256 of head and body.
func digest(key []byte, head string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(head))
	h.Write(body)
	return h.Sum(nil)
}
