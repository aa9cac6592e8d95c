package store

import (
	"bytes"
	"crypto/sha256"
	"time"
)

// Claim is one use of an Idempotency-Key by one caller (contract section 1).
type Claim struct {
	Caller      int64 // APICaller or DeviceCaller
	KeyHash     [16]byte
	Fingerprint [32]byte
}

// APICaller is the scope of a key and its rotation successors.
func APICaller(family int64) int64 { return 2 * family }

// NewClaim hashes what a claim compares: the key's text, and the request by
// method, path and body bytes.
func NewClaim(caller int64, key, method, path string, body []byte) Claim {
	c := Claim{Caller: caller}
	sum := sha256.Sum256([]byte(key))
	copy(c.KeyHash[:], sum[:])
	h := sha256.New()
	for _, part := range []string{method, path} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	h.Write(body)
	h.Sum(c.Fingerprint[:0])
	return c
}

// Remembered is a response kept for replays.
type Remembered struct {
	Status int
	Body   []byte
}

// Recall finds the response remembered for a claim: nil when there is none or
// its window is over, idempotency_conflict when the key was used for another
// request.
func (v *View) Recall(c Claim) (*Remembered, error) {
	var m *Remembered
	var other bool
	_, err := v.one(func(r *rows) {
		at := r.time()
		print := r.bytes()
		status := int(r.int())
		if at.Add(time.Duration(v.s.opts.Limits.IdempotencyHours)*time.Hour) <= v.Now {
			return
		}
		other = !bytes.Equal(print, c.Fingerprint[:])
		m = &Remembered{Status: status, Body: r.bytes()}
	}, "SELECT "+columns("created_at", "fingerprint", "status", "body")+" FROM idempotency WHERE caller=? AND key_hash=?", c.Caller, c.KeyHash[:])
	if err != nil {
		return nil, err
	}
	if other {
		return nil, refuse(IdempotencyConflict, "This Idempotency-Key was used for another request.")
	}
	return m, nil
}

// Remember keeps a response in the transaction that made it. card, if not
// empty, is the card whose data the body holds. An older response under the
// same key has outlived its window and gives way.
func (tx *Tx) Remember(c Claim, m Remembered, card string) error {
	id := Null[int64]{}
	if card != "" {
		id.V, id.Valid = tx.s.Key(KindCard, card)
	}
	_, err := tx.exec(`INSERT OR REPLACE INTO idempotency (caller, key_hash, fingerprint, status, body, card_id, created_at) VALUES (?,?,?,?,?,?,?)`,
		c.Caller, c.KeyHash[:], c.Fingerprint[:], m.Status, append([]byte{}, m.Body...), id, tx.Now) // never null, also for a 204
	return err
}

// PruneIdempotency deletes remembered responses whose window is over, at most
// most of them, and tells how many.
func (tx *Tx) PruneIdempotency(most int) (int64, error) {
	end := tx.Now.Add(-time.Duration(tx.Limits.IdempotencyHours) * time.Hour)
	return tx.exec("DELETE FROM idempotency WHERE id IN (SELECT id FROM (SELECT id, created_at FROM idempotency ORDER BY id LIMIT ?) WHERE created_at<=?)", most, end)
}
