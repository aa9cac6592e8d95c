package store

import (
	"cmp"
	"fmt"
	"net/netip"
	"time"
)

// pairingLifetime is how long a pairing can be used.
const pairingLifetime = 10 * time.Minute

// pairingRule is the rule for wrong codes of pairings from one address.
var pairingRule = attemptRule{name: "pairing", max: 10, window: 15 * time.Minute, lock: time.Minute, longest: time.Hour}

// CreatedPairing is a new pairing. Its link, token and code are shown only once. The pairing
// can be used once, by the link or by the code.
type CreatedPairing struct {
	LocationID string `json:"location_id"`
	Name       string `json:"name" doc:"Of the device."`
	ExpiresAt  Time   `json:"expires_at"`
	URL        string `json:"url" doc:"Only the path where the public URL is not known."`
	Token      string `json:"token" doc:"The end of the link."`
	Code       string `json:"code" doc:"Eight characters that a person types."`
}

// WithoutSecret returns the pairing as it may be stored.
func (p CreatedPairing) WithoutSecret() any {
	p.URL, p.Token, p.Code = "", "", ""
	return &p
}

// CreatePairing makes a one-time token and a code by which a phone or tablet becomes the
// device n.
func (tx *Tx) CreatePairing(shop int64, n NewDevice) (p CreatedPairing, err error) {
	at, _, err := tx.location(Access{Shop: shop}, n.LocationID)
	if err != nil {
		return p, err
	}
	p.Token = tx.newSecret("")
	p.Code = alphabet.EncodeToString(tx.random(5)) // eight characters of five bits
	p.LocationID, p.Name, p.ExpiresAt = n.LocationID, n.Name, tx.Now.Add(pairingLifetime)
	p.URL = tx.PublicURLOf(shop) + "/till/pair/" + p.Token
	tx.exec("DELETE FROM pairings WHERE expires_at<=?", tx.Now)
	tx.insert(`INSERT INTO pairings (shop_id, location_id, name, accepts_card_ids, hash, code_hash, created_at, expires_at)
			VALUES (?,?,?,?,?,?,?,?)`, shop, at, n.Name, n.AcceptsCardIDs, Hash(p.Token), tx.s.subjectHash("pairing code", p.Code),
		tx.Now, p.ExpiresAt)
	tx.audit(shop, "device.offer_pairing", KindLocation, at)
	return p, tx.failed
}

// CheckPairing refuses the link of a pairing if its shop has moved. Of another link it does not say whether it is valid.
func (v *View) CheckPairing(token string) error {
	shop := v.number("SELECT ifnull(max(shop_id), 0) FROM pairings WHERE hash=?", Hash(token))
	return cmp.Or(v.closing(shop).Refuse(false), v.failed)
}

// errPairing refuses a pairing that was used, has expired or is unknown.
var errPairing = refuse(LinkExpired, "The pairing was used already, or it has expired. Make a new one in the dashboard.")

// AcceptPairing creates the device of a pairing, which the token of its link or its code
// names, and returns the device's token. Wrong codes lock the address that they come from.
func (tx *Tx) AcceptPairing(token, code string, from netip.Addr) (d Device, deviceToken string, err error) {
	column, hash := "hash", Hash(token)
	var attempts subject
	if token == "" {
		column, hash = "code_hash", tx.s.subjectHash("pairing code", normalizeCode(code))
		attempts = tx.s.addressSubject(pairingRule, "pairing", from)
		if until := tx.lockOf(attempts); until > tx.Now {
			return d, "", tooMany("Too many wrong codes. Try again later, or use the link.", tx.Now, until)
		}
	}
	var key, shop int64
	var n NewDevice
	var ends Time
	found := tx.one(into(&key, &shop, tx.into(KindLocation, &n.LocationID), &n.Name, &n.AcceptsCardIDs, &ends),
		"SELECT id, shop_id, location_id, name, accepts_card_ids, expires_at FROM pairings WHERE "+column+"=?", hash)
	if tx.failed != nil {
		return d, "", tx.failed
	}
	if !found || ends <= tx.Now {
		return d, "", tx.refusePairing(attempts)
	}
	tx.requireOpen(shop)
	tx.exec("DELETE FROM pairings WHERE id=?", key)
	return tx.CreateDevice(shop, n)
}

// refusePairing refuses a pairing that is unknown or has ended, and counts a wrong code for its
// address.
func (tx *Tx) refusePairing(attempts subject) error {
	if attempts.hash == nil {
		return errPairing
	}
	if g, locks := tx.count(attempts); locks {
		tx.audit(0, "device.pairing_lock", KindDevice, 0, fmt.Sprintf(`{"seconds":%d}`, int(g.until.Std().Sub(tx.Now.Std()).Seconds())))
	}
	return &CommittedRefusal{errPairing}
}
