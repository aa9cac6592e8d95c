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

// The headers that prove a delivery. Every attempt is signed anew, so that a
// receiver may hold the timestamp against its clock.
const (
	HeaderSignature = "X-Service-Signature" // [Sign]

	// Standard Webhooks.
	HeaderID                = "webhook-id" // the event_id
	HeaderTimestamp         = "webhook-timestamp"
	HeaderStandardSignature = "webhook-signature" // [SignStandard]
)

// secretPrefix begins every signing secret; base64 of the key follows.
const secretPrefix = "whsec_"

// Sign returns the value of X-Service-Signature, t=<unix seconds>,v1=<hex>.
// The key is the whole secret string and the digest is in lower case, with no
// space after the comma: that is what Stripe's verifiers read.
func Sign(secret string, at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	sum := digest([]byte(secret), t+".", body)
	return "t=" + t + ",v1=" + hex.EncodeToString(sum)
}

// SignStandard returns the value of webhook-signature for the delivery with
// this webhook-id and the webhook-timestamp of the same instant. The key is
// what the secret's base64 stands for. A secret that is no base64 has no such
// signature, and the result is empty: leave the header out.
func SignStandard(secret, id string, at time.Time, body []byte) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil || len(key) == 0 {
		return ""
	}
	sum := digest(key, id+"."+strconv.FormatInt(at.Unix(), 10)+".", body)
	return "v1," + base64.StdEncoding.EncodeToString(sum)
}

func digest(key []byte, head string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(head))
	h.Write(body)
	return h.Sum(nil)
}
