package event

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Escapes are the escape sequences of JSON strings.
type Escapes struct {
	sequence [256]string // of the bytes that are escaped
	plain    [256]bool   // bytes that are not escaped
}

// NewEscapes returns escapes that use the short form for the characters of short,
// some of \b, \f, \n, \r and \t, and the long form for all other control
// characters.
func NewEscapes(short string) *Escapes {
	e := &Escapes{}
	for c := range utf8.RuneSelf {
		switch at := strings.IndexByte("\b\f\n\r\t", byte(c)); {
		case c == '"' || c == '\\':
			e.sequence[c] = "\\" + string(rune(c))
		case at >= 0 && strings.IndexByte(short, byte(c)) >= 0:
			e.sequence[c] = "\\" + "bfnrt"[at:at+1]
		case c < ' ':
			e.sequence[c] = fmt.Sprintf("\\u%04x", c)
		default:
			e.plain[c] = true
		}
	}
	return e
}

// AppendString appends s as a JSON string and escapes only what JSON requires. It
// replaces a byte that is not UTF-8 by U+FFFD.
func (e *Escapes) AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case e.plain[c]:
			i++
		case c < utf8.RuneSelf:
			b = append(append(b, s[start:i]...), e.sequence[c]...)
			i++
			start = i
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += n
		}
	}
	return append(append(b, s[start:]...), '"')
}

// payloadEscapes are the escapes of payloads, whose bytes must not change.
var payloadEscapes = NewEscapes("\b\f\n\r\t")

// appendString appends a string of a payload.
func appendString(b []byte, s string) []byte { return payloadEscapes.AppendString(b, s) }
