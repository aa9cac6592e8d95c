package store

import (
	"bytes"
	"fmt"
	"time"
)

// AppleWallet is what signs the passes of a shop for Apple Wallet.
type AppleWallet struct {
	PassType     string // such as pass.com.example.card
	Team         string
	Organization string
	Certificate  []byte       // DER
	Key          []byte       // of the certificate: PKCS #8
	NotAfter     Time         // when the certificate ends
	Request      AppleRequest // that waits
}

// AppleRequest is a certificate request that waits for its certificate.
type AppleRequest struct {
	DER []byte
	Key []byte // PKCS #8
	At  Time   // 0: none waits
}

// IsSet reports whether there is a certificate.
func (w AppleWallet) IsSet() bool { return w.PassType != "" }

// Ended reports whether the certificate has ended: phones refuse what is signed with it.
func (w AppleWallet) Ended(at Time) bool { return w.NotAfter < at }

// AppleWallet returns the certificate of a shop that is in use, also if it has ended, and the request that waits.
func (q *queries) AppleWallet(shop int64) (w AppleWallet) {
	q.one(into(&w.PassType, &w.Team, &w.Organization, &w.Certificate, &w.Key, &w.NotAfter, &w.Request.DER, &w.Request.Key, &w.Request.At),
		`SELECT pass_type, team, organization, certificate_der, private_key, ifnull(not_after, 0), request_der, request_key,
		ifnull(requested_at, 0) FROM apple_wallets WHERE shop_id=?`, shop)
	return w
}

// RequestAppleCertificate stores a new certificate request of a shop and returns the one that waits then: an earlier one stays, since
// Apple may have made a certificate of it. A certificate in use stays in use.
func (tx *Tx) RequestAppleCertificate(shop int64, r AppleRequest) (AppleRequest, error) {
	if w := tx.AppleWallet(shop); w.Request.At > 0 {
		return w.Request, nil
	}
	r.At = tx.Now
	tx.exec(`INSERT INTO apple_wallets (shop_id, request_der, request_key, requested_at) VALUES (?1,?2,?3,?4)
		ON CONFLICT DO UPDATE SET request_der=?2, request_key=?3, requested_at=?4`, shop, r.DER, r.Key, r.At)
	tx.audit(shop, "wallet.apple_request", KindShop, shop, "")
	return r, tx.failed
}

// SetAppleCertificate replaces the certificate of a shop. Passes keep the pass type that they were made with, so the new certificate must
// be for the same one. The request that waits ends if it has the same key.
func (tx *Tx) SetAppleCertificate(shop int64, w AppleWallet) (AppleStatus, error) {
	old := tx.AppleWallet(shop)
	switch {
	case bytes.Equal(old.Certificate, w.Certificate):
		return tx.AppleStatus(shop)
	case old.IsSet() && (old.PassType != w.PassType || old.Team != w.Team):
		return AppleStatus{}, InvalidField("certificate", "invalid_value", "is for the pass type "+w.PassType+" of the team "+w.Team+
			": passes on phones need one for "+old.PassType+" of the team "+old.Team)
	}
	tx.exec(`INSERT INTO apple_wallets (shop_id, pass_type, team, organization, certificate_der, private_key, not_after, set_at)
		VALUES (?1,?2,?3,?4,?5,?6,?7,?8) ON CONFLICT DO UPDATE SET pass_type=?2, team=?3, organization=?4, certificate_der=?5,
		private_key=?6, not_after=?7, set_at=?8`, shop, w.PassType, w.Team, w.Organization, w.Certificate, w.Key, w.NotAfter, tx.Now)
	tx.exec("UPDATE apple_wallets SET request_der=NULL, request_key=NULL, requested_at=NULL WHERE shop_id=? AND request_key=?", shop, w.Key)
	tx.audit(shop, "wallet.apple_certificate", KindShop, shop, jsonText(map[string]any{"pass_type": w.PassType, "ends_at": w.NotAfter}))
	return tx.AppleStatus(shop)
}

// RemoveFields are the fields of RemoveAppleWallet and RemoveGoogleWallet.
type RemoveFields struct {
	Yes Opt[bool] `json:"yes" doc:"Remove it although passes are on phones."`
}

// check refuses to leave a number of passes behind that are on phones, unless that is meant.
func (f RemoveFields) check(passes int64) error {
	if passes > 0 && !f.Yes.V {
		return InvalidField("yes", "required", fmt.Sprintf("is required: nothing would bring the passes on phones up to date (%d)", passes))
	}
	return nil
}

// RemoveAppleWallet removes the certificate and the request of a shop, with their keys. While passes are on phones, f must say so.
func (tx *Tx) RemoveAppleWallet(shop int64, f RemoveFields) (AppleStatus, error) {
	if err := f.check(tx.passesOnPhones(shop)); err != nil {
		return AppleStatus{}, err
	}
	if tx.exec("DELETE FROM apple_wallets WHERE shop_id=?", shop) > 0 {
		tx.audit(shop, "wallet.apple_remove", KindShop, shop, "")
	}
	return tx.AppleStatus(shop)
}

// appleWarning is how long before its end a shop is warned of a certificate's end.
const appleWarning = 30 * 24 * time.Hour

// The states of AppleStatus.
const (
	AppleOff     = "off"     // there is no certificate
	AppleRunning = "running" // the certificate is valid for longer than 30 days
	AppleEnding  = "ending"
	AppleEnded   = "ended"
)

// AppleStatus is how far a shop has set up Apple Wallet.
type AppleStatus struct {
	State        string       `json:"state" enum:"off,running,ending,ended" doc:"Of the certificate: ending in the 30 days before its end."`
	PassType     Null[string] `json:"pass_type"`
	Team         Null[string] `json:"team"`
	Organization Null[string] `json:"organization"`
	EndsAt       Null[Time]   `json:"ends_at" doc:"When the certificate ends."`
	DaysLeft     Null[int64]  `json:"days_left" doc:"Whole days until then; 0 after it."`
	RequestedAt  Null[Time]   `json:"requested_at" doc:"When the request was made that waits for its certificate; null: none waits."`
	Passes       int64        `json:"passes_on_phones" doc:"Counted to 100,000."`
	PublicURL    string       `json:"public_url" doc:"What the URLs in passes begin with. A phone keeps them for ever."`
}

// AppleStatus returns how far a shop has set up Apple Wallet.
func (q *queries) AppleStatus(shop int64) (AppleStatus, error) {
	s := AppleStatus{State: AppleOff, PublicURL: q.PublicURLOf(shop), Passes: q.passesOnPhones(shop)}
	q.one(into(&s.PassType, &s.Team, &s.Organization, &s.EndsAt, &s.RequestedAt),
		"SELECT pass_type, team, organization, not_after, requested_at FROM apple_wallets WHERE shop_id=?", shop)
	if left := s.EndsAt.V.Std().Sub(q.Now.Std()); s.EndsAt.Valid {
		s.State, s.DaysLeft = AppleRunning, Some(max(0, int64(left/(24*time.Hour))))
		switch {
		case left < 0:
			s.State = AppleEnded
		case left <= appleWarning:
			s.State = AppleEnding
		}
	}
	return s, q.failed
}

// passesOnPhones returns the number of passes of a shop that are on a phone, at most maxTotalVisits.
func (q *queries) passesOnPhones(shop int64) int64 {
	return q.number(`SELECT count(*) FROM (SELECT 1 FROM programs p JOIN apple_passes x ON x.program_id=p.id
		WHERE p.shop_id=? AND x.delete_at IS NULL LIMIT ?)`, shop, maxTotalVisits)
}

// AppleEnd is a shop whose certificate for Apple Wallet ends soon, or has ended.
type AppleEnd struct {
	Shop   string `json:"shop" doc:"Its name."`
	EndsAt Time   `json:"ends_at"`
}

// AppleEnds returns the shops whose certificates for Apple Wallet have ended or end within 30 days, at most 100.
func (v *View) AppleEnds() ([]AppleEnd, error) {
	return collect(v, func(r *rows) AppleEnd { return AppleEnd{r.str(), r.time()} }, `SELECT s.name, w.not_after FROM apple_wallets w
		JOIN shops s ON s.id=w.shop_id WHERE w.not_after<=? AND s.closed IS NULL ORDER BY w.not_after LIMIT 100`,
		v.Now.Add(appleWarning)), v.failed
}
