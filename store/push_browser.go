package store

import (
	"crypto/ecdh"
	"encoding/base64"
	"errors"
	"strings"
)

// maxSubscriptions is how many browsers show notices about one card. The oldest ends for a further one.
const maxSubscriptions = 10

// What a browser shows notices about.
const (
	NotifyPrizes = "prizes" // a prize can be redeemed
	NotifyAll    = "all"    // every change of what the card shows
)

// PushFields is a subscription as browsers make it (Push API), with what it is for.
type PushFields struct {
	Endpoint Opt[string]            `json:"endpoint" req:"true" min:"1" max:"2048" format:"target-url"`
	Keys     Opt[map[string]string] `json:"keys" req:"true" keys:"p256dh,auth"`
	Notify   Opt[string]            `json:"notify" req:"true" enum:"prizes,all"`
}

// Target returns the URL of the push service, whose addresses the caller has to check.
func (f PushFields) Target() (field, url string) { return "endpoint", f.Endpoint.Or("") }

// Check validates the keys.
func (f PushFields) Check(Time) (details []Detail) {
	invalid := func(name, message string) {
		details = append(details, Detail{"keys." + name, "invalid_format", message})
	}
	if _, err := ecdh.P256().NewPublicKey(f.key("p256dh")); err != nil && f.Keys.Set {
		invalid("p256dh", "must be an uncompressed point on P-256 in base64url")
	}
	if f.Keys.Set && len(f.key("auth")) != 16 {
		invalid("auth", "must be 16 bytes in base64url")
	}
	return details
}

// key returns a key's bytes, nil if they cannot be read.
func (f PushFields) key(name string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(f.Keys.V[name], "="))
	if err != nil {
		return nil
	}
	return b
}

// PushEnd names a subscription that ends.
type PushEnd struct {
	Endpoint Opt[string] `json:"endpoint" req:"true" min:"1" max:"2048"`
}

// Subscribe adds a browser that shows notices about the card of a page, in a language. A browser that is
// subscribed already gets the new keys.
func (tx *Tx) Subscribe(token, language string, f PushFields) error {
	if details := f.Check(tx.Now); details != nil {
		return Invalid(details...)
	}
	if f.Endpoint.V != tx.CheckedTarget {
		return errors.New("store: the endpoint was not checked")
	}
	shop, root, err := tx.livePage(token)
	if err != nil {
		return err
	}
	tx.requireOpen(shop)
	if tx.exec(`INSERT INTO push_subscriptions (card_id, shop_id, endpoint, public_key, auth, notify, language, created_at, program_id)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, program_id FROM cards WHERE id=?1
		ON CONFLICT DO UPDATE SET public_key=excluded.public_key, auth=excluded.auth, notify=excluded.notify,
		language=excluded.language WHERE (public_key, auth, notify, language)<>(excluded.public_key, excluded.auth, excluded.notify,
		excluded.language)`, root, shop, f.Endpoint.V, f.key("p256dh"), f.key("auth"), f.Notify.V, language, tx.Now) == 0 {
		return tx.failed // pages subscribe each time they are opened
	}
	tx.exec("DELETE FROM push_subscriptions WHERE id=(SELECT min(id) FROM push_subscriptions WHERE card_id=? HAVING count(*)>?)",
		root, maxSubscriptions)
	tx.noteCopies(root)
	tx.queuePushes(root, CopyBrowser) // so that what the card shows now is noted
	return tx.failed
}

// Unsubscribe ends the notices of a browser about the card of a page, if there are any.
func (tx *Tx) Unsubscribe(token string, f PushEnd) error {
	shop, root, err := tx.chainByPageToken(token)
	if err != nil {
		return err
	}
	tx.requireOpen(shop)
	tx.exec("DELETE FROM push_subscriptions WHERE card_id=? AND endpoint=?", root, f.Endpoint.V)
	tx.noteCopies(root)
	return tx.failed
}

// endSubscriptions ends the notices about a chain.
func (tx *Tx) endSubscriptions(root int64) {
	tx.exec("DELETE FROM push_subscriptions WHERE card_id=?", root)
	tx.noteCopies(root)
}
