package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"punchcard/store/event"
)

// The most patterns that a webhook's events may have, before those that repeat
// are dropped; the tag of WebhookFields.Events says it too.
const maxPatterns = 50

// Check finds the patterns that stand for no event and the headers that cannot
// be sent. A PATCH replaces each of these fields whole, so that the request
// alone decides, also on what excludes each other.
func (f WebhookFields) Check(Time) []Detail {
	details := CheckHeaders("custom_headers", f.CustomHeaders.Or(nil), ofDelivery, "is set by the delivery itself or belongs to the connection")
	patterns := f.Events.Or(nil)
	if len(patterns) > maxPatterns {
		return details // reported as too_many
	}
	for i, p := range patterns {
		if !event.ValidPattern(p) {
			details = append(details, Detail{fmt.Sprintf("events.%d", i), "invalid_value", "is not an event, *, or a prefix of events followed by .*"})
		}
	}
	if event.Conflicts(patterns) {
		var names []string
		for _, n := range event.ExclusiveWith() {
			names = append(names, string(n))
		}
		details = append(details, Detail{"events", "mutually_exclusive", "transaction.created cannot be named beside " + strings.Join(names, ", ")})
	}
	return details
}

// ownHeaders are the headers that a delivery sets itself and those that belong
// to the connection; all that begin with webhook- are the sender's too.
var ownHeaders = []string{"host", "content-length", "content-type", "user-agent", "authorization", "x-service-signature",
	"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}

// ofDelivery tells of a header, in lower case, that it is not the customer's.
func ofDelivery(name string) bool {
	return slices.Contains(ownHeaders, name) || strings.HasPrefix(name, "webhook-")
}

// CheckHeaders finds those of a field's headers that no message could carry, or
// that are own: not the caller's to set, for the reason given. Names come to own
// in lower case.
func CheckHeaders(field string, headers map[string]string, own func(name string) bool, reason string) (details []Detail) {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lower := strings.ToLower(name)
		add := func(code, message string) {
			details = append(details, Detail{field + "." + name, code, message})
		}
		switch {
		case !isToken(name):
			add("invalid_format", "is not the name of an HTTP header")
		case own(lower):
			add("not_allowed", reason)
		case seen[lower]:
			add("invalid_value", "is there already; the case of a header's name does not matter")
		case strings.ContainsFunc(headers[name], func(c rune) bool { return c != '\t' && (c < ' ' || c > '~') }):
			add("invalid_format", "must be visible ASCII characters, spaces and tabs")
		}
		seen[lower] = true
	}
	return details
}

// isToken tells whether s is a token of RFC 9110, as names of headers are.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}

// headerRoom tells whether custom headers are more than the deployment allows.
func (l Limits) headerRoom(headers map[string]string) (details []Detail) {
	size := 0
	for name, value := range headers {
		size += len(name) + len(value)
	}
	if len(headers) > l.HookHeaders {
		details = append(details, Detail{"custom_headers", "too_many", fmt.Sprintf("must have at most %d entries", l.HookHeaders)})
	}
	if size > l.HookHeaderBytes {
		details = append(details, Detail{"custom_headers", "too_long", fmt.Sprintf("names and values together must be at most %d bytes", l.HookHeaderBytes)})
	}
	return details
}

// ownPrograms turns ids into keys, each once; every id that is not a program
// of the shop's own is an invalid_value detail.
func (tx *Tx) ownPrograms(shop int64, field string, ids []string) (keys []int64, details []Detail, err error) {
	for i, id := range ids {
		key, ok := tx.s.Key(KindProgram, id)
		if ok {
			n, err := tx.number("SELECT count(*) FROM programs WHERE id=? AND shop_id=? AND deleted_at IS NULL", key, shop)
			if err != nil {
				return nil, nil, err
			}
			ok = n == 1
		}
		switch {
		case !ok:
			details = append(details, Detail{fmt.Sprintf("%s.%d", field, i), "invalid_value", "is not a program of this shop"})
		case !slices.Contains(keys, key):
			keys = append(keys, key)
		}
	}
	return keys, details, nil
}
