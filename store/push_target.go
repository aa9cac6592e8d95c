package store

import "time"

// targetTables are the tables of those to whom changes are told, by the kind of copy.
var targetTables = map[int64]string{CopyBrowser: "push_subscriptions", CopyApple: "apple_devices", CopyGoogle: "google_objects"}

// PushPass is a pass of which there are copies, with those to whom changes of it are told.
type PushPass struct {
	Pass
	Google    GoogleWallet // of the shop
	ClassTold string       // what Google shows of the program
	Targets   []Target
}

// Target is one to whom changes of a card are told: a browser, a phone or an object at Google.
type Target struct {
	Key      int64
	Told     Null[string] // what it knows; null: nothing yet, so a browser is to note what the card shows without a notice
	Attempts int          // in a row that failed
	Due      Time         // before which no attempt is made
	Address  string       // URL of a browser's push service, or push token of a phone
	Since    Time         // when a phone had this push token
	// PublicKey, on P-256 and uncompressed, and Auth, a secret, are those of a browser. It is told what Notify says, NotifyPrizes
	// or NotifyAll.
	PublicKey, Auth  []byte
	Notify, Language string
}

// generationsSQL selects by copy the generations of the passes of a chain, and targetsSQL those to whom one of these is told.
var (
	generationsSQL = map[int64]string{
		CopyBrowser: "SELECT code_generation FROM cards WHERE id=? AND copies & 1",
		CopyApple:   "SELECT generation FROM apple_passes WHERE card_id=? ORDER BY generation",
		CopyGoogle:  "SELECT generation FROM google_objects WHERE card_id=?",
	}
	targetsSQL = map[int64]string{
		CopyBrowser: `SELECT x.id, told, attempts, due_at, endpoint, x.created_at, public_key, auth, notify, x.language
			FROM cards c JOIN push_subscriptions x ON x.card_id=c.id WHERE c.id=? AND c.code_generation=?`,
		CopyApple: `SELECT id, told, attempts, due_at, push_token, created_at, x'', x'', '', '' FROM apple_devices
			WHERE card_id=? AND generation=?`,
		CopyGoogle: "SELECT id, told, attempts, due_at, '', 0, x'', x'', '', '' FROM google_objects WHERE card_id=? AND generation=?",
	}
)

// PassesToPush returns the passes of a chain of which there are copies of a kind, of all generations.
func (v *View) PassesToPush(root, copy int64) (all []PushPass, err error) {
	v.snapshot()
	var shop int64
	var classTold string
	v.one(into(&shop, &classTold), `SELECT shop_id, ifnull((SELECT told FROM google_classes g WHERE g.program_id=c.program_id), '')
		FROM cards c WHERE id=?`, root)
	wallet := v.GoogleWallet(shop)
	for _, generation := range v.keys(generationsSQL[copy], root) {
		p := PushPass{Google: wallet, ClassTold: classTold}
		if p.Pass, err = v.pass(shop, root, generation); err != nil {
			return nil, err
		}
		p.Targets = collect(v, func(r *rows) (t Target) {
			r.scan(&t.Key, &t.Told, &t.Attempts, &t.Due, &t.Address, &t.Since, &t.PublicKey, &t.Auth, &t.Notify, &t.Language)
			return t
		}, targetsSQL[copy], root, generation)
		all = append(all, p)
	}
	return all, v.failed
}

// TargetOutcome is the result of an attempt at one target.
type TargetOutcome struct {
	Told Null[string]  // what it knows now; null: it does not know what has changed
	Gone bool          // it has ended
	Held bool          // it cannot be told at present, which is no failure
	Wait time.Duration // until the next attempt, if it was not told
	Says string        // what came of it, for people; empty: nothing was sent

	Persist bool       // attempts are made until one succeeds
	LookAt  Null[Time] // when an object changes by time alone
}

// pushAttempts is how many attempts in a row may fail: with the default waits they take 23 hours. A delivery of a webhook
// has fewer, since its failures are listed and can be sent again.
const pushAttempts = 15

// PushOutcome is the result of an attempt to bring the copies of a card up to date, by the keys of the targets.
type PushOutcome struct {
	Push
	Targets map[int64]TargetOutcome
}

// RecordPush writes an outcome. A card stays in the queue if it has changed since the push was read, if a
// target is new, or for the next attempt at a target. After pushAttempts failures in a row a target is left
// alone until the card changes again.
func (tx *Tx) RecordPush(o PushOutcome) error {
	table := targetTables[o.Copy]
	for key, t := range o.Targets {
		switch {
		case t.Gone:
			tx.exec("DELETE FROM "+table+" WHERE id=?", key)
			tx.noteCopies(o.Root)
		case t.Told.Valid:
			tx.exec("UPDATE "+table+" SET told=?, attempts=0, due_at=0 WHERE id=?", t.Told.V, key)
		case t.Held:
			tx.exec("UPDATE "+table+" SET attempts=max(attempts, 1), due_at=? WHERE id=?", tx.Now.Add(t.Wait), key)
		default:
			tx.exec("UPDATE "+table+" SET attempts=attempts+1, due_at=? WHERE id=?", tx.Now.Add(t.Wait), key)
			if !t.Persist {
				tx.exec("UPDATE "+table+" SET attempts=0, due_at=0 WHERE id=? AND attempts>=?", key, pushAttempts)
			}
		}
		if t.LookAt.Valid {
			tx.exec("UPDATE google_objects SET look_at=? WHERE id=?", t.LookAt.V, key)
		}
		if t.Says != "" {
			tx.exec("UPDATE "+table+" SET outcome=?, outcome_at=? WHERE id=?", t.Says, tx.Now, key)
		}
	}
	const row = " WHERE card_id=? AND copy=?"
	if tx.exec("DELETE FROM pushes"+row+` AND changes=?
		AND NOT EXISTS (SELECT 1 FROM `+table+" WHERE card_id=?1 AND (told IS NULL OR attempts>0))", o.Root, o.Copy, o.changes) > 0 {
		return tx.failed
	}
	tx.exec("UPDATE pushes SET due_at=CASE WHEN changes<>? OR EXISTS (SELECT 1 FROM "+table+" WHERE card_id=? AND told IS NULL)"+
		" THEN ? ELSE (SELECT min(due_at) FROM "+table+" WHERE card_id=pushes.card_id AND attempts>0) END"+row,
		o.changes, o.Root, tx.Now, o.Root, o.Copy)
	return tx.failed
}
