package store

import (
	"fmt"
	"slices"
	"strings"

	"punchcard/store/event"
)

// The most patterns that a webhook's events may have, before those that repeat
// are dropped; the tag of WebhookFields.Events says it too.
const maxPatterns = 50

// Check finds the patterns that stand for no event, and those that exclude each
// other. A PATCH replaces all patterns, so that the request alone decides.
func (f WebhookFields) Check(Time) (details []Detail) {
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

// headerRoom reports whether custom headers are more than the deployment allows.
func (l Limits) checkHeaders(headers map[string]string) (details []Detail) {
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
