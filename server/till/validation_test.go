package till_test

import (
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// badBodies are bodies of writes, named by their actions, that are refused with details. For wrong types
// see TestBadFieldsAreNamed, and for the size of metadata TestMetadataIsComplete.
var badBodies = []struct{ action, body, details string }{
	{"stamps", `{"count":101}`, "count too_large"},
	{"stamps", `{"spend_cents":100000001}`, "spend_cents too_large"},
	{"stamps", `{"metadata":{"weights":[{"kg":1e400}]}}`, "metadata invalid_value"},
	{"stamps", `{"count":0,"spend_cents":"a","metadata":[],"x":1}`,
		"count too_small,spend_cents invalid_type,metadata invalid_type,x unknown_field"},
	{"redemptions", ``, "prize_id required"},
	{"redemptions", `{"metadata":[]}`, "metadata invalid_type,prize_id required"},
	{"topups", `{}`, "amount_cents required"},
	{"topups", `{"amount_cents":0}`, "amount_cents too_small"},
	{"topups", `{"amount_cents":100000001}`, "amount_cents too_large"},
	{"spends", `{"amount_cents":100000001,"spend_cents":1}`, "amount_cents too_large,spend_cents unknown_field"},
	{"uses", `{"count":1}`, "count unknown_field"},
	{"reversal", `{"reason":"x"}`, "reason unknown_field"},
	{"issue", `{"holder_name":"","holder_email":"nobody","external_ref":""}`,
		"holder_name too_short,holder_email invalid_format,external_ref too_short"},
	{"issue", `{"amount_cents":100,"holder_name":""}`, "holder_name too_short,amount_cents not_allowed"},
	{"gift", `{"amount_cents":0}`, "amount_cents too_small"},
	{"gift", `{"amount_cents":100000001}`, "amount_cents too_large"},
	{"issue", `{"expires_at":"2030-01-01T00:00:00Z","send_email":true}`, "expires_at unknown_field,send_email unknown_field"},
}

// TestValidation checks that all offending fields are reported at once, that
// nothing is written, and that values at the bounds are accepted.
func TestValidation(t *testing.T) {
	s := start(t)
	cards := map[string]string{}
	for _, kind := range servertest.Types {
		cards[kind] = s.Issue(s.ProgramIDs[kind], nil)
	}
	row := giveStamps(s, cards["private"], 1).Str("transaction.id")
	paths := map[string]string{
		"stamps": "/cards/" + cards["standard"] + "/stamps", "redemptions": "/cards/" + cards["standard"] + "/redemptions",
		"topups": "/cards/" + cards["prepaid"] + "/topups", "spends": "/cards/" + cards["prepaid"] + "/spends",
		"uses":     "/cards/" + cards["access"] + "/uses",
		"reversal": "/transactions/" + row + "/reversal", "issue": "/programs/" + s.ProgramIDs["standard"] + "/cards",
		"gift": "/programs/" + s.ProgramIDs["prepaid"] + "/cards",
	}
	for _, c := range badBodies {
		s.Unchanged(func() {
			r := s.Post(paths[c.action], c.body).Want(400, "validation_failed")
			if got := strings.Join(r.Details(), ","); got != c.details {
				t.Errorf("%s: %.60s: %q, want %q", c.action, c.body, got, c.details)
			}
		})
	}
	stamps := paths["stamps"]
	// Within metadata, too, no name appears twice and no text has U+0000.
	for _, body := range []string{`{"metadata":{"a":1,"a":2}}`, `{"metadata":{"a":"\u0000"}}`} {
		s.Unchanged(func() { s.Post(stamps, body).Want(400, "validation_failed") })
	}

	// These are within the bounds; null equals absence.
	for _, c := range []struct{ action, body string }{
		{"stamps", `{"count":null,"spend_cents":null,"metadata":null}`}, {"stamps", `{"metadata":{}}`}, {"stamps", ``},
		{"stamps", `{"count":1.0}`},
		{"gift", `{"amount_cents":100000000}`}, {"gift", `{"amount_cents":1}`}, {"gift", `{"amount_cents":null}`},
		{"issue", `{"amount_cents":null}`},
		{"topups", `{"amount_cents":100000000}`}, {"spends", `{"amount_cents":1}`},
	} {
		r := s.Post(paths[c.action], c.body).Want(201)
		if c.action == "stamps" {
			r.Shows(fields{"transaction.stamps_delta": 1})
		}
	}
	s.Post("/cards/"+s.Issue(s.NewProgram("standard", true, fields{"total_stamps": 200}), nil)+"/stamps", `{"count":100}`).Want(201)
	// Two cards have no room for 21 stamps.
	fresh := s.Issue(s.ProgramIDs["standard"], nil)
	s.Unchanged(func() { stamp(s, fresh, `{"count":21}`).Want(422, "unprocessable_entity") })
}
