package mcp

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"punchcard/store"
)

// untrustedFields are the fields whose texts somebody else chose: holders, people of the
// shop, and receivers of webhooks. They may hold instructions to an assistant. They have the
// names of columns, or names that the tools give.
var untrustedFields = func() []string {
	names := []string{"program_name", "program", "location_name", "error", "host", "path", "field", "metadata"}
	for _, c := range store.ColumnsOf(store.Chosen, store.Holder) {
		names = append(names, c.Name)
	}
	return names
}()

// invisible are characters that show nothing although their Unicode category says otherwise.
var invisible = []rune{0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}

// isHidden reports whether a character is invisible or changes the direction of others. It
// is true for control, format and private-use characters, variation selectors and tags, and
// for what stands in place of invalid UTF-8.
func isHidden(c rune) bool {
	switch {
	case c == utf8.RuneError:
		return true
	case unicode.In(c, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return true
	case c >= 0xE0000 && c <= 0xE0FFF: // tags and selectors, also those that are not assigned
		return true
	}
	return slices.Contains(invisible, c)
}

// cleanText returns a text without invisible and bidirectional characters, and with a blank
// for each line break and tabulator. It cuts the text after most characters and adds "…".
func cleanText(text string, max int) string {
	var b strings.Builder
	n := 0
	for _, c := range text {
		switch {
		case c == '\n' || c == '\r' || c == '\t' || c == 0x2028 || c == 0x2029:
			c = ' '
		case isHidden(c):
			continue
		}
		if n == max {
			b.WriteRune('…')
			break
		}
		b.WriteRune(c)
		n++
	}
	return b.String()
}

// clean returns a JSON text whose strings and names are cleaned, and the paths of the
// untrusted texts in it, such as cards[].holder_name. Untrusted texts have at most most
// characters.
func clean(raw []byte, max int) (out []byte, untrusted []string) {
	c := cleaner{max: max}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var b bytes.Buffer
	c.enc = jsontext.NewEncoder(&b, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	c.value(dec, "", false)
	slices.Sort(c.paths)
	return bytes.TrimRight(b.Bytes(), "\n"), slices.Compact(c.paths)
}

// cleaner writes the cleaned copy of a JSON text.
type cleaner struct {
	enc   *jsontext.Encoder
	max   int
	paths []string
}

// value copies the next value, which is at a path. untrusted says that it is a part of an
// untrusted field.
func (c *cleaner) value(dec *jsontext.Decoder, path string, untrusted bool) {
	token, err := dec.ReadToken()
	if err != nil {
		return
	}
	switch token.Kind() {
	case jsontext.KindString:
		max := 1 << 30
		if untrusted {
			max = c.max
			if token.String() != "" {
				c.paths = append(c.paths, path)
			}
		}
		c.enc.WriteToken(jsontext.String(cleanText(token.String(), max)))
	case jsontext.KindBeginArray:
		c.enc.WriteToken(token)
		for dec.PeekKind() != jsontext.KindEndArray && dec.PeekKind() != jsontext.KindInvalid {
			c.value(dec, path+"[]", untrusted)
		}
		dec.ReadToken()
		c.enc.WriteToken(jsontext.EndArray)
	case jsontext.KindBeginObject:
		c.enc.WriteToken(token)
		for dec.PeekKind() != jsontext.KindEndObject && dec.PeekKind() != jsontext.KindInvalid {
			token, err := dec.ReadToken()
			if err != nil {
				return
			}
			name := cleanText(token.String(), 1<<30)
			c.enc.WriteToken(jsontext.String(name))
			below := name
			if path != "" {
				below = path + "." + name
			}
			c.value(dec, below, untrusted || slices.Contains(untrustedFields, name))
		}
		dec.ReadToken()
		c.enc.WriteToken(jsontext.EndObject)
	default:
		c.enc.WriteToken(token)
	}
}

// quote returns a text as a JSON string.
func quote(text string) string {
	b, _ := jsontext.AppendQuote(nil, text)
	return string(b)
}
