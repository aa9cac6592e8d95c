package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/store"
	"punchcard/store/event"
)

// minimalWebhook is a body with only the required fields of a webhook.
var minimalWebhook = fields{"url": "https://hooks.invalid/a", "events": []string{"card.added"}}

// newWebhook creates a webhook and returns its path and the answer.
func newWebhook(s *servertest.Server, program string, more fields) (path string, made *servertest.Reply) {
	s.T.Helper()
	made = s.Post("/programs/"+program+"/webhooks", servertest.Merge(minimalWebhook, more)).Want(201)
	return "/programs/" + program + "/webhooks/" + made.Str("id"), made
}

// hookValue is a value of a field of webhooks, and what is answered to it.
type hookValue struct {
	field        string
	value        any
	made, change string // the details when created and changed; empty if accepted
	shown        *shown
}

// shown is the value in the answer where it differs from the one sent, or leaveOut if there is none.
type shown struct{ v any }

// patterns returns n events that exclude no other event, the last ones as a wildcard.
func patterns(n int) (list []string) {
	for _, e := range event.All() {
		if e.Name != event.TestPing && e.Name != event.TransactionCreated {
			list = append(list, string(e.Name))
		}
	}
	for len(list) < n {
		list = append(list, "*")
	}
	return list[:n]
}

// hookValues are values that differ in a rule that the schema does not have, except for ids, which
// TestWebhookFields adds. For the others see TestEveryFieldIsChecked. A detail that begins with a dot is
// on a part of the field.
var hookValues = []hookValue{
	{"url", "https://hooks.invalid:8443/b?x=1", "", "", nil},
	{"url", "http://127.0.0.1:1/", "", "", nil},
	{"url", "http://hooks.invalid/", "invalid_value", "invalid_value", nil},
	{"url", "https://10.0.0.1/", "not_public", "not_public", nil},
	{"url", "https://ada@hooks.invalid/", "invalid_format", "invalid_format", nil},
	{"url", "https:///a", "invalid_format", "invalid_format", nil},

	{"events", []string{"transaction.created", "card.*", "*", "card.added"}, "", "", nil},
	{"events", []string{"transaction.*", "stamp.*", "location.updated"}, "", "", nil},
	{"events", []string{"card.added", "card.gone"}, ".1 invalid_value", ".1 invalid_value", nil},
	{"events", []string{"test.ping"}, ".0 invalid_value", ".0 invalid_value", nil},
	{"events", []string{"test.*"}, ".0 invalid_value", ".0 invalid_value", nil},
	{"events", []string{"bogus.*"}, ".0 invalid_value", ".0 invalid_value", nil},
	{"events", []string{"card*"}, ".0 invalid_value", ".0 invalid_value", nil},
	{"events", []string{".*"}, ".0 invalid_value", ".0 invalid_value", nil},
	{"events", []string{"CARD.ADDED"}, ".0 invalid_value", ".0 invalid_value", nil},
	{"events", []string{" *"}, ".0 invalid_value", ".0 invalid_value", nil},
	{"events", []string{""}, ".0 invalid_value", ".0 invalid_value", nil},
	{"events", []any{"card.added", 7}, ".1 invalid_type", ".1 invalid_type", nil},
	{"events", patterns(50), "", "", &shown{slices.Compact(patterns(50))}},
	{"events", []string{"card.archived", "card.added", "card.archived", "*"}, "", "", &shown{[]string{"card.archived", "card.added", "*"}}},

	{"bearer_token", strings.Repeat("~", 1024), "", "", &shown{leaveOut}},
	{"bearer_token", "!\"#'\\~", "", "", &shown{leaveOut}},
	{"bearer_token", nil, "", "", &shown{leaveOut}},
	{"bearer_token", "a b", "invalid_format", "invalid_format", nil},
	{"bearer_token", "a\n", "invalid_format", "invalid_format", nil},
	{"bearer_token", "é", "invalid_format", "invalid_format", nil},
	{"bearer_token", "\u007f", "invalid_format", "invalid_format", nil},

	{"active", false, "", "", nil},
	{"active", nil, "", "invalid_type", &shown{true}},
	{"description", nil, "", "", &shown{""}},
	{"include_shop_wide_events", false, "", "", nil},
	{"include_shop_wide_events", nil, "", "invalid_type", &shown{true}},
	{"http_method", "PUT", "", "", nil},
	{"http_method", nil, "", "invalid_type", &shown{"POST"}},
	{"http_method", "post", "invalid_value", "invalid_value", nil},
	{"payload_version", "v1", "", "not_allowed", nil},
	{"payload_version", nil, "", "not_allowed", &shown{"v2"}},
	{"payload_version", 2, "invalid_type", "not_allowed", nil},

	{"custom_headers", nil, "", "", &shown{fields{}}},
	{"custom_headers", fields{"X-Shop": "1", "x-b.c~": " a b "}, "", "", &shown{fields{"X-Shop": "***", "x-b.c~": "***"}}},
	{"custom_headers", fields{"X": " "}, ".X too_short", ".X too_short", nil},
	{"custom_headers", fields{"X": "a\tb"}, ".X invalid_format", ".X invalid_format", nil},
	{"custom_headers", fields{"X": 7}, ".X invalid_type", ".X invalid_type", nil},
	{"custom_headers", fields{"X": nil}, ".X invalid_type", ".X invalid_type", nil},
	{"custom_headers", fields{"": "a"}, ". invalid_format", ". invalid_format", nil},
	{"custom_headers", fields{"a b": "a"}, ".a b invalid_format", ".a b invalid_format", nil},
	{"custom_headers", fields{"é": "a"}, ".é invalid_format", ".é invalid_format", nil},
	{"custom_headers", fields{"a\r\nb": "a"}, ".a\r\nb invalid_format", ".a\r\nb invalid_format", nil},
	{"custom_headers", fields{"X": "a\r\nHost: b"}, ".X invalid_format", ".X invalid_format", nil},
	{"custom_headers", fields{"X": "é"}, ".X invalid_format", ".X invalid_format", nil},
	{"custom_headers", fields{"X": "\u007f"}, ".X invalid_format", ".X invalid_format", nil},
	{"custom_headers", fields{"X-Shop": "1", "x-shop": "2"}, ".x-shop invalid_value", ".x-shop invalid_value", nil},
	{"custom_headers", fields{strings.Repeat("é", 200): "1"}, longName, longName, nil},

	{"rotate_secret", true, "unknown_field", "", &shown{leaveOut}},
	{"rotate_secret", nil, "unknown_field", "invalid_type", nil},
	{"secret", "x", "unknown_field", "unknown_field", nil},
}

// longName is the detail about a header whose long name is cut.
var longName = "." + strings.Repeat("é", 85) + "… invalid_format"

// TestWebhookFields checks hookValues and ids on creation and in PATCH.
func TestWebhookFields(t *testing.T) {
	s := start(t)
	program := s.ProgramIDs["standard"]
	tea, deleted := s.NewProgram("standard", false, nil), s.NewProgram("standard", false, nil)
	s.Control("DELETE", "/programs/"+deleted, nil)
	other, elsewhere := newOtherShop(s)
	theirs := other.NewProgram("standard", false, nil)
	here, there := s.LocationIDs[0], s.LocationIDs[1]
	unknown := s.App.Store.ID(store.KindProgram, 999)
	ids := []hookValue{
		{"program_ids", nil, "", "", &shown{[]string{}}},
		{"program_ids", []string{tea, program, tea}, "", "", &shown{[]string{tea, program}}},
		{"program_ids", []string{tea, "x"}, ".1 invalid_value", ".1 invalid_value", nil},
		{"program_ids", []string{theirs}, ".0 invalid_value", ".0 invalid_value", nil},
		{"program_ids", []string{deleted}, ".0 invalid_value", ".0 invalid_value", nil},
		{"program_ids", []string{here}, ".0 invalid_value", ".0 invalid_value", nil},
		{"program_ids", []string{unknown}, ".0 invalid_value", ".0 invalid_value", nil},
		{"program_ids", slices.Repeat([]string{tea}, 1000), "", "", &shown{[]string{tea}}},
		{"program_ids", slices.Repeat([]string{tea}, 1001), "too_many", "too_many", nil},
		{"location_ids", nil, "", "", &shown{[]string{}}},
		{"location_ids", []string{there, here, here}, "", "", &shown{[]string{there, here}}},
		{"location_ids", []string{here, elsewhere}, ".1 invalid_value", ".1 invalid_value", nil},
		{"location_ids", []string{tea}, ".0 invalid_value", ".0 invalid_value", nil},
		{"location_ids", slices.Repeat([]string{here}, 1001), "too_many", "too_many", nil},
	}
	for _, c := range servertest.Sample(slices.Concat(hookValues, ids)) {
		t.Run(fmt.Sprintf("%s=%.24v", c.field, c.value), func(t *testing.T) {
			s := s.On(t)
			want := c.value
			if c.shown != nil {
				want = c.shown.v
			}
			check := func(r *servertest.Reply, detail string, status int) {
				t.Helper()
				switch {
				case strings.HasPrefix(detail, "."):
					r.Invalid(c.field + detail)
				case detail != "":
					r.Invalid(c.field + " " + detail)
				case want == leaveOut:
					r.Want(status)
				default:
					r.Want(status).Shows(fields{c.field: want})
				}
			}
			path, _ := newWebhook(s, program, nil)
			was := s.Get(path)
			check(s.Post("/programs/"+program+"/webhooks", servertest.Merge(minimalWebhook, fields{c.field: c.value})), c.made, 201)
			check(s.Patch(path, fields{c.field: c.value}), c.change, 200)
			if now := s.Get(path); c.change == "" && want != leaveOut {
				now.Shows(fields{c.field: want})
			} else if c.change != "" && string(now.Body) != string(was.Body) {
				t.Errorf("a refused PATCH changed %s to %s", was.Body, now.Body)
			}
		})
	}
}

// TestWebhookDefaults checks a webhook that was created with the required fields
// only.
func TestWebhookDefaults(t *testing.T) {
	s := start(t, servertest.Frozen)
	program := s.ProgramIDs["standard"]
	path, made := newWebhook(s, program, nil)
	made.Shaped("", "CreatedWebhook", "")
	now := "2026-03-01T09:00:00.000Z"
	made.Shows(fields{"shop_id": s.ShopID, "program_id": program, "url": "https://hooks.invalid/a", "events": []string{"card.added"},
		"active": true, "description": "", "has_bearer_token": false,
		"program_ids": []string{}, "location_ids": []string{}, "include_shop_wide_events": true, "http_method": "POST",
		"custom_headers": fields{}, "payload_version": "v2",
		"consecutive_failures": 0, "created_at": now, "updated_at": now})
	if !strings.HasPrefix(made.Str("id"), "whk_") {
		t.Errorf("id %s", made.Str("id"))
	}
	s.Get(path).Want(200).Shaped("", "Webhook", "")
	s.Get("/programs/"+program+"/webhooks").Want(200).Shaped("data.0", "Webhook", "")
}

// TestReservedHeaders checks that custom headers cannot replace those of a delivery, whether their
// names are written in upper or lower case.
func TestReservedHeaders(t *testing.T) {
	s := start(t)
	program := s.ProgramIDs["standard"]
	path, _ := newWebhook(s, program, nil)
	for code, names := range map[string]string{
		"not_allowed": "Content-Type User-Agent Authorization X-Service-Signature X-Service-Sequence webhook-id webhook-timestamp " +
			"webhook-signature Webhook-Anything",
		"invalid_value": "Host Cookie Content-Length Connection Keep-Alive Proxy-Authenticate Proxy-Authorization Proxy-Connection " +
			"Proxy-Any TE Trailer Transfer-Encoding Upgrade HTTP2-Settings X_Shop X-Forwarded_For Content_Length _",
	} {
		for name := range strings.FieldsSeq(names) {
			for _, form := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
				s.Patch(path, fields{"custom_headers": fields{form: "x"}}).Invalid("custom_headers." + form + " " + code)
				s.Post("/programs/"+program+"/webhooks", servertest.Merge(minimalWebhook, fields{"custom_headers": fields{form: "x"}})).
					Invalid("custom_headers." + form + " " + code)
			}
		}
	}
	for _, name := range []string{
		"X-Host", "Hosts", "X-Webhook-Id", "Webhook", "Accept", "Cookies", "X-Cookie", "Proxy", "X-Service-Signature-2",
	} {
		s.Patch(path, fields{"custom_headers": fields{name: "x"}}).WantOK(fields{"custom_headers": fields{name: "***"}})
	}
}

// TestExclusiveEvents checks that transaction.created excludes the six specific events about
// transactions, on creation and in PATCH.
func TestExclusiveEvents(t *testing.T) {
	s := start(t)
	program := s.ProgramIDs["standard"]
	path, _ := newWebhook(s, program, fields{"events": []string{"transaction.created"}})
	specific := strings.Fields("stamp.assigned prize.redeemed value.changed transaction.reversed card.used card.expired")
	for _, e := range specific {
		for _, list := range [][]string{{"transaction.created", e}, {e, "*", "transaction.created"}} {
			s.Post("/programs/"+program+"/webhooks", servertest.Merge(minimalWebhook, fields{"events": list})).
				Invalid("events mutually_exclusive")
			s.Patch(path, fields{"events": list, "description": "x"}).Invalid("events mutually_exclusive")
		}
		s.Patch(path, fields{"events": []string{e}}).Want(200) // replaces the list, so that no other event is in it
		s.Patch(path, fields{"events": []string{"transaction.created"}}).WantOK(fields{"events": []string{"transaction.created"}})
	}
	s.Patch(path, fields{"description": "y"}).WantOK(fields{"events": []string{"transaction.created"}})
	s.Patch(path, fields{
		"events":      []string{"transaction.created", "bogus", "card.used"},
		"url":         "http://hooks.invalid/",
		"description": 7,
	}).
		Invalid("description invalid_type", "events.1 invalid_value", "events mutually_exclusive", "url invalid_value")
}

// TestHeaderLimits checks the configurable bounds of custom headers, together with other details.
func TestHeaderLimits(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Limits.WebhookMaxCustomHeaders, c.Limits.WebhookCustomHeadersMaxBytes = 2, 10 })
	program := s.ProgramIDs["standard"]
	path, _ := newWebhook(s, program, fields{"custom_headers": fields{"AA": "123", "BB": "456"}}) // ten bytes
	for _, c := range []struct {
		headers fields
		want    []string
	}{
		{fields{"AA": "123", "BB": "4567"}, []string{"custom_headers too_long"}},
		{fields{"AAAAAAAAAA": "1"}, []string{"custom_headers too_long"}},
		{fields{"A": "1", "B": "1", "C": "1"}, []string{"custom_headers too_many"}},
		{fields{"A": "12345678", "B": "1", "C": "1"}, []string{"custom_headers too_many", "custom_headers too_long"}},
	} {
		s.Patch(path, fields{"custom_headers": c.headers}).Invalid(c.want...)
		s.Post("/programs/"+program+"/webhooks", servertest.Merge(minimalWebhook, fields{
			"custom_headers": c.headers,
			"program_ids":    []string{"x"},
			"location_ids":   []string{s.LocationIDs[0], "y", "z"},
		})).
			Invalid(append([]string{
				"program_ids.0 invalid_value", "location_ids.1 invalid_value", "location_ids.2 invalid_value",
			}, c.want...)...)
	}
	s.Get(path).Shows(fields{"custom_headers": fields{"AA": "***", "BB": "***"}})
	if n := s.Value("SELECT count(*) FROM webhooks"); n != "1" {
		t.Errorf("%s webhooks", n)
	}
}
