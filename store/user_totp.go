package store

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// The second factor is TOTP as of RFC 6238, with the parameters that every
// authenticator supports.
const (
	totpStep   = 30 * time.Second
	totpDigits = 6
	totpBytes  = 20 // of the secret
	totpDrift  = 1  // steps by which a clock may be off
	// recoveryCodes is how many there are, and recoveryChars how long each is.
	recoveryCodes = 10
	recoveryChars = 12
)

// totpCode returns the code of a time step.
func totpCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	binary.Write(mac, binary.BigEndian, step)
	sum := mac.Sum(nil)
	n := binary.BigEndian.Uint32(sum[sum[len(sum)-1]&0xf:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, n%1_000_000)
}

// matchTOTP returns the time step whose code was given. Codes of the step last and of
// those before it are refused, since they may have been seen.
func matchTOTP(secret []byte, code string, now Time, last int64) (step int64, ok bool) {
	current := now.Std().Unix() / int64(totpStep.Seconds())
	for s := current - totpDrift; s <= current+totpDrift; s++ {
		if s > last && hmac.Equal([]byte(totpCode(secret, s)), []byte(code)) {
			step, ok = s, true
		}
	}
	return step, ok
}

// OfferedTOTP is a second factor that is set up.
type OfferedTOTP struct {
	Secret string `json:"secret" doc:"In base32, to be typed."`
	URI    string `json:"uri" doc:"For the QR code."`
}

// WithoutSecret returns what may be stored of it, which is nothing.
func (o OfferedTOTP) WithoutSecret() any { return &OfferedTOTP{} }

// issuer is what authenticators show beside the email.
const issuer = "punchcard"

// OfferTOTP makes a new secret, which ConfirmTOTP puts in the place of the old one.
func (tx *Tx) OfferTOTP(user int64) (o OfferedTOTP, err error) {
	u, err := tx.user(user)
	if err != nil {
		return o, err
	}
	secret := tx.random(totpBytes)
	tx.exec("UPDATE users SET totp_offered=? WHERE id=?", secret, user)
	o.Secret = base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)
	o.URI = "otpauth://totp/" + url.PathEscape(issuer+":"+u.Email) + "?" + strings.ReplaceAll(
		url.Values{"secret": {o.Secret}, "issuer": {issuer}}.Encode(), "+", "%20")
	return o, tx.failed
}

// RecoveryCodes are codes that replace the second factor once each. They are shown only
// when they are made.
type RecoveryCodes struct {
	Codes []string `json:"recovery_codes"`
}

// WithoutSecret returns what may be stored of them, which is nothing.
func (c RecoveryCodes) WithoutSecret() any { return &RecoveryCodes{Codes: []string{}} }

// ConfirmTOTP makes the offered secret the second factor if the code is one of it, ends the
// person's sessions but the given one, and returns new recovery codes.
func (tx *Tx) ConfirmTOTP(user, session int64, code string) (c RecoveryCodes, err error) {
	var secret []byte
	tx.one(into(&secret), "SELECT totp_offered FROM users WHERE id=? AND totp_offered IS NOT NULL", user)
	if tx.failed == nil && secret == nil {
		return c, refuse(Conflict, "Begin to set up the second factor first.")
	}
	step, ok := matchTOTP(secret, bareCode(code), tx.Now, 0)
	if !ok {
		return c, refuse(TOTPInvalid, "The code is wrong. Check the clock of the device that shows it.")
	}
	tx.exec("UPDATE users SET totp_secret=totp_offered, totp_offered=NULL, totp_step=?, updated_at=? WHERE id=?", step, tx.Now, user)
	tx.endOtherSessions(user, session)
	tx.auditUser("user.set_up_totp", user)
	return tx.makeRecoveryCodes(user)
}

// RemoveTOTP removes the second factor and its recovery codes, and ends the person's sessions
// but the given one.
func (tx *Tx) RemoveTOTP(user, session int64) error {
	if tx.exec("UPDATE users SET totp_secret=NULL, totp_offered=NULL, totp_step=0, updated_at=? WHERE id=? AND totp_secret IS NOT NULL",
		tx.Now, user) > 0 {
		tx.exec("DELETE FROM recovery_codes WHERE user_id=?", user)
		tx.endOtherSessions(user, session)
		tx.auditUser("user.remove_totp", user)
	}
	return tx.failed
}

// NewRecoveryCodes replaces the recovery codes.
func (tx *Tx) NewRecoveryCodes(user int64) (c RecoveryCodes, err error) {
	if tx.number("SELECT count(*) FROM users WHERE id=? AND totp_secret IS NOT NULL", user) == 0 {
		return c, refuse(Conflict, "There is no second factor.")
	}
	tx.auditUser("user.new_recovery_codes", user)
	return tx.makeRecoveryCodes(user)
}

func (tx *Tx) makeRecoveryCodes(user int64) (c RecoveryCodes, err error) {
	tx.exec("DELETE FROM recovery_codes WHERE user_id=?", user)
	for range recoveryCodes {
		b := tx.random(recoveryChars)
		for i := range b {
			b[i] = codeAlphabet[b[i]%32]
		}
		code := string(b)
		tx.exec("INSERT INTO recovery_codes (user_id, hash) VALUES (?,?)", user, Hash(code))
		c.Codes = append(c.Codes, code[:4]+"-"+code[4:8]+"-"+code[8:])
	}
	return c, tx.failed
}

// CountRecoveryCodes returns how many recovery codes of a person are left.
func (v *View) CountRecoveryCodes(user int64) (int64, error) {
	return v.number("SELECT count(*) FROM recovery_codes WHERE user_id=?", user), v.failed
}

// bareCode returns a code without the blanks and hyphens by which it is grouped.
func bareCode(code string) string {
	return strings.NewReplacer(" ", "", "-", "", "\u00a0", "").Replace(code)
}

// useCode reports whether a code is one of the person's second factor, or a recovery
// code, and uses it up.
func (tx *Tx) useCode(user int64, code string) bool {
	code = bareCode(code)
	if len(code) == recoveryChars {
		if tx.exec("DELETE FROM recovery_codes WHERE user_id=? AND hash=?", user, Hash(normalizeCode(code))) == 0 {
			return false
		}
		tx.auditUser("user.use_recovery_code", user,
			fmt.Sprintf(`{"left":%d}`, tx.number("SELECT count(*) FROM recovery_codes WHERE user_id=?", user)))
		return true
	}
	var secret []byte
	var last int64
	if !tx.one(into(&secret, &last), `SELECT totp_secret, totp_step FROM users WHERE id=?
		AND totp_secret IS NOT NULL`, user) {
		return false
	}
	step, ok := matchTOTP(secret, code, tx.Now, last)
	if ok {
		tx.exec("UPDATE users SET totp_step=? WHERE id=?", step, user)
	}
	return ok
}
