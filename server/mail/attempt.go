package mail

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/mail"
	"strings"
	"time"
	"unicode"

	smtp "github.com/wneessen/go-mail"

	"punchcard/server/mail/mailtext"
	"punchcard/store"
)

// The methods of this file that return a bool report whether the outcome was
// written; if not, the sender is stopping.

// send makes one attempt at a message and writes the outcome.
func (s *Sender) send(m *store.QueuedMail) bool {
	a, err := s.attempt(m)
	if s.Context.Err() != nil && (err != nil || a.result != accepted) {
		return false // Stop closed the connection
	}
	if err != nil {
		s.unreachable(err)
		return true
	}
	if a.panic != nil {
		s.conf.Log.Error("sending a mail failed within", "card", m.CardID, "error", a.panic)
	}
	switch a.result {
	case accepted:
		s.failures, s.refusals = 0, 0
		if !s.write(func(tx *store.Tx) error { return tx.SentMail(m) }) {
			return false
		}
		s.conf.Observe(Sent)
		return true
	case refused:
		if s.refusals >= maxRefusals {
			// A misconfigured server may refuse every message.
			return s.holdAndPause(m, slog.LevelError, "the mail server refuses mail and has taken none of late", a.code)
		}
		s.failures = 0
		s.refusals++
		return s.giveUp(m, "the mail server refuses it", a.code)
	case deferred:
		s.failures = 0
		return s.postpone(m, "the mail server wants it later", a.code, (*store.Tx).DelayMail)
	case serverRefuses, stale:
		level := slog.LevelWarn
		if a.code >= 500 {
			level = slog.LevelError
		}
		return s.holdAndPause(m, level, "the mail server takes no mail of ours", a.code)
	}
	s.pauseServer(slog.LevelWarn, "the connection to the mail server broke", "card", m.CardID)
	switch {
	case a.result == broken:
		// This message may be the reason, so the others are sent first.
		return s.postpone(m, "not sent", 0, (*store.Tx).DelayMail)
	case m.Unsure+1 >= maxUnsure:
		return s.giveUp(m, "it may have arrived each time the connection broke", 0)
	}
	return s.postpone(m, "not known to be sent", 0, (*store.Tx).DelayUnsureMail)
}

// attempt sends a message once, over the open connection or a new one. It returns
// an error if it cannot connect.
func (s *Sender) attempt(m *store.QueuedMail) (a attempt, err error) {
	for {
		reused := s.conn != nil
		if !reused {
			if s.conn, err = s.conf.Server.connect(s.Context); err != nil {
				return a, err
			}
		}
		a = s.conn.send(m, s.conf.From)
		if !a.reusable {
			s.conn.close()
			s.conn = nil
		}
		if a.result != stale || !reused {
			return a, nil
		}
	}
}

// giveUp removes a message from the queue without sending it, and records that in
// the shop's audit log.
func (s *Sender) giveUp(m *store.QueuedMail, reason string, code int) bool {
	if !s.write(func(tx *store.Tx) error { return tx.RejectMail(m, code) }) {
		return false
	}
	s.conf.Log.Warn("mail given up: "+reason, "card", m.CardID, "code", code)
	s.conf.Observe(Refused)
	return true
}

// holdAndPause pauses all sending, and makes a message wait, after a refusal whose reason may
// be the server or the sender rather than the message. The refusal does not count as an
// attempt at the message. Other messages are sent before it, since it may be the reason.
func (s *Sender) holdAndPause(m *store.QueuedMail, level slog.Level, text string, code int) bool {
	s.conf.Observe(Failed)
	s.pauseServer(level, text, "card", m.CardID, "code", code)
	return s.hold(m, s.retryAt)
}

// unreachable pauses sending because no connection can be made. The queue stays
// as it is.
func (s *Sender) unreachable(err error) {
	text, temporary := connectError(err)
	level := slog.LevelError
	if temporary {
		level = slog.LevelWarn
	}
	s.conf.Observe(Failed)
	s.pauseServer(level, "the mail server cannot be used", "error", text)
}

// pauseServer pauses all sending, longer with each consecutive failure, and logs
// why.
func (s *Sender) pauseServer(level slog.Level, text string, args ...any) {
	s.failures++
	wait := backoff(serverWait, maxServerWait, s.failures)
	s.retryAt = s.conf.Store.Now().Add(wait)
	s.conf.Log.Log(context.Background(), level, text, append(args, "pause", wait)...)
}

// postpone makes a message wait after a failed attempt, which delay records.
func (s *Sender) postpone(
	m *store.QueuedMail,
	reason string,
	code int,
	delay func(*store.Tx, *store.QueuedMail, time.Duration) error,
) bool {
	s.conf.Log.Warn("mail put off: "+reason, "card", m.CardID, "code", code, "attempt", m.Attempts+1)
	s.conf.Observe(Failed)
	wait := backoff(messageWait, maxMessageWait, m.Attempts+1)
	return s.write(func(tx *store.Tx) error { return delay(tx, m, wait) })
}

// hold makes a message wait without counting an attempt.
func (s *Sender) hold(m *store.QueuedMail, until store.Time) bool {
	return s.write(func(tx *store.Tx) error { return tx.HoldMail(m, until) })
}

// backoff returns the wait after n failures: first, doubled with each further one
// up to most, plus up to a tenth.
func backoff(first, max time.Duration, n int) time.Duration {
	wait := min(first<<min(n-1, 20), max)
	return wait + time.Duration(rand.Float64()*float64(wait)/10)
}

// write writes an outcome to the store and retries until it succeeds, for example
// while the disk is full: no other message is sent before, and this one is not
// sent twice. It reports false if the sender stops first; then the message is
// sent again after the next start.
func (s *Sender) write(do func(*store.Tx) error) bool {
	return s.conf.Store.RetryWrite(
		s.Stopping.Done(),
		do,
		func(err error) { s.conf.Log.Error("the outcome of a mail cannot be written", "error", err) },
	)
}

// message returns the message for a row of the queue. It is the same for each
// attempt, with the same message id, so that duplicates can be recognised.
func message(m *store.QueuedMail, from *mail.Address) *smtp.Msg {
	id := messageID(m.Token, from)
	msg := smtp.NewMsg(smtp.WithNoDefaultUserAgent(), smtp.WithBoundary(id[:strings.IndexByte(id, '@')]))
	msg.FromMailAddress(from)
	msg.ToMailAddress(&mail.Address{Address: m.To})
	msg.Subject(breakEncodedWords(mailtext.Subject(m.Mail)))
	msg.SetDateWithValue(m.At.Std().Truncate(time.Second))
	msg.SetMessageIDWithValue(id)
	// This prevents vacation notices in reply (RFC 3834).
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(smtp.TypeTextPlain, mailtext.Text(m.Mail))
	msg.AddAlternativeString(smtp.TypeTextHTML, mailtext.HTML(m.Mail))
	return msg
}

// messageID returns an id that is unique, since the token of the card's link is,
// and does not reveal the token.
func messageID(token string, from *mail.Address) string {
	sum := sha256.Sum256([]byte("message-id\x00" + token))
	return hex.EncodeToString(sum[:16]) + from.Address[strings.LastIndexByte(from.Address, '@'):]
}

// breakEncodedWords returns text without anything that looks like an encoded word
// (RFC 2047), which mail programs would decode.
func breakEncodedWords(s string) string { return strings.ReplaceAll(s, "=?", "= ?") }

// isASCII reports whether s is ASCII. Such an address does not need SMTPUTF8,
// which many servers lack.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
