package event

import (
	"bytes"
	"strings"
)

// Every rendered body begins with eventKey, the event's name, which needs no
// escaping, and eventIDKey.
const (
	eventKey   = `{"event":"`
	eventIDKey = `","event_id":"`
)

// Splice returns a copy of a rendered body with eventID as its event_id, whatever
// that was before. It returns a body that this package did not render unchanged.
func Splice(payload []byte, eventID string) []byte {
	start, end, ok := eventIDAt(payload)
	if !ok {
		return payload
	}
	out := make([]byte, 0, len(payload)+len(eventID))
	out = append(out, payload[:start]...)
	out = appendString(out, eventID)
	return append(out, payload[end:]...)
}

// eventIDAt returns the bounds of the value of event_id, quotes included.
func eventIDAt(p []byte) (start, end int, ok bool) {
	if !bytes.HasPrefix(p, []byte(eventKey)) {
		return 0, 0, false
	}
	quote := bytes.IndexByte(p[len(eventKey):], '"')
	if quote < 0 {
		return 0, 0, false
	}
	at := len(eventKey) + quote
	if !bytes.HasPrefix(p[at:], []byte(eventIDKey)) {
		return 0, 0, false
	}
	start = at + len(eventIDKey) - 1
	end = valueEnd(p, start)
	return start, end, end > 0
}

// Scrub returns the body without personal data of the holder, for a card that is
// erased: card.external_ref, card.holder.name, card.holder.email and
// transaction.metadata become null, and every other byte stays. The body may have
// an event_id or not. A v1 body has no personal data and is returned unchanged.
// Scrub does not change its argument.
func Scrub(payload []byte) []byte {
	_, at, ok := eventIDAt(payload)
	if !ok || !bytes.HasPrefix(payload[at:], []byte(versionV2)) {
		return payload
	}
	out := make([]byte, 0, len(payload))
	copied := 0 // bytes of payload that out has
	blank := func(start, end int) bool {
		if start < copied { // inside a value that was replaced: not rendered by this package
			return false
		}
		out = append(append(out, payload[copied:start]...), "null"...)
		copied = end
		return true
	}
	holder := func(key string, start, end int) bool {
		return key != "name" && key != "email" || blank(start, end)
	}
	card := func(key string, start, end int) bool {
		switch key {
		case "external_ref":
			return blank(start, end)
		case "holder":
			return members(payload, start, holder)
		}
		return true
	}
	transaction := func(key string, start, end int) bool {
		return key != "metadata" || blank(start, end)
	}
	ok = members(payload, 0, func(key string, start, end int) bool {
		switch key {
		case "card":
			return members(payload, start, card)
		case "transaction":
			return members(payload, start, transaction)
		}
		return true
	})
	if !ok {
		// A body that cannot be parsed may contain personal data anywhere.
		return []byte("null")
	}
	return append(out, payload[copied:]...)
}

// members calls f with each member of the object that begins at p[i], and the
// bounds of its value. A null has no members. It reports whether the whole object
// could be parsed and f returned true each time. It accepts only objects as this
// package writes them, without blanks between tokens and escapes in keys.
func members(p []byte, i int, f func(key string, start, end int) bool) bool {
	if bytes.HasPrefix(p[i:], []byte("null")) {
		return true
	}
	if i >= len(p) || p[i] != '{' {
		return false
	}
	for {
		i++ // past '{' or ','
		keyEnd := valueEnd(p, i)
		if keyEnd < 0 || p[i] != '"' || keyEnd+1 >= len(p) || p[keyEnd] != ':' {
			return false
		}
		start := keyEnd + 1
		end := valueEnd(p, start)
		if end < 0 || end >= len(p) || !f(string(p[i+1:keyEnd-1]), start, end) {
			return false
		}
		switch i = end; p[i] {
		case ',':
		case '}':
			return true
		default:
			return false
		}
	}
}

// valueEnd returns the index after the JSON value that begins at p[i], -1 if it
// does not end. It does not validate the inside of objects and arrays, which may
// be metadata of the caller with blanks.
func valueEnd(p []byte, i int) int {
	depth := 0
	for i < len(p) {
		switch p[i] {
		case '"':
			if i = stringEnd(p, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			i++
			if depth > 0 {
				continue
			}
			for i < len(p) && strings.IndexByte(",}] \t\r\n", p[i]) < 0 {
				i++
			}
		}
		if depth <= 0 {
			return i
		}
	}
	return -1
}

// stringEnd returns the index after the string that begins at p[i], -1 if it does
// not end.
func stringEnd(p []byte, i int) int {
	for i++; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}
