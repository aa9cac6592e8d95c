// Package mailtext has the texts of mails. It is separate from package mail so
// that programs that only show mails need no SMTP library.
package mailtext

import (
	"strings"
	"unicode"

	"punchcard/store"
)

// A letter is a message, of which Text and HTML are two forms.
type letter struct {
	Language string // of the texts
	Subject  string // one line
	Before   string // the sentence before the links
	Links    []link
	After    string // the sentence after the links; empty: none
}

// A link is a link of a letter. Its label is for forms in which a link has a text.
type link struct{ Name, Label, URL string }

// letterOf returns the letter of a message.
func letterOf(m store.Mail) letter {
	switch {
	case m.Kind == store.MailLost:
		return lostLetter(m)
	case m.Kind == "":
		return cardLetter(m)
	}
	return linkLetter(m)
}

// Subject returns the subject of a message, which is one line.
func Subject(m store.Mail) string { return letterOf(m).Subject }

// Text returns the text of a message.
func Text(m store.Mail) string {
	l := letterOf(m)
	parts := []string{l.Before}
	for _, x := range l.Links {
		if x.Name != "" {
			x.URL = x.Name + "\n" + x.URL
		}
		parts = append(parts, x.URL)
	}
	if l.After != "" {
		parts = append(parts, l.After)
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// in returns the texts in a language, or in English if there are none, and the language that
// they are in.
func in[T any](texts map[string]T, language string) (T, string) {
	if t, ok := texts[language]; ok {
		return t, language
	}
	return texts["en"], "en"
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
