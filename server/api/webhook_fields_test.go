package api_test

import (
	"cmp"
	"encoding/json"
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

// postWebhook asks for a webhook with the fields of minimalWebhook and more.
func postWebhook(s *servertest.Server, program string, more fields) *servertest.Reply {
	s.T.Helper()
	return s.Post("/programs/"+program+"/webhooks", servertest.Merge(minimalWebhook, more))
}

// newWebhook creates a webhook and returns its path and the answer.
func newWebhook(s *servertest.Server, program string, more fields) (path string, made *servertest.Reply) {
	s.T.Helper()
	made = postWebhook(s, program, more).Want(201)
	return "/programs/" + program + "/webhooks/" + made.Str("id"), made
}

// hookValue is a value of a field of webhooks as JSON, and what is answered to it.
type hookValue struct{ field, value, answer string }

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

// acceptedValues are answered with a value that is the one sent if the answer is empty, and none if it is "-". TEA is
// the id of a program, HERE and THERE are those of the shop's locations.
var acceptedValues = []hookValue{
	{"url", `"https://hooks.invalid:8443/b?x=1"`, ""},
	{"url", `"http://127.0.0.1:1/"`, ""},
	{"events", `["transaction.created","card.*","*","card.added"]`, ""},
	{"events", `["transaction.*","stamp.*","location.updated"]`, ""},
	{"events", `["card.archived","card.added","card.archived","*"]`, `["card.archived","card.added","*"]`},
	{"bearer_token", `"` + strings.Repeat("~", 1024) + `"`, "-"},
	{"bearer_token", `"!\"#'\\~"`, "-"},
	{"active", "false", ""},
	{"include_shop_wide_events", "false", ""},
	{"http_method", `"PUT"`, ""},
	{"custom_headers", `{"X-Shop":"1","x-b.c~":" a b "}`, `{"X-Shop":"***","x-b.c~":"***"}`},
	{"program_ids", "null", "[]"},
	{"program_ids", `["TEA","HOME","TEA"]`, `["TEA","HOME"]`},
	{"program_ids", `["TEA"` + strings.Repeat(`,"TEA"`, 999) + "]", `["TEA"]`},
	{"location_ids", "null", "[]"},
	{"location_ids", `["THERE","HERE","HERE"]`, `["THERE","HERE"]`},
}

// refusedValues are values that break a rule that the schema does not have, with the detail. For the others see
// TestBadFieldsAreNamed and TestNull. THEIRS and ELSEWHERE are of another shop, and GONE and NONE no programs.
var refusedValues = []hookValue{
	{"url", `"http://hooks.invalid/"`, "url invalid_value"},
	{"url", `"https://10.0.0.1/"`, "url not_public"},
	{"url", `"https://ada@hooks.invalid/"`, "url invalid_format"},
	{"events", `["card.added","card.gone"]`, "events.1 invalid_value"},
	{"events", `["test.ping"]`, "events.0 invalid_value"},
	{"events", `["test.*"]`, "events.0 invalid_value"},
	{"events", `["bogus.*"]`, "events.0 invalid_value"},
	{"events", `["card*"]`, "events.0 invalid_value"},
	{"events", `[".*"]`, "events.0 invalid_value"},
	{"events", `["CARD.ADDED"]`, "events.0 invalid_value"},
	{"events", `[" *"]`, "events.0 invalid_value"},
	{"events", `[""]`, "events.0 invalid_value"},
	{"bearer_token", `"a b"`, "bearer_token invalid_format"},
	{"bearer_token", `"é"`, "bearer_token invalid_format"},
	{"bearer_token", `"\u007f"`, "bearer_token invalid_format"},
	{"http_method", `"post"`, "http_method invalid_value"},
	{"custom_headers", `{"X":" "}`, "custom_headers.X too_short"},
	{"custom_headers", `{"X":"a\tb"}`, "custom_headers.X invalid_format"},
	{"custom_headers", `{"":"a"}`, "custom_headers. invalid_format"},
	{"custom_headers", `{"a b":"a"}`, "custom_headers.a b invalid_format"},
	{"custom_headers", `{"é":"a"}`, "custom_headers.é invalid_format"},
	{"custom_headers", `{"a\r\nb":"a"}`, "custom_headers.a\r\nb invalid_format"},
	{"custom_headers", `{"X":"a\r\nHost: b"}`, "custom_headers.X invalid_format"},
	{"custom_headers", `{"X":"é"}`, "custom_headers.X invalid_format"},
	{"custom_headers", `{"X-Shop":"1","x-shop":"2"}`, "custom_headers.x-shop invalid_value"},
	{"custom_headers", `{"` + strings.Repeat("é", 200) + `":"1"}`, "custom_headers." + strings.Repeat("é", 85) + "… invalid_format"},
	{"program_ids", `["TEA","x"]`, "program_ids.1 invalid_value"},
	{"program_ids", `["THEIRS"]`, "program_ids.0 invalid_value"},
	{"program_ids", `["GONE"]`, "program_ids.0 invalid_value"},
	{"program_ids", `["HERE"]`, "program_ids.0 invalid_value"},
	{"program_ids", `["NONE"]`, "program_ids.0 invalid_value"},
	{"program_ids", `["TEA"` + strings.Repeat(`,"TEA"`, 1000) + "]", "program_ids too_many"},
	{"location_ids", `["HERE","ELSEWHERE"]`, "location_ids.1 invalid_value"},
	{"location_ids", `["TEA"]`, "location_ids.0 invalid_value"},
	{"location_ids", `["HERE"` + strings.Repeat(`,"HERE"`, 1000) + "]", "location_ids too_many"},
}

// TestWebhookFields sends values on creation and in PATCH.
func TestWebhookFields(t *testing.T) {
	s := start(t)
	program := s.ProgramIDs["standard"]
	tea, gone := s.NewProgram("standard", false, nil), s.NewProgram("standard", false, nil)
	s.Control("DELETE", "/programs/"+gone, nil)
	other, elsewhere := newOtherShop(s)
	ids := strings.NewReplacer("TEA", tea, "HOME", program, "GONE", gone, "THEIRS", other.NewProgram("standard", false, nil),
		"NONE", s.App.Store.ID(store.KindProgram, 999), "ELSEWHERE", elsewhere, "HERE", s.LocationIDs[0], "THERE", s.LocationIDs[1])
	most := hookValue{"events", jsonText(t, patterns(50)), jsonText(t, slices.Compact(patterns(50)))}
	for _, c := range servertest.Sample(append(acceptedValues, most)) {
		t.Run(fmt.Sprintf("%s=%.24s", c.field, c.value), func(t *testing.T) {
			s := s.On(t)
			path, _ := newWebhook(s, program, nil)
			body := fields{c.field: json.RawMessage(ids.Replace(c.value))}
			for _, r := range []*servertest.Reply{postWebhook(s, program, body).Want(201), s.Patch(path, body).Want(200), s.Get(path)} {
				if c.answer != "-" {
					r.Shows(fields{c.field: json.RawMessage(ids.Replace(cmp.Or(c.answer, c.value)))})
				}
			}
		})
	}
	path, was := newWebhook(s, program, nil)
	for _, c := range servertest.Sample(refusedValues) {
		body := fields{c.field: json.RawMessage(ids.Replace(c.value))}
		postWebhook(s, program, body).Invalid(c.answer)
		s.Patch(path, body).Invalid(c.answer)
	}
	s.Get(path).Shows(fields{"updated_at": was.At("updated_at")})
	// These are for one of both only.
	postWebhook(s, program, fields{"payload_version": "v1"}).Want(201).Shows(fields{"payload_version": "v1"})
	for _, version := range []any{"v1", nil, 2} {
		s.Patch(path, fields{"payload_version": version}).Invalid("payload_version not_allowed")
	}
	postWebhook(s, program, fields{"rotate_secret": true}).Invalid("rotate_secret unknown_field")
}

// TestWebhookDefaults checks a webhook that was created with the required fields
// only.
func TestWebhookDefaults(t *testing.T) {
	s := start(t, servertest.Frozen)
	program := s.ProgramIDs["standard"]
	_, made := newWebhook(s, program, nil)
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
	s.Get("/programs/"+program+"/webhooks").Want(200).Shaped("data.0", "Webhook", "")
}

// TestReservedHeaders checks that custom headers cannot replace those of a delivery, whether their
// names are written in upper or lower case.
func TestReservedHeaders(t *testing.T) {
	s := start(t)
	path, _ := newWebhook(s, s.ProgramIDs["standard"], nil)
	for code, names := range map[string]string{
		"not_allowed": "Content-Type User-Agent Authorization X-Service-Signature X-Service-Sequence webhook-id webhook-timestamp " +
			"webhook-signature Webhook-Anything",
		"invalid_value": "Host Cookie Content-Length Connection Keep-Alive Proxy-Authenticate Proxy-Authorization Proxy-Connection " +
			"Proxy-Any TE Trailer Transfer-Encoding Upgrade HTTP2-Settings X_Shop X-Forwarded_For Content_Length _",
	} {
		for name := range strings.FieldsSeq(names) {
			for _, form := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
				s.Patch(path, fields{"custom_headers": fields{form: "x"}}).Invalid("custom_headers." + form + " " + code)
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
			postWebhook(s, program, fields{"events": list}).Invalid("events mutually_exclusive")
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
		postWebhook(s, program, fields{
			"custom_headers": c.headers,
			"program_ids":    []string{"x"},
			"location_ids":   []string{s.LocationIDs[0], "y", "z"},
		}).
			Invalid(append([]string{
				"program_ids.0 invalid_value", "location_ids.1 invalid_value", "location_ids.2 invalid_value",
			}, c.want...)...)
	}
	s.Get(path).Shows(fields{"custom_headers": fields{"AA": "***", "BB": "***"}})
	if n := s.Value("SELECT count(*) FROM webhooks"); n != "1" {
		t.Errorf("%s webhooks", n)
	}
}
