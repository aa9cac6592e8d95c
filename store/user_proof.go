package store

// Credentials are what is needed to check the password of an account before the write
// that depends on it.
type Credentials struct {
	User     int64 // 0: there is no such account
	Email    string
	Password string // argon2id in PHC form; empty: no password is right
	Browser  Browser
}

// errCredentials refuses a wrong password, and an account that there is not, alike.
var errCredentials = refuse(InvalidCredentials, "The email or the password is wrong.")

// errCode refuses a wrong code of the second factor.
var errCode = refuse(TOTPInvalid, "The code is wrong, or was used already.")

// SignInCredentials returns the credentials of the account with an email, for a try in
// a browser. It refuses the try if wrong ones have locked it; see subjects.
// The result for an email without an account looks the same to the caller.
func (v *View) SignInCredentials(email string, b Browser) (c Credentials, err error) {
	c = Credentials{Email: email, Browser: b}
	if err := v.attemptLock(email, b); err != nil {
		return c, err
	}
	v.one(into(&c.User, &c.Password),
		"SELECT id, iif(disabled_at IS NULL, password, '') FROM users WHERE email_key=?", foldCase(email))
	return c, v.failed
}

// UserCredentials does the same for a person who is signed in.
func (v *View) UserCredentials(user int64, b Browser) (c Credentials, err error) {
	u, err := v.user(user)
	if err != nil {
		return c, err
	}
	return v.SignInCredentials(u.Email, b)
}

// CheckPassword returns an error unless the password was right, and is still that of the
// account. It counts a wrong one. If the account is locked meanwhile, it refuses the
// right one too, so that no number of concurrent tries learns more than the rules allow.
// totp reports whether there is a second factor.
func (tx *Tx) CheckPassword(c Credentials, right bool) (totp bool, err error) {
	if err := tx.attemptLock(c.Email, c.Browser); err != nil {
		return false, err
	}
	if right &&
		tx.one(into(&totp), "SELECT totp_secret IS NOT NULL FROM users WHERE id=? AND password=? AND disabled_at IS NULL", c.User,
			c.Password) {
		return totp, tx.failed
	}
	if err := tx.countAttempt(c.User, c.Email, c.Browser); err != nil {
		return false, err
	}
	return false, &CommittedRefusal{errCredentials}
}

// CheckCode returns an error unless a code is one of the person's second factor or a
// recovery code, and uses it up. It counts a wrong one.
func (tx *Tx) CheckCode(user int64, b Browser, code string) error {
	u, err := tx.user(user)
	if err != nil {
		return err
	}
	if err := tx.attemptLock(u.Email, b); err != nil {
		return err
	}
	if tx.useCode(user, code) {
		return tx.failed
	}
	if err := tx.countAttempt(user, u.Email, b); err != nil {
		return err
	}
	return &CommittedRefusal{errCode}
}

// SignedIn records that the person of an account has proved who they are in a browser.
func (tx *Tx) SignedIn(user int64, b Browser) error {
	u, err := tx.user(user)
	if err != nil {
		return err
	}
	return tx.forgetFailures(u.Email, b)
}

// SetPassword sets a person's password, which is hashed, and ends all sessions and
// one-time links of the person.
func (tx *Tx) SetPassword(user int64, hash, action string) error {
	tx.exec("UPDATE users SET password=?, password_changed_at=?, updated_at=? WHERE id=?", hash, tx.Now, tx.Now, user)
	tx.exec("DELETE FROM links WHERE user_id=?", user)
	tx.endOtherSessions(user, 0)
	tx.auditUser(action, user)
	return tx.failed
}
