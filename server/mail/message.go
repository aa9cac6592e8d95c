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

// message returns the message for a row of the queue. It is the same for each
// attempt, with the same message id, so that duplicates can be recognised.
func message(m *store.QueuedMail, from *mail.Address) *smtp.Msg {
	msg := smtp.NewMsg(smtp.WithNoDefaultUserAgent())
	msg.FromMailAddress(from)
	msg.ToMailAddress(&mail.Address{Address: m.To})
	msg.Subject(oneLine(mailtext.Subject(m.Mail)))
	msg.SetDateWithValue(m.At.Std().Truncate(time.Second))
	msg.SetMessageIDWithValue(messageID(m.Token, from))
	// This prevents vacation notices in reply (RFC 3834).
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(smtp.TypeTextPlain, mailtext.Text(m.Mail))
	return msg
}

// messageID returns an id that is unique, since the token of the card's link is,
// and does not reveal the token.
func messageID(token string, from *mail.Address) string {
	sum := sha256.Sum256([]byte("message-id\x00" + token))
	return hex.EncodeToString(sum[:16]) + from.Address[strings.LastIndexByte(from.Address, '@'):]
}

// oneLine returns text as one line for a header, without anything that looks like
// an encoded word (RFC 2047), which mail programs would decode.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return strings.ReplaceAll(s, "=?", "= ?")
}

// isASCII reports whether s is ASCII. Such an address does not need SMTPUTF8,
// which many servers lack.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
