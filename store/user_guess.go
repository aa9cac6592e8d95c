package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"time"
)

// guessRule says how wrong passwords and codes lock what they are counted for.
type guessRule struct {
	name    string // in audit rows
	most    int    // failures within the window that lock
	window  time.Duration
	lock    time.Duration // the first one; each further one lasts twice as long
	longest time.Duration
	// slows says that the lock counts the failures on: while there are that many in
	// the window, each further one locks again.
	slows bool
}

// The rules. Failures are counted for the account at the address, for the address over
// all accounts, and for the account over all addresses. The last one locks only until
// the next try, so that nobody can keep a person out for good.
var (
	pairRule    = guessRule{name: "account_and_address", most: 5, window: 15 * time.Minute, lock: time.Minute, longest: time.Hour}
	addressRule = guessRule{name: "address", most: 20, window: 15 * time.Minute, lock: time.Minute, longest: time.Hour}
	accountRule = guessRule{name: "account", most: 10, window: 15 * time.Minute, lock: 30 * time.Second, longest: 30 * time.Second, slows: true}
)

// lockMemory is how long after the end of a lock the next one is longer.
const lockMemory = 24 * time.Hour

// guesses are the failures that are counted for one subject.
type guesses struct {
	failed []Time // within the window, oldest first
	locks  int    // since the last one was forgotten
	until  Time   // end of the lock; 0: there was none
}

// add counts a failure and reports whether it locks.
func (g guesses) add(rule guessRule, now Time) (next guesses, locks bool) {
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
	if len(next.failed) < rule.most {
		return next, false
	}
	length := rule.lock
	for range next.locks {
		length = min(2*length, rule.longest)
	}
	next.locks++
	next.until = now.Add(length)
	if rule.slows {
		next.failed = next.failed[len(next.failed)-rule.most:]
	} else {
		next.failed = nil
	}
	return next, true
}

// end returns when the failures are forgotten.
func (g guesses) end(rule guessRule) (end Time) {
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
	rule guessRule
	hash []byte
}

// subjects returns what the failures of an account at an address are counted for. An
// address that is not known counts for nothing.
func (s *Store) subjects(email string, at netip.Addr) []subject {
	account := foldCase(email)
	all := []subject{{accountRule, s.subjectHash("account", account)}}
	if at.IsValid() {
		network := networkOf(at)
		all = append(all, subject{pairRule, s.subjectHash("pair", account+"\x00"+network)}, subject{addressRule, s.subjectHash("address", network)})
	}
	return all
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
	h := hmac.New(sha256.New, s.hashKey())
	fmt.Fprintf(h, "sign-in failure\x00%s\x00%s", kind, text)
	return h.Sum(nil)[:16]
}

// hashKey returns the key of hashes that only this file can compute.
func (g IDs) hashKey() []byte {
	var key [16]byte
	g.block.Encrypt(key[:], key[:]) // no id is made of a block of zeros
	return key[:]
}

// guessLock returns an error if wrong guesses have locked the account at the address.
// An address from which the person is signed in is not slowed by the failures at
// others.
func (s *Store) guessLock(c *conn, now Time, email string, at netip.Addr) error {
	var until Time
	for _, sub := range s.subjects(email, at) {
		end, found, err := c.time("SELECT locked_until FROM sign_in_failures WHERE subject=?", sub.hash)
		if err != nil {
			return err
		}
		if !found || end <= now {
			continue
		}
		if sub.rule.slows && at.IsValid() {
			known, err := c.number("SELECT count(*) FROM users u JOIN sessions s ON s.user_id=u.id WHERE u.email_key=? AND s.pending=0 AND s.address=?", foldCase(email), at.String())
			if err != nil {
				return err
			}
			if known > 0 {
				continue
			}
		}
		until = max(until, end)
	}
	if until == 0 {
		return nil
	}
	e := refuse(RateLimited, "Too many wrong passwords or codes. Try again later.")
	e.RetryAfter = until.Std().Sub(now.Std())
	return e
}

// countGuess counts a wrong guess for all that it is counted for, and audits it and the
// locks that it causes. user is 0 if there is no such account.
func (tx *Tx) countGuess(user int64, email string, at netip.Addr) {
	if user != 0 {
		tx.auditUser("user.sign_in_failed", user, "")
	}
	for _, sub := range tx.s.subjects(email, at) {
		g, locks := tx.count(sub)
		if locks {
			detail := fmt.Sprintf(`{"rule":%q,"seconds":%d}`, sub.rule.name, int(g.until.Std().Sub(tx.Now.Std()).Seconds()))
			if user != 0 {
				tx.auditUser("user.lock", user, detail)
			} else {
				tx.audit(0, "user.lock", KindUser, 0, detail)
			}
		}
	}
}

// count counts a failure for one subject and reports whether it locks.
func (tx *Tx) count(sub subject) (g guesses, locks bool) {
	tx.one(func(r *rows) {
		var failed []int64
		r.json(&failed)
		for _, at := range failed {
			g.failed = append(g.failed, Time(at))
		}
		g.locks, g.until = int(r.int()), r.time()
	}, "SELECT "+columns("failed_at", "locks", "locked_until")+" FROM sign_in_failures WHERE subject=?", sub.hash)
	g, locks = g.add(sub.rule, tx.Now)
	tx.exec("INSERT OR REPLACE INTO sign_in_failures (subject, failed_at, locks, locked_until, ends_at) VALUES (?,?,?,?,?)",
		sub.hash, jsonTimes(g.failed), g.locks, g.until, g.end(sub.rule))
	return g, locks
}

// lockOf returns the end of the lock of one subject.
func (tx *Tx) lockOf(sub subject) (until Time) {
	tx.one(func(r *rows) { until = r.time() }, "SELECT locked_until FROM sign_in_failures WHERE subject=?", sub.hash)
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

// forgetGuesses forgets the failures of an account at an address, after a success.
func (tx *Tx) forgetGuesses(email string, at netip.Addr) {
	for _, sub := range tx.s.subjects(email, at) {
		if sub.rule.name == pairRule.name {
			tx.exec("DELETE FROM sign_in_failures WHERE subject=?", sub.hash)
		}
	}
}
