package store

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/binary"
)

// The bits of cards.copies.
const (
	CopyBrowser = 1 << iota // browsers show notices about the card
	CopyApple               // it has a pass for Apple Wallet
	CopyGoogle              // it has an object at Google Wallet
)

// queuePushes notes that what a chain shows has changed for those of copies that it has.
func (tx *Tx) queuePushes(root, copies int64) {
	tx.exec(`INSERT INTO pushes (card_id, copy, shop_id, due_at) SELECT id, column1, shop_id, ?3 FROM cards, (VALUES (1), (2), (4))
		WHERE id=?1 AND column1 & copies & ?2 ON CONFLICT DO UPDATE SET changes=changes+1, due_at=excluded.due_at`, root, copies, tx.Now)
	tx.AfterCommit(func() { wake(tx.s.pushesDue) })
}

// anyPass is the condition that a program has a card with a pass.
const anyPass = " AND EXISTS (SELECT 1 FROM cards WHERE program_id=programs.id AND copies>1)"

// programChanged notes that the passes of a program show something else. QueuePasses queues them, so that the
// change takes as long with many passes as with none.
func (tx *Tx) programChanged(program int64) {
	tx.exec("UPDATE programs SET queue_after=0 WHERE id=?"+anyPass, program)
	tx.AfterCommit(func() { wake(tx.s.pushesDue) })
}

// shopChanged does the same as programChanged for all programs of a shop.
func (tx *Tx) shopChanged(shop int64) {
	tx.exec("UPDATE programs SET queue_after=0 WHERE shop_id=?"+anyPass, shop)
	tx.AfterCommit(func() { wake(tx.s.pushesDue) })
}

// changedPrograms are the programs whose passes are to be queued.
const changedPrograms = " FROM programs WHERE queue_after IS NOT NULL AND " + ofOpenShop

// dueObjects are the objects that have to change by time alone.
const dueObjects = " FROM google_objects WHERE look_at<=?"

// PassesWait reports whether QueuePasses has something to do.
func (v *View) PassesWait() (bool, error) {
	return v.number("SELECT EXISTS (SELECT 1"+changedPrograms+") OR EXISTS (SELECT 1"+dueObjects+")", v.Now) > 0, v.failed
}

// QueuePasses queues the passes of the next n cards of a program that has changed, and n objects that have to change by time alone.
// Browsers get no notice of that.
func (tx *Tx) QueuePasses(n int) error {
	for _, root := range tx.keys("SELECT card_id"+dueObjects+" ORDER BY look_at LIMIT ?", tx.Now, n) {
		tx.exec("UPDATE google_objects SET look_at=NULL WHERE card_id=?", root)
		tx.queuePushes(root, CopyGoogle)
	}
	var program, after int64
	if !tx.one(into(&program, &after), "SELECT id, queue_after"+changedPrograms+" LIMIT 1") {
		return tx.failed
	}
	next := tx.keys("SELECT id FROM cards WHERE program_id=? AND copies>1 AND id>? ORDER BY id LIMIT ?", program, after, n)
	for _, root := range next {
		tx.queuePushes(root, CopyApple|CopyGoogle)
	}
	position := Null[int64]{}
	if len(next) == n {
		position = Some(next[n-1])
	}
	tx.exec("UPDATE programs SET queue_after=? WHERE id=?", position, program)
	return tx.failed
}

// PushesDue returns a channel that receives when a card with copies or a program has changed.
func (s *Store) PushesDue() <-chan struct{} { return s.pushesDue }

// WakePushes makes the channel of PushesDue receive.
func (s *Store) WakePushes() { wake(s.pushesDue) }

// Push is a card whose copies are to be brought up to date.
type Push struct {
	Root    int64
	Copy    int64
	Due     Time
	changes int64
}

// waitingPushes begins the selection of the rows of pushes that may be sent, of the copy that follows. A closed shop sends nothing.
const waitingPushes = "SELECT * FROM (SELECT card_id, copy, due_at, changes FROM pushes WHERE " + ofOpenShop + " AND copy="

// Pushes returns up to n cards for each kind of copy that is to be brought up to date, now or later, those that are due first
// first. Of those that are due at Google, which limits the rate, the last ones are first.
func (v *View) Pushes(n int) ([]Push, error) {
	return collect(v, func(r *rows) (p Push) {
		r.scan(&p.Root, &p.Copy, &p.Due, &p.changes)
		return p
	}, waitingPushes+"1 ORDER BY due_at LIMIT ?1) UNION ALL "+
		waitingPushes+"2 ORDER BY due_at LIMIT ?1) UNION ALL "+
		waitingPushes+"4 AND due_at<=?2 ORDER BY due_at DESC LIMIT ?1) UNION ALL "+
		waitingPushes+"4 AND due_at>?2 ORDER BY due_at LIMIT 1)", n, v.Now), v.failed
}

// CountPushes returns the number of cards whose copies are to be brought up to date, at most max.
func (v *View) CountPushes(max int64) (int64, error) {
	return v.number("SELECT count(*) FROM (SELECT 1 FROM pushes WHERE copy>0 LIMIT ?)", max), v.failed
}

// copiesSQL is an expression for the copies of the chain of the root ?1.
const copiesSQL = "iif(EXISTS (SELECT 1 FROM push_subscriptions WHERE card_id=?1), 1, 0)" +
	"|iif(EXISTS (SELECT 1 FROM apple_passes WHERE card_id=?1), 2, 0)" +
	"|iif(EXISTS (SELECT 1 FROM google_objects WHERE card_id=?1), 4, 0)"

// noteCopies notes on a chain which copies it has. To those that it has no longer, nothing is to be sent.
func (tx *Tx) noteCopies(root int64) {
	tx.exec("UPDATE cards SET copies="+copiesSQL+" WHERE id=?1", root)
	tx.exec("DELETE FROM pushes WHERE card_id=?1 AND copy & ("+copiesSQL+")=0", root)
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
