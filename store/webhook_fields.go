package store

import (
	"fmt"

	"strings"

	"punchcard/store/event"
)

// maxPatterns is the maximum number of patterns in a webhook's events, counted
// before repetitions are dropped. The tag of WebhookFields.Events has the same
// number.
const maxPatterns = 50

// Check returns a detail for each pattern that matches no event, and one for
// patterns that exclude each other.
func (f WebhookFields) Check(Time) (details []Detail) {
	patterns := f.Events.Or(nil)
	if len(patterns) > maxPatterns {
		return details // reported as too_many
	}
	for i, p := range patterns {
		if !event.ValidPattern(p) {
			details = append(details, Detail{fmt.Sprintf("events.%d", i), "invalid_value", "must be an event, *, or a prefix of events followed by .*"})
		}
	}
	if event.Conflicts(patterns) {
		var names []string
		for _, n := range event.ExclusiveWith() {
			names = append(names, string(n))
		}
		details = append(details, Detail{"events", "mutually_exclusive", "must not name transaction.created beside " + strings.Join(names, ", ")})
	}
	return details
}

// checkHeaders returns a detail for each limit that custom headers exceed.
func (l Limits) checkHeaders(headers map[string]string) (details []Detail) {
	size := 0
	for name, value := range headers {
		size += len(name) + len(value)
	}
	if len(headers) > l.HookHeaders {
		details = append(details, Detail{"custom_headers", "too_many", fmt.Sprintf("must have at most %d entries", l.HookHeaders)})
	}
	if size > l.HookHeaderBytes {
		details = append(details, Detail{"custom_headers", "too_long", fmt.Sprintf("must be at most %d bytes, names and values together", l.HookHeaderBytes)})
	}
	return details
}

// ownPrograms returns the keys of programs of the shop, each once, and an
// invalid_value detail for every id that is not one of them.
func (tx *Tx) ownPrograms(shop int64, field string, ids []string) (keys []int64, details []Detail) {
	return tx.s.ownKeys(tx.number, KindProgram, shop, field, ids)
}
