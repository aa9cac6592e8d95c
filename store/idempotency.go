package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"time"
)

// IdempotencyKey is an idempotency key of a caller, with a hash of its request.
type IdempotencyKey struct {
	Scope       int64 // KeyScope, DeviceScope or PersonScope
	Hash        [16]byte
	Fingerprint [32]byte
}

// KeyScope returns the scope of the idempotency keys of an API key and its rotation
// successors.
func KeyScope(family int64) int64 { return 2 * family }

// DeviceScope returns the scope of a device's idempotency keys.
func DeviceScope(device int64) int64 { return 2*device + 1 }

// PersonScope returns the scope of the idempotency keys of a person's forms.
func PersonScope(user int64) int64 { return -user }

// NewIdempotencyKey hashes the text of a key, and the method, path and body of its
// request.
func NewIdempotencyKey(scope int64, value, method, path string, body []byte) IdempotencyKey {
	k := IdempotencyKey{Scope: scope}
	sum := sha256.Sum256([]byte(value))
	copy(k.Hash[:], sum[:])
	h := sha256.New()
	for _, part := range []string{method, path} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(body)
	h.Sum(k.Fingerprint[:0])
	return k
}

// Remembered is a stored response, for replays.
type Remembered struct {
	Status int
	Body   []byte
}

// Recall returns the response remembered for a key, or nil if there is none or it is
// too old. A key that was used for another request is refused as
// idempotency_conflict.
func (q *queries) Recall(k IdempotencyKey) (*Remembered, error) {
	var m *Remembered
	var other bool
	q.one(func(r *rows) {
		at := r.time()
		fingerprint := r.bytes()
		status := int(r.int())
		if at.Add(time.Duration(q.s.opts.Limits.IdempotencyHours)*time.Hour) <= q.Now {
			return
		}
		other = !bytes.Equal(fingerprint, k.Fingerprint[:])
		m = &Remembered{Status: status, Body: r.bytes()}
	}, "SELECT created_at, fingerprint, status, body FROM idempotency WHERE caller=? AND key_hash=?", k.Scope, k.Hash[:])
	if other {
		return nil, refuse(IdempotencyConflict, "This Idempotency-Key was used for another request.")
	}
	return m, nil
}

// Remember stores a response in the transaction that made it, with the card whose
// data a success contains (see Touches). It replaces an older response of the same
// key, which Recall found too old.
func (tx *Tx) Remember(k IdempotencyKey, m Remembered) error {
	card := Null[int64]{}
	if m.Status < 400 && len(tx.touched) > 0 {
		card = Some(tx.touched[0])
		if len(tx.touched) > 1 {
			if chains := tx.number(`SELECT count(DISTINCT ifnull(root_id, id)) FROM cards WHERE id IN (SELECT value
				FROM json_each(?))`, jsonKeys(tx.touched)); chains != 1 {
				return errors.New("a remembered answer holds the data of several persons' cards")
			}
		}
	}
	tx.exec(
		`INSERT OR REPLACE INTO idempotency (caller, key_hash, fingerprint, status, body, card_id, created_at) VALUES (?,?,?,?,?,?,?)`,
		k.Scope,
		k.Hash[:],
		k.Fingerprint[:],
		m.Status,
		append([]byte{}, m.Body...),
		card,
		tx.Now,
	) // the column is NOT NULL, and the body of a 204 is nil
	return tx.failed
}

// Touches records that the write's answer contains data of a card, so that erasing
// the card also erases the remembered answer. Methods of Tx that return a card have
// recorded it already.
func (tx *Tx) Touches(cardID string) {
	if key, ok := tx.Key(KindCard, cardID); ok {
		tx.touchCard(key)
	}
}

func (tx *Tx) touchCard(card int64) {
	if !slices.Contains(tx.touched, card) {
		tx.touched = append(tx.touched, card)
	}
}

// PruneIdempotency deletes up to limit remembered responses that are too old, and
// returns how many.
func (tx *Tx) PruneIdempotency(limit int) (int64, error) {
	end := tx.Now.Add(-time.Duration(tx.Limits.IdempotencyHours) * time.Hour)
	return tx.exec(`DELETE FROM idempotency WHERE id IN (SELECT id FROM (SELECT id, created_at FROM idempotency ORDER BY id LIMIT ?)
			WHERE created_at<=?)`, limit, end), tx.failed
}
