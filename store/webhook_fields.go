package store

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"punchcard/store/event"
)

// maxPatterns is the maximum number of different patterns in a webhook's events.
// The tag of WebhookFields.Events has the same number.
const maxPatterns = 50

// Check returns a detail for each pattern that matches no event, and one for
// patterns that exclude each other.
func (f WebhookFields) Check(Time) (details []Detail) {
	patterns := unique(f.Events.Or(nil))
	if len(patterns) > maxPatterns {
		return details // reported as too_many
	}
	for _, p := range patterns {
		if !event.ValidPattern(p) {
			path := fmt.Sprintf("events.%d", slices.Index(f.Events.V, p))
			details = append(details, Detail{path, "invalid_value", "must be an event, *, or a prefix of events followed by .*"})
		}
	}
	if event.Conflicts(patterns) {
		var names []string
		for _, n := range event.ExclusiveWith() {
			names = append(names, string(n))
		}
		details = append(details,
			Detail{"events", "mutually_exclusive", "must not name transaction.created beside " + strings.Join(names, ", ")})
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
		details = append(details,
			Detail{"custom_headers", "too_long", fmt.Sprintf("must be at most %d bytes, names and values together", l.HookHeaderBytes)})
	}
	return details
}

// movedSecrets returns a required detail for each of bearer_token and
// custom_headers that the webhook has and f does not name, if f changes the
// scheme, host or port of the URL. Without this rule, a key that may write
// webhooks could have secrets that it cannot read sent to itself.
func (w *webhook) movedSecrets(f WebhookFields) (details []Detail) {
	if w.URL == "" || !f.URL.Set || origin(f.URL.V) == origin(w.URL) {
		return nil
	}
	const reason = "must be named, with a value or null, because the URL has another scheme, host or port"
	if w.bearer.Valid && !f.BearerToken.Set {
		details = append(details, Detail{"bearer_token", "required", reason})
	}
	if len(w.headers) > 0 && !f.CustomHeaders.Set {
		details = append(details, Detail{"custom_headers", "required", reason})
	}
	return details
}

// origin returns the scheme, host and port of a URL in a form that is the same for
// all ways to write them. The hosts of webhooks are names in ASCII or addresses.
func origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	standard := map[string]string{"https": "443", "http": "80"}[u.Scheme]
	port := cmp.Or(strings.TrimLeft(u.Port(), "0"), standard)
	return u.Scheme + "://" + host + ":" + port
}
