package store

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/binary"
	"time"
)

// CopyBrowser is the bit of cards.copies of a card whose notices go to browsers.
const CopyBrowser = 1

// queuePushes notes that what a chain shows has changed for its copies.
func (tx *Tx) queuePushes(root, copies int64) {
	for bit := int64(1); bit <= copies; bit <<= 1 {
		if copies&bit != 0 {
			tx.exec(`INSERT INTO pushes (card_id, copy, shop_id, due_at) SELECT id, ?2, shop_id, ?3 FROM cards WHERE id=?1
				ON CONFLICT DO UPDATE SET changes=changes+1, due_at=excluded.due_at`, root, bit, tx.Now)
		}
	}
	tx.AfterCommit(func() { wake(tx.s.pushesDue) })
}

// PushesDue returns a channel that receives when a card with copies has changed.
func (s *Store) PushesDue() <-chan struct{} { return s.pushesDue }

// Push is a card whose copies are to be brought up to date.
type Push struct {
	Root    int64
	Copy    int64
	Due     Time
	changes int64
}

// waitingPushes are the rows of pushes that may be sent. A closed shop sends nothing.
const waitingPushes = " FROM pushes WHERE " + ofOpenShop

// Pushes returns up to n cards whose copies are to be brought up to date, now or later, those that are
// due first first.
func (v *View) Pushes(n int) ([]Push, error) {
	return collect(v, func(r *rows) (p Push) {
		r.scan(&p.Root, &p.Copy, &p.Due, &p.changes)
		return p
	}, "SELECT card_id, copy, due_at, changes"+waitingPushes+" ORDER BY due_at LIMIT ?", n), v.failed
}

// CountPushes returns the number of cards whose copies are to be brought up to date, at most max.
func (v *View) CountPushes(max int64) (int64, error) {
	return v.number("SELECT count(*) FROM (SELECT 1 FROM pushes WHERE due_at>=0 LIMIT ?)", max), v.failed
}

// PushOutcome is the result of an attempt to bring the copies of a card up to date.
type PushOutcome struct {
	Push
	Told  map[int64]string        // what browsers know now, by the keys of their subscriptions
	Gone  []int64                 // subscriptions that have ended
	Retry map[int64]time.Duration // until the next attempts at those that failed
}

// RecordPush writes an outcome. A card stays in the queue if it has changed since the push was read, if a
// browser has subscribed meanwhile, or for the next attempt at a browser. After Limits.DeliveryAttempts
// failures in a row a browser is left alone until the card changes again.
func (tx *Tx) RecordPush(o PushOutcome) error {
	for key, told := range o.Told {
		tx.exec("UPDATE push_subscriptions SET told=?, attempts=0, due_at=0 WHERE id=?", told, key)
	}
	for key, wait := range o.Retry {
		tx.exec("UPDATE push_subscriptions SET attempts=attempts+1, due_at=? WHERE id=?", tx.Now.Add(wait), key)
		tx.exec("UPDATE push_subscriptions SET attempts=0, due_at=0 WHERE id=? AND attempts>=?", key, tx.Limits.DeliveryAttempts)
	}
	for _, key := range o.Gone {
		tx.exec("DELETE FROM push_subscriptions WHERE id=?", key)
	}
	if len(o.Gone) > 0 {
		tx.noteSubscriptions(o.Root)
	}
	const row = " WHERE card_id=? AND copy=?"
	if tx.exec("DELETE FROM pushes"+row+` AND changes=?
		AND NOT EXISTS (SELECT 1 FROM push_subscriptions WHERE card_id=?1 AND (told IS NULL OR attempts>0))`, o.Root, o.Copy, o.changes) > 0 {
		return tx.failed
	}
	tx.exec("UPDATE pushes SET due_at=CASE WHEN changes>? OR EXISTS (SELECT 1 FROM push_subscriptions WHERE card_id=? AND told IS NULL)"+
		" THEN ? ELSE (SELECT min(due_at) FROM push_subscriptions WHERE card_id=pushes.card_id AND attempts>0) END"+row,
		o.changes, o.Root, tx.Now, o.Root, o.Copy)
	return tx.failed
}

// PushKey returns the key by which push services recognise the file (VAPID, RFC 8292). It is made from
// the secret of the file, so that it never changes, and goes with a shop that moves to another file.
func (g IDs) PushKey() *ecdsa.PrivateKey {
	for attempt := uint64(0); ; attempt++ {
		var scalar [32]byte
		for half := range uint64(2) {
			block := scalar[16*half:][:16]
			binary.BigEndian.PutUint64(block, 2*attempt+half)
			block[0] = byte(kindPushKey)
			g.block.Encrypt(block, block)
		}
		// One scalar in 2^32 is not smaller than the order of the curve.
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar[:]); err == nil {
			return key
		}
	}
}
