package event

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	end = stringEnd(p, start)
	return start, end, end > 0
}

// Scrub returns the body without personal data of the holder, for a card that is
// erased: card.external_ref, all of card.holder and transaction.metadata become null, and every
// other byte stays. The event_id of the
// body may be empty. A v1 body has no personal data and is returned unchanged.
// Scrub does not change its argument.
func Scrub(payload []byte) []byte {
	_, at, ok := eventIDAt(payload)
	if !ok || !bytes.HasPrefix(payload[at:], []byte(versionV2)) {
		return payload
	}
	sc := scrubber{payload: payload, dec: json.NewDecoder(bytes.NewReader(payload))}
	if err := sc.object(""); err != nil {
		// A body that cannot be parsed may contain personal data anywhere.
		return []byte("null")
	}
	return append(sc.out, payload[sc.copied:]...)
}

// scrubber copies a body while it replaces values.
type scrubber struct {
	payload []byte
	dec     *json.Decoder
	out     []byte
	copied  int64 // bytes of payload that out has
}

// object walks the members of the object or null that comes next, which is at path.
func (sc *scrubber) object(path string) error {
	open, err := sc.dec.Token()
	if err != nil || open == nil {
		return err
	}
	if open != json.Delim('{') {
		return fmt.Errorf("%v is not an object", open)
	}
	for sc.dec.More() {
		key, err := sc.dec.Token()
		if err == nil {
			err = sc.member(fmt.Sprint(path, ".", key))
		}
		if err != nil {
			return err
		}
	}
	_, err = sc.dec.Token()
	return err
}

// member replaces the value that comes next, which is at path, if it is of the
// holder.
func (sc *scrubber) member(path string) error {
	switch path {
	case ".card", ".card.holder", ".transaction":
		return sc.object(path)
	}
	var value json.RawMessage
	err := sc.dec.Decode(&value)
	if path == ".card.external_ref" || path == ".transaction.metadata" || strings.HasPrefix(path, ".card.holder.") {
		end := sc.dec.InputOffset()
		sc.out = append(append(sc.out, sc.payload[sc.copied:end-int64(len(value))]...), "null"...)
		sc.copied = end
	}
	return err
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
