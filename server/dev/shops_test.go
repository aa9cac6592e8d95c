package dev_test

import (
	"strings"
	"testing"
)

// TestReasonOfASubscription checks that the reason of a changed subscription is sent,
// and which texts it may be.
func TestReasonOfASubscription(t *testing.T) {
	s := start(t)
	path := newHook(s, "https://hooks.invalid/", "subscription.state_changed").path + "/deliveries"
	shop := "/shops/" + s.ShopID
	long := strings.Repeat("ü", 200)
	for i, c := range []struct {
		change fields
		event  fields // nil: none
	}{
		{
			fields{"subscription_state": "past_due", "reason": "Invoice 17 is open: 12 €"},
			fields{"from_state": "active", "to_state": "past_due", "reason": "Invoice 17 is open: 12 €"},
		},
		{fields{"subscription_state": "past_due", "reason": "again"}, nil},
		{fields{"reason": "nothing changes"}, nil},
		{fields{"subscription_state": "active"}, fields{"from_state": "past_due", "to_state": "active", "reason": ""}},
		{fields{"subscription_state": "past_due", "reason": long}, fields{"from_state": "active", "to_state": "past_due", "reason": long}},
	} {
		before := len(s.Get(path).At("items").([]any))
		s.Control("PATCH", shop, c.change)
		log := s.Get(path).Want(200)
		switch n := len(log.At("items").([]any)) - before; {
		case c.event == nil && n != 0, c.event != nil && n != 1:
			t.Errorf("change %d: %d events", i, n)
		case n == 1:
			log.Shows(fields{"items.0.request_payload.data": c.event})
		}
	}
	for text, code := range map[any]string{
		"": "too_short", long + "ü": "too_long", "two\nlines": "invalid_format", "a\u2028b": "invalid_format",
		"a\u202eb": "invalid_format", "a\x1b[0m": "invalid_format", 7: "invalid_type",
	} {
		callControl(s, "PATCH", shop, fields{"subscription_state": "suspended", "reason": text}).Invalid("reason " + code)
	}
	callControl(s, "POST", "/shops", fields{"reason": "new"}).Invalid("reason unknown_field")
	if n := len(s.Get(path).At("items").([]any)); n != 3 {
		t.Errorf("%d events", n)
	}
}
