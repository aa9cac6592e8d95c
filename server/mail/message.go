package mail

import (
	"crypto/sha256"
	"encoding/hex"
	"net/mail"
	"strings"
	"time"
	"unicode"

	smtp "github.com/wneessen/go-mail"

	"punchcard/server/mail/mailtext"
	"punchcard/store"
)

// message builds what is sent. The same row of the queue always gives the same
// message, with the same id, so that who gets it twice can tell.
func message(m *store.QueuedMail, from *mail.Address) *smtp.Msg {
	msg := smtp.NewMsg(smtp.WithNoDefaultUserAgent())
	msg.FromMailAddress(from)
	msg.ToMailAddress(&mail.Address{Address: m.To})
	msg.Subject(oneLine(mailtext.Subject(m.Mail)))
	msg.SetDateWithValue(m.At.Std().Truncate(time.Second))
	msg.SetMessageIDWithValue(messageID(m.Token, from))
	// No vacation notice is to come back (RFC 3834).
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(smtp.TypeTextPlain, mailtext.Text(m.Mail))
	return msg
}

// messageID is unlike any other's since the token is, and tells nothing of it.
func messageID(token string, from *mail.Address) string {
	sum := sha256.Sum256([]byte("message-id\x00" + token))
	return hex.EncodeToString(sum[:16]) + from.Address[strings.LastIndexByte(from.Address, '@'):]
}

// oneLine makes text fit for a header: one line, in which nothing looks like an
// encoded word (RFC 2047) that a reader would decode to something else.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return strings.ReplaceAll(s, "=?", "= ?")
}

// ascii tells whether an address needs no SMTPUTF8, which many servers in
// between lack.
func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
