package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"time"
)

// attemptRule says how wrong passwords and codes lock what they are counted for.
type attemptRule struct {
	name    string // in audit rows
	max     int    // failures within the window that lock
	window  time.Duration
	lock    time.Duration // the first one; each further one lasts twice as long
	longest time.Duration
	// slows says that the lock counts the failures on: while there are that many in
	// the window, each further one locks again.
	slows bool
}

// The rules. The failures of a browser in which the person has signed in before are counted
// for that browser alone, so that nobody else can lock it. Those of all other browsers are
// counted for the account and for the address over all accounts. The lock of an account ends
// after a while whatever comes, so that nobody can keep a person out for good.
var (
	browserRule = attemptRule{name: "browser", max: 5, window: 15 * time.Minute, lock: time.Minute, longest: time.Hour}
	accountRule = attemptRule{
		name:    "account",
		max:     10,
		window:  15 * time.Minute,
		lock:    30 * time.Second,
		longest: 30 * time.Second,
		slows:   true,
	}
	addressRule = attemptRule{name: "address", max: 20, window: 15 * time.Minute, lock: time.Minute, longest: time.Hour}
)

// unknownAddresses is how many times as much a rule for an address allows to all clients
// together whose address is not known.
const unknownAddresses = 5

// lockMemory is how long after the end of a lock the next one is longer.
const lockMemory = 24 * time.Hour

// failedAttempts are the failures that are counted for one subject.
type failedAttempts struct {
	failed []Time // within the window, oldest first
	locks  int    // since the last one was forgotten
	until  Time   // end of the lock; 0: there was none
}

// add counts a failure and reports whether it locks.
func (g failedAttempts) add(rule attemptRule, now Time) (next failedAttempts, locks bool) {
	if g.until != 0 && g.until.Add(lockMemory) <= now {
		g.locks, g.until = 0, 0
	}
	for _, at := range g.failed {
		if at.Add(rule.window) > now {
			next.failed = append(next.failed, at)
		}
	}
	next.failed = append(next.failed, now)
	next.locks, next.until = g.locks, g.until
	if len(next.failed) < rule.max {
		return next, false
	}
	length := rule.lock
	for range next.locks {
		length = min(2*length, rule.longest)
	}
	next.locks++
	next.until = now.Add(length)
	if rule.slows {
		next.failed = next.failed[len(next.failed)-rule.max:]
	} else {
		next.failed = nil
	}
	return next, true
}

// end returns when the failures are forgotten.
func (g failedAttempts) end(rule attemptRule) (end Time) {
	if n := len(g.failed); n > 0 {
		end = g.failed[n-1].Add(rule.window)
	}
	if g.until != 0 {
		end = max(end, g.until.Add(lockMemory))
	}
	return end
}

// subject is what a rule counts failures for.
type subject struct {
	rule attemptRule
	hash []byte
}

// subjects returns what the failures of a browser at an account are counted for, that of
// the account first.
func (q *queries) subjects(email string, b Browser) []subject {
	if sub, known := q.knownBrowser(email, b); known {
		return []subject{sub}
	}
	return []subject{{accountRule, q.s.subjectHash("account", foldCase(email))}, q.s.addressSubject(addressRule, "address", b.Address)}
}

// addressSubject returns what a rule counts for an address. All clients whose address is
// not known, since they came through a proxy that is not trusted or seem to, share one
// subject: no header of a request turns a limit off.
func (s *Store) addressSubject(rule attemptRule, kind string, at netip.Addr) subject {
	if !at.IsValid() {
		rule.name, rule.max = "unknown_"+rule.name, unknownAddresses*rule.max
		return subject{rule, s.subjectHash(kind, "unknown")}
	}
	return subject{rule, s.subjectHash(kind, networkOf(at))}
}

// networkOf returns the address, or for IPv6 the network of 64 bits, all addresses of
// which usually belong to one customer.
func networkOf(at netip.Addr) string {
	at = at.Unmap().WithZone("")
	if at.Is6() {
		return netip.PrefixFrom(at, 64).Masked().String()
	}
	return at.String()
}

// subjectHash returns a hash that depends on the file's id secret, so that the table
// shows neither emails nor addresses.
func (s *Store) subjectHash(kind, text string) []byte {
	return s.mac("sign-in failure\x00" + kind + "\x00" + text)
}

// macLen is the length of keyed hashes in bytes.
const macLen = 16

// mac returns a keyed hash of a text.
func (g IDs) mac(text string) []byte {
	h := hmac.New(sha256.New, g.hashKey())
	h.Write([]byte(text))
	return h.Sum(nil)[:macLen]
}

// hashKey returns the key of hashes that only this file can compute.
func (g IDs) hashKey() []byte {
	var key [16]byte
	g.block.Encrypt(key[:], key[:]) // no id is made of a block of zeros
	return key[:]
}

// attemptLock returns an error if failures have locked the account, the address or, if it is
// known, the browser alone.
func (q *queries) attemptLock(email string, b Browser) error {
	if until := q.lockOf(q.subjects(email, b)...); until > q.Now {
		return tooMany("Too many wrong passwords or codes. Try again later.", q.Now, until)
	}
	return q.failed
}

// countAttempt counts a failed attempt for all that it is counted for, and audits it and the
// locks that it causes. user is 0 if there is no such account.
func (tx *Tx) countAttempt(user int64, email string, b Browser) error {
	subjects := tx.subjects(email, b)
	shop := int64(0)
	if user != 0 {
		shop = tx.firstShop(user)
	}
	for i, sub := range subjects {
		g, locks := tx.count(sub)
		switch {
		case locks:
			detail := fmt.Sprintf(`{"rule":%q,"seconds":%d}`, sub.rule.name, int(g.until.Std().Sub(tx.Now.Std()).Seconds()))
			tx.auditSubject(sub, shop, "user.lock", KindUser, user, detail)
		case i == 0 && user != 0:
			tx.auditSubject(sub, shop, "user.sign_in_failed", KindUser, user, "")
		}
	}
	return tx.failed
}

// auditSubject inserts an audit row about what was counted for a subject, at most one in a
// minute. A lock, which alone has a detail, replaces what the row of the same minute says.
func (tx *Tx) auditSubject(sub subject, shop int64, action string, kind Kind, target int64, detail string) {
	minute := tx.Now - tx.Now%Time(time.Minute.Milliseconds())
	row := tx.number("SELECT a.id FROM sign_in_failures f JOIN audit a ON a.id=f.audit_id WHERE f.subject=? AND a.created_at>=?",
		sub.hash, minute)
	switch {
	case row == 0:
		tx.insertAudit(shop, action, kind, target, detail)
		tx.exec("UPDATE sign_in_failures SET audit_id=(SELECT max(id) FROM audit) WHERE subject=?", sub.hash)
	case detail != "":
		tx.exec("UPDATE audit SET action=?, detail=? WHERE id=?", action, detail, row)
	}
}

// count counts a failure for one subject and reports whether it locks.
func (tx *Tx) count(sub subject) (g failedAttempts, locks bool) {
	tx.one(func(r *rows) {
		var failed []int64
		r.json(&failed)
		for _, at := range failed {
			g.failed = append(g.failed, Time(at))
		}
		g.locks, g.until = int(r.int()), r.time()
	}, "SELECT failed_at, locks, locked_until FROM sign_in_failures WHERE subject=?", sub.hash)
	g, locks = g.add(sub.rule, tx.Now)
	tx.exec(`INSERT INTO sign_in_failures (subject, failed_at, locks, locked_until, ends_at) VALUES (?,?,?,?,?)
		ON CONFLICT (subject) DO UPDATE SET failed_at=excluded.failed_at, locks=excluded.locks, locked_until=excluded.locked_until,
		ends_at=excluded.ends_at`,
		sub.hash, jsonTimes(g.failed), g.locks, g.until, g.end(sub.rule))
	return g, locks
}

// countAll counts a request for some subjects, unless one of them is locked, and returns
// the end of the lock, 0 if there is none.
func (tx *Tx) countAll(subjects ...subject) (until Time) {
	if until = tx.lockOf(subjects...); until > tx.Now {
		return until
	}
	for _, sub := range subjects {
		tx.count(sub)
	}
	return 0
}

// lockOf returns the end of the last lock of some subjects, 0 if there was none.
func (q *queries) lockOf(subjects ...subject) (until Time) {
	for _, sub := range subjects {
		until = max(until, Time(q.number("SELECT locked_until FROM sign_in_failures WHERE subject=?", sub.hash)))
	}
	return until
}

// jsonTimes returns times as a JSON array of numbers.
func jsonTimes(times []Time) string {
	keys := make([]int64, len(times))
	for i, t := range times {
		keys[i] = int64(t)
	}
	return jsonKeys(keys)
}

// forgetFailures forgets the failures of a known browser, after a success. Those of others
// stay: a person who signs in must not help an attack on the account.
func (tx *Tx) forgetFailures(email string, b Browser) error {
	if sub, known := tx.knownBrowser(email, b); known {
		tx.exec("DELETE FROM sign_in_failures WHERE subject=?", sub.hash)
	}
	return tx.failed
}
