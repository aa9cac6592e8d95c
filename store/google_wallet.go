package store

import "time"

// GoogleWallet is what makes the objects of a shop at Google Wallet.
type GoogleWallet struct {
	Issuer  string // id of the issuer, digits
	Account []byte // file of the service account, with its private key; empty: it was removed
	Email   string // of the service account
	// Publishing says that Google has granted access: anybody can add cards, not the issuer's testers alone.
	Publishing bool
}

// GoogleWallet returns what a shop has set up.
func (q *queries) GoogleWallet(shop int64) (w GoogleWallet) {
	q.one(into(&w.Issuer, &w.Account, &w.Email, &w.Publishing),
		"SELECT issuer_id, account, client_email, publishing FROM google_wallets WHERE shop_id=?", shop)
	return w
}

// IsSet reports whether there is an account.
func (w GoogleWallet) IsSet() bool { return len(w.Account) > 0 }

// SetGoogleWallet stores what a shop has set up, and queues the cards that Google knows. They keep the issuer that they were made
// with, so it cannot change once there are some.
func (tx *Tx) SetGoogleWallet(shop int64, w GoogleWallet) (GoogleStatus, error) {
	old := tx.GoogleWallet(shop)
	if old.Issuer != w.Issuer && tx.number("SELECT EXISTS (SELECT 1 FROM google_objects WHERE shop_id=?)", shop) > 0 {
		return GoogleStatus{}, InvalidField("issuer_id", "invalid_value",
			"must stay "+old.Issuer+": cards on phones belong to that issuer")
	}
	tx.exec(`INSERT INTO google_wallets (shop_id, issuer_id, account, client_email, publishing, set_at) VALUES (?1,?2,?3,?4,?5,?6)
		ON CONFLICT DO UPDATE SET issuer_id=?2, account=?3, client_email=?4, publishing=?5, set_at=?6`,
		shop, w.Issuer, w.Account, w.Email, w.Publishing, tx.Now)
	tx.exec("UPDATE google_classes SET told='' WHERE shop_id=?", shop)
	tx.shopChanged(shop)
	tx.audit(shop, "wallet.google_set", KindShop, shop,
		jsonText(map[string]any{"issuer_id": w.Issuer, "client_email": w.Email, "publishing": w.Publishing}))
	return tx.GoogleStatus(shop)
}

// RemoveGoogleWallet removes the account of a shop with its key. The issuer stays, since cards on phones belong to it. While there are such
// cards, f must say so.
func (tx *Tx) RemoveGoogleWallet(shop int64, f RemoveFields) (GoogleStatus, error) {
	if err := f.check(tx.googleCards(shop)); err != nil {
		return GoogleStatus{}, err
	}
	if tx.exec("UPDATE google_wallets SET account=x'', client_email='', publishing=0 WHERE shop_id=? AND account<>x''", shop) > 0 {
		tx.audit(shop, "wallet.google_remove", KindShop, shop, "")
	}
	return tx.GoogleStatus(shop)
}

// The states of GoogleStatus.
const (
	GoogleOff     = "off"     // there is no account
	GoogleDemo    = "demo"    // Google has not granted publishing access
	GoogleRunning = "running" // anybody can add cards
)

// GoogleStatus is how far a shop has set up Google Wallet.
type GoogleStatus struct {
	State       string       `json:"state" enum:"off,demo,running" doc:"In demo, only the issuer's testers can add cards, until Google has granted publishing access."`
	IssuerID    Null[string] `json:"issuer_id" doc:"It stays when Google Wallet is switched off, since cards on phones belong to it."`
	ClientEmail Null[string] `json:"client_email" doc:"Of the service account."`
	SetAt       Null[Time]   `json:"set_at"`
	Cards       int64        `json:"cards" doc:"Cards that are on phones, as far as Google reports."`
	PublicURL   string       `json:"public_url" doc:"Where Google loads logos and reports what holders do."`
}

// GoogleStatus returns how far a shop has set up Google Wallet.
func (q *queries) GoogleStatus(shop int64) (GoogleStatus, error) {
	s := GoogleStatus{State: GoogleOff, PublicURL: q.PublicURLOf(shop), Cards: q.googleCards(shop)}
	q.one(into(&s.State, &s.IssuerID, &s.ClientEmail, &s.SetAt), `SELECT iif(account=x'', 'off', iif(publishing, 'running', 'demo')),
		issuer_id, client_email, set_at FROM google_wallets WHERE shop_id=?`, shop)
	return s, q.failed
}

// googleCards returns how many cards of a shop are on phones, as far as Google reports.
func (q *queries) googleCards(shop int64) int64 {
	return q.number("SELECT count(*) FROM google_objects WHERE shop_id=? AND saved>0", shop)
}

// googleInterval is the time between two requests for an issuer, of which Google takes 20 a second.
const googleInterval = 52 * time.Millisecond

// ClaimGoogleCall returns when the next request for an issuer may be made. It claims that time, unless it is later than until. All
// processes of the file share the rate of an issuer. Times are those of the real clock, which Google has too.
func (tx *Tx) ClaimGoogleCall(issuer string, now, until time.Time) (time.Time, error) {
	at := max(now.UnixMilli(), tx.number("SELECT ifnull(max(next_call), 0) FROM google_wallets WHERE issuer_id=?", issuer))
	if at > until.UnixMilli() {
		return time.UnixMilli(at), tx.failed
	}
	tx.exec("UPDATE google_wallets SET next_call=? WHERE issuer_id=?", at+googleInterval.Milliseconds(), issuer)
	return time.UnixMilli(at), tx.failed
}

// HoldGoogleCalls notes that Google takes no request for an issuer before a time.
func (tx *Tx) HoldGoogleCalls(issuer string, until time.Time) error {
	tx.exec("UPDATE google_wallets SET next_call=max(next_call, ?) WHERE issuer_id=?", until.UnixMilli(), issuer)
	return tx.failed
}

// GoogleSample returns the first program of a shop that is published, of which the set-up makes the class.
func (v *View) GoogleSample(shop int64) (p Pass, err error) {
	v.snapshot()
	program := v.number("SELECT ifnull(min(id), 0) FROM programs WHERE shop_id=? AND published_at IS NOT NULL AND deleted_at IS NULL", shop)
	if program == 0 && v.failed == nil {
		return p, refuse(Unprocessable, "Publish a program first: the set-up is checked with it.")
	}
	p.HolderCard, p.PublicURL = v.programCard(shop, program), v.PublicURLOf(shop)
	return p, v.failed
}
