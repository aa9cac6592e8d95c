package event

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Escapes holds the JSON escape sequence of each control character.
type Escapes [' ']string

// NewEscapes returns the long form of every escape sequence but those of the
// characters given, which must be some of \b, \f, \n, \r and \t.
func NewEscapes(short string) *Escapes {
	var e Escapes
	for c := range e {
		e[c] = fmt.Sprintf("\\u%04x", c)
		if at := strings.IndexByte("\b\f\n\r\t", byte(c)); at >= 0 && strings.IndexByte(short, byte(c)) >= 0 {
			e[c] = "\\" + "bfnrt"[at:at+1]
		}
	}
	return &e
}

// AppendString appends s as a JSON string, escaping only what JSON demands. A
// byte that is not UTF-8 becomes U+FFFD, so that the JSON is valid.
func (e *Escapes) AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += n
			continue
		case c == '"' || c == '\\':
			b = append(append(b, s[start:i]...), '\\', c)
			start = i + 1
		case c < ' ':
			b = append(append(b, s[start:i]...), e[c]...)
			start = i + 1
		}
		i++
	}
	return append(append(b, s[start:]...), '"')
}

// payloadEscapes are those of payloads, whose bytes are pinned.
var payloadEscapes = NewEscapes("\b\f\n\r\t")

// appendString appends a text of a payload. A holder's name stays readable in it.
func appendString(b []byte, s string) []byte { return payloadEscapes.AppendString(b, s) }
