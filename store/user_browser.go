package store

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Browser is the browser of somebody who tries to sign in or asks for a link.
type Browser struct {
	Address netip.Addr // zero: not known, as behind a proxy that is not trusted
	Cookie  string     // see KnowBrowser; empty: it has none
}

// BrowserLifetime is how long a browser is known after a sign-in.
const BrowserLifetime = 400 * 24 * time.Hour

const (
	// maxBrowserMarks is the number of accounts by which one browser is known.
	maxBrowserMarks = 5
	// markTime and markNonce are the lengths of the parts of a mark, in bytes.
	markTime  = 8
	markNonce = 8
)

// KnowBrowser returns the cookie by which a browser is known after a person has signed in
// in it. cookie is the one that it has. The cookie is a list of marks, one for each
// account, the newest first. A mark is the person's id, the time and a nonce, with a MAC
// that also depends on the time of the last change of the password, so that such a change
// ends it. It gives the browser's failures a bucket of their own (see subjects) and
// admits to nothing.
func (tx *Tx) KnowBrowser(user int64, cookie string) (string, error) {
	raw := binary.BigEndian.AppendUint64(nil, uint64(tx.Now))
	raw = append(raw, tx.random(markNonce)...)
	var changed Time
	tx.one(into(&changed), "SELECT password_changed_at FROM users WHERE id=?", user)
	account := tx.s.markOf(user)
	marks := []string{account + base64.RawURLEncoding.EncodeToString(append(raw, tx.s.markMAC(user, changed, raw)...))}
	for _, mark := range splitMarks(cookie) {
		if isMark(mark) && !strings.HasPrefix(mark, account) && len(marks) < maxBrowserMarks {
			marks = append(marks, mark)
		}
	}
	return strings.Join(marks, "."), tx.failed
}

// splitMarks returns the marks of a cookie.
func splitMarks(cookie string) []string {
	marks := strings.SplitN(cookie, ".", maxBrowserMarks+1)
	return marks[:min(len(marks), maxBrowserMarks)]
}

// isMark reports whether a text has the length and the characters of a mark.
func isMark(text string) bool {
	return len(text) > blockLen && readMark(text[blockLen:]) != nil
}

// readMark returns the time, the nonce and the MAC of a mark without its account; nil if
// it has another form.
func readMark(text string) []byte {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != markTime+markNonce+macLen {
		return nil
	}
	return raw
}

// markOf returns the beginning of the marks of an account.
func (s *Store) markOf(user int64) string {
	return strings.TrimPrefix(s.ID(KindUser, user), prefixes[KindUser])
}

// markMAC returns the MAC of the time and the nonce of a mark.
func (s *Store) markMAC(user int64, changed Time, raw []byte) []byte {
	return s.subjectHash("browser mark", fmt.Sprintf("%d\x00%d\x00%s", user, changed, raw))
}

// knownBrowser returns the subject for the failures of a browser in which the account with
// an email has signed in before, and whether it is such a browser.
func (q *queries) knownBrowser(email string, b Browser) (sub subject, known bool) {
	if b.Cookie == "" {
		return sub, false
	}
	var user int64
	var changed Time
	if !q.one(into(&user, &changed), "SELECT id, password_changed_at FROM users WHERE email_key=?", foldCase(email)) {
		return sub, false
	}
	for _, mark := range splitMarks(b.Cookie) {
		text, ours := strings.CutPrefix(mark, q.s.markOf(user))
		raw := readMark(text)
		if !ours || raw == nil {
			continue
		}
		signed, mac := raw[:markTime+markNonce], raw[markTime+markNonce:]
		if !hmac.Equal(mac, q.s.markMAC(user, changed, signed)) {
			continue
		}
		if Time(binary.BigEndian.Uint64(signed)).Add(BrowserLifetime) > q.Now {
			return subject{browserRule, q.s.subjectHash("browser", string(signed))}, true
		}
	}
	return sub, false
}
