// Package mailtext has the texts of mails. It is separate from package mail so
// that programs that only show mails need no SMTP library.
package mailtext

import (
	"strings"
	"unicode"

	"punchcard/store"
)

// Subject returns the subject of a message, which is one line.
func Subject(m store.Mail) string {
	if m.Kind != "" {
		return linkText(m)[0]
	}
	subject, _ := cardText(m)
	return subject
}

// Text returns the text of a message.
func Text(m store.Mail) string {
	if m.Kind == store.MailTest {
		return linkText(m)[1] + "\n"
	}
	if m.Kind != "" {
		t := linkText(m)
		return t[1] + "\n\n" + m.Link + "\n\n" + t[2] + "\n"
	}
	_, text := cardText(m)
	return text + "\n\n" + m.Link + "\n"
}

// maxName is the number of characters of a name that a message shows, which is as
// many as a name may have.
const maxName = 200

// oneLine returns a name as one line of at most maxName characters. The name may be
// older than the rules for names. Its author must not be able to write further
// lines, or to change how the lines of the message read: characters that format
// text invisibly are left out, but for the joiners, which some scripts and emoji
// need, and all white space and control characters become single blanks.
func oneLine(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.Cf, r) && r != zeroWidthNonJoiner && r != zeroWidthJoiner:
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, "\ufffd"))
	name = strings.Join(strings.Fields(name), " ")
	if r := []rune(name); len(r) > maxName {
		name = string(r[:maxName-1]) + "…"
	}
	if strings.Trim(name, string([]rune{' ', zeroWidthNonJoiner, zeroWidthJoiner})) == "" {
		return ""
	}
	return name
}

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)
