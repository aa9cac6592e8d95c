package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// checkSignatures returns what is wrong with the two signatures of a request; empty: nothing. Each must
// be of one of the webhook's secrets, unless the webhook had one then that nobody was shown.
func (w receiver) checkSignatures(q *request) (wrong string) {
	if slices.ContainsFunc(w.Lost, q.At.Equal) {
		return ""
	}
	t, hexed, ok := strings.Cut(strings.TrimPrefix(q.header("X-Service-Signature"), "t="), ",v1=")
	if !ok || !w.signed(t+"."+q.Body, func(secret string) []byte { return []byte(secret) }, func(sum []byte) bool {
		return hmac.Equal([]byte(hex.EncodeToString(sum)), []byte(hexed))
	}) {
		return "X-Service-Signature is of none of the secrets"
	}
	id, at := q.header("Webhook-Id"), q.header("Webhook-Timestamp")
	signature, ok := strings.CutPrefix(q.header("Webhook-Signature"), "v1,")
	if !ok || !w.signed(id+"."+at+"."+q.Body, standardKey, func(sum []byte) bool {
		return hmac.Equal([]byte(base64.StdEncoding.EncodeToString(sum)), []byte(signature))
	}) {
		return "webhook-signature is of none of the secrets"
	}
	if !strings.Contains(q.Body, `"event_id":"`+id+`"`) {
		return "webhook-id is not the id of the event"
	}
	return ""
}

// standardKey returns the key of a secret as Standard Webhooks decodes it.
func standardKey(secret string) []byte {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return nil
	}
	return key
}

// signed reports whether a text has the signature of one of the secrets.
func (w receiver) signed(text string, key func(string) []byte, matches func(sum []byte) bool) bool {
	for _, secret := range w.Secrets {
		h := hmac.New(sha256.New, key(secret))
		h.Write([]byte(text))
		if matches(h.Sum(nil)) {
			return true
		}
	}
	return false
}
