package store

import "time"

// errNoGoogle refuses a card of a shop without Google Wallet.
var errNoGoogle = refuse(NotFound, "The shop has not set up Google Wallet.")

// GoogleAddition is what adds the card of a page to Google Wallet.
type GoogleAddition struct {
	Google GoogleWallet // of the shop
	Object string       // id of the object
	Made   bool         // Google knows it
	Push   Push         // that makes it, once MissingGoogleObject has queued that

	shop, generation int64
}

// GoogleAddition returns what adds the card of a page to Google Wallet. The card must not have ended.
func (v *View) GoogleAddition(token string) (a GoogleAddition, err error) {
	v.snapshot()
	shop, root, err := v.livePage(token)
	if err != nil {
		return a, err
	}
	if a.Google = v.GoogleWallet(shop); !a.Google.IsSet() {
		return a, errNoGoogle
	}
	a.shop, a.generation = shop, v.number("SELECT code_generation FROM cards WHERE id=?", root)
	a.Object = GoogleID(a.Google.Issuer, v.passSerial(root, a.generation))
	a.Made = v.number("SELECT count(*) FROM google_objects WHERE card_id=? AND generation=? AND told<>''", root, a.generation) > 0
	a.Push = Push{Root: root, Copy: CopyGoogle}
	v.one(into(&a.Push.changes), "SELECT changes FROM pushes WHERE card_id=? AND copy=?", root, CopyGoogle)
	return a, v.failed
}

// MissingGoogleObject returns the function that queues the object of the card of a page to be made. It is nil if Google knows the object.
// Its row is there before Google is told, so that an erasure finds the object however the server ends. Google deletes no object, so the
// row lives until Google knows that the card has ended, also if it did before the function is called.
func (v *View) MissingGoogleObject(token string) (func(*Tx) error, error) {
	a, err := v.GoogleAddition(token)
	if a.Made || err != nil {
		return nil, err
	}
	return func(tx *Tx) error {
		tx.requireOpen(a.shop)
		tx.exec(`INSERT INTO google_objects (card_id, shop_id, program_id, generation, told) SELECT id, shop_id, program_id, ?2, ''
			FROM cards WHERE id=?1 ON CONFLICT DO UPDATE SET attempts=0, due_at=0`, a.Push.Root, a.generation)
		tx.shortCode(a.shop, a.Push.Root)
		tx.noteCopies(a.Push.Root)
		tx.queuePushes(a.Push.Root, CopyGoogle)
		return tx.failed
	}, nil
}

// GoogleID returns the id of an object or a class of an issuer.
func GoogleID(issuer, name string) string { return issuer + "." + name }

// RecordGoogleClass notes what Google shows of the program of a card; empty: Google may not know it.
func (tx *Tx) RecordGoogleClass(root int64, told string) error {
	tx.exec(`INSERT INTO google_classes (program_id, shop_id, told) SELECT program_id, shop_id, ?2 FROM cards WHERE id=?1
		ON CONFLICT DO UPDATE SET told=excluded.told`, root, told)
	return tx.failed
}

// HasGoogleIssuer reports whether a shop has, or had, set up an issuer.
func (v *View) HasGoogleIssuer(issuer string) (bool, error) {
	return v.number("SELECT EXISTS (SELECT 1 FROM google_wallets WHERE issuer_id=?)", issuer) > 0, v.failed
}

// GoogleEvent is what the holder of an object did with it, as a verified callback says.
type GoogleEvent struct {
	Issuer, Name string // of the object
	Saved        bool   // false: it was removed from a phone
	Nonce        string
	Expires      time.Time // when the callback cannot be sent again
}

// NoteGoogleEvent counts the phones that have an object. A callback that was noted before, and one about an object that is
// not known, changes nothing.
func (tx *Tx) NoteGoogleEvent(e GoogleEvent) error {
	generation, root, ok := tx.s.openAny(kindPass, e.Name)
	if !ok {
		return nil
	}
	var key, shop int64
	if !tx.one(into(&key, &shop), `SELECT o.id, o.shop_id FROM google_objects o JOIN google_wallets w ON w.shop_id=o.shop_id
		WHERE o.card_id=? AND o.generation=? AND w.issuer_id=?`, root, generation, e.Issuer) {
		return tx.failed
	}
	tx.exec("DELETE FROM google_nonces WHERE delete_at<=?", tx.Now)
	if tx.exec("INSERT OR IGNORE INTO google_nonces (nonce, shop_id, delete_at) VALUES (?,?,?)", e.Nonce, shop,
		max(TimeOf(e.Expires), tx.Now)) == 0 {
		return tx.failed
	}
	tx.exec("UPDATE google_objects SET saved=max(0, saved+iif(?, 1, -1)) WHERE id=?", e.Saved, key)
	return tx.failed
}

// ForgetGoogle notes that Google knows nothing of the file any more, as the stand-in of a fixture after a start. Objects are made again
// when their cards change or are added.
func (tx *Tx) ForgetGoogle() error {
	tx.exec("UPDATE google_objects SET told='', saved=0")
	tx.exec("UPDATE google_classes SET told=''")
	return tx.failed
}
