package command

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns text for a terminal: one line in which control characters,
// line separators, characters that change the direction of text, and bytes that are
// not UTF-8 are written as Go escapes, such as \x1b or \u202e. Without this a name
// could contain escape sequences, or look like another name or like several rows.
func Printable(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, escaped) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case escaped(r):
			quoted := strconv.QuoteToASCII(string(r))
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// printableJSON returns JSON in which the characters that Printable escapes are escaped too. JSON
// itself escapes only those below U+0020.
func printableJSON(text []byte) []byte {
	b := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if r >= 0x7f && escaped(r) {
			b = fmt.Appendf(b, `\u%04x`, r)
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}

// shellWord returns text as a shell takes it for one word.
func shellWord(text string) string {
	switch {
	case text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./:@%+,=", r)
	}):
		return text
	case !strings.ContainsAny(text, "\"$`\\!"):
		return `"` + text + `"` // which Windows takes too
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// escaped reports whether Printable escapes a character.
func escaped(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// printf is fmt.Fprintf with texts made printable. Commands print all that comes from
// the file with it: a tab or a line break in a value would shift a table.
func printf(w io.Writer, format string, args ...any) {
	for i, a := range args {
		switch a.(type) {
		case bool, int, int64, float64:
		default:
			args[i] = Printable(fmt.Sprint(a))
		}
	}
	fmt.Fprintf(w, format, args...)
}
