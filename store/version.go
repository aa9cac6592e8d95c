package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
)

// versionSQL are the queries of the version of a resource, by its kind.
var versionSQL = map[Kind]string{
	KindProgram:  "SELECT updated_at FROM programs WHERE id=? AND shop_id=? AND deleted_at IS NULL",
	KindCard:     "SELECT updated_at FROM cards WHERE id=? AND shop_id=? AND deleted_at IS NULL",
	KindLocation: "SELECT updated_at FROM locations WHERE id=? AND shop_id=?",
	KindWebhook:  "SELECT updated_at FROM webhooks WHERE id=? AND shop_id=? AND deleted_at IS NULL",
}

// Version returns when a program, card, location or webhook of the shop was last changed,
// and 0 for an id that names none.
func (tx *Tx) Version(shop int64, id string) (version Time) {
	kind, key := tx.kindOf(id)
	if sql := versionSQL[kind]; sql != "" {
		tx.one(into(&version), sql, key, shop)
	}
	return version
}

// RequireVersion refuses a write if the resource was changed since it had the version.
func (tx *Tx) RequireVersion(shop int64, id string, version Time) error {
	if tx.Version(shop, id) != version {
		return refuse(Conflict, "It was changed since the impact was shown. Call again without confirm_token.")
	}
	return tx.failed
}

// Sign returns a keyed hash of parts for a purpose, which only this file can compute.
func (g IDs) Sign(purpose string, parts ...string) []byte {
	h := hmac.New(sha256.New, g.hashKey())
	fmt.Fprintf(h, "%s\x00", purpose)
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return h.Sum(nil)
}
