package api_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"punchcard/server/api"
	"punchcard/server/servertest"
)

// unknown are ids with the form of real ones that no resource has.
var unknown = things{"loc_00000000000000000000000000", "prg_00000000000000000000000000", "prz_00000000000000000000000000",
	"crd_00000000000000000000000000",
	"whk_00000000000000000000000000", "dlv_00000000000000000000000000", "stamps"}

// sameAnswers checks that two answers are equal, except for the request id.
func sameAnswers(t *testing.T, what string, a, b *servertest.Reply) {
	t.Helper()
	if a.Stable() != b.Stable() {
		t.Errorf("%s: the answers differ:\n%s\n%s", what, a.Body, b.Body)
	}
}

// TestOtherShop checks that no list shows anything of another shop, and that each shop has idempotency
// keys and references of its own. For ids see TestEveryOperationRefuses and
// TestForeignIDsInBodiesAndQueries.
func TestOtherShop(t *testing.T) {
	s := start(t)
	th := newThings(s)
	s.Patch("/cards/"+th.card, `{"external_ref":"m-1","holder_email":"ada@example.com"}`).Want(200)
	o := s.NewShop(nil)
	mine := o.NewProgram("access", true, nil)
	for _, r := range api.Routes() {
		if r.Method != "GET" || strings.Contains(r.Path, ":") {
			continue
		}
		body := string(doRoute(o, r, things{}).Want(200).Body)
		for _, id := range []string{th.location, th.program, th.prize, th.card, s.ShopID, "m-1", "ada@example.com"} {
			if strings.Contains(body, id) {
				t.Errorf("%s shows %s: %s", r.ID, id, body)
			}
		}
	}
	for _, query := range []string{"external_ref=m-1", "holder_email=ada@example.com"} {
		o.Get("/cards?" + query).WantOK(fields{"data": []any{}, "next_cursor": nil})
	}
	s.Post("/programs/"+th.program+"/cards", nil, "Idempotency-Key", "k").Want(201)
	o.Post("/programs/"+mine+"/cards", `{"external_ref":"m-1"}`, "Idempotency-Key", "k").Want(201).First()
	if n := o.Count("/cards"); n != 1 {
		t.Errorf("the second shop sees %d cards, not only its own", n)
	}
}

// TestTextIsData checks that text with a meaning in SQL, HTML, format strings or
// terminals is stored and found unchanged.
func TestTextIsData(t *testing.T) {
	s := start(t)
	th := newThings(s)
	texts := []string{
		"'); DROP TABLE cards; --", `" OR ""="`, "%", "_", "*?[a-z]", `\'`, "\u200bx", "<img src=x onerror=alert(1)>", "{{7*7}}",
		"%s%n", "NULL", "null", "true", "-1", "1e5", "{}", "É", "é", "ß", "😀", "\uffff", "install_url", `","install_url":"x`,
	}
	cards := "/programs/" + th.program + "/cards"
	for _, text := range texts {
		body := fields{"holder_name": text, "external_ref": text}
		issued := s.Post(cards, body).Want(201)
		issued.Shows(body)
		if !strings.HasPrefix(issued.Str("install_qr_svg"), "<svg") || !strings.HasPrefix(issued.Str("install_url"), s.Origin+"/i/") {
			t.Errorf("%q: %s", text, issued.Body)
		}
		s.Get("/cards?external_ref=" + url.QueryEscape(text)).WantOK(fields{"data.0.id": issued.Str("id"), "data.1": nil})
		s.Post(cards, body).Want(409, "conflict")
		body = fields{"name": text, "description": text, "icon_key": text}
		s.Patch("/programs/"+th.program, servertest.Merge(body, fields{"name_localizations": fields{"it": text}})).WantOK(body)
		body = fields{"name": text, "description": text}
		s.Patch("/programs/"+th.program+"/prizes/"+th.prize, body).WantOK(body)
		body = fields{"name": text, "address": text, "city": text}
		s.Patch("/locations/"+th.location, body).WantOK(body)
		if names := namesIn(s.Get("/cards/" + issued.Str("id")).At("locations")); !slices.Contains(names, text) || len(names) != 2 {
			t.Errorf("%q: locations %q", text, names)
		}
	}
	// Only the exact text matches.
	for _, ref := range []string{"%%", "__", "' or '1'='1", "e\u0301", "ss", "É ", " É", "SS"} {
		if got := s.Get("/cards?external_ref=" + url.QueryEscape(ref)).Want(200); len(got.At("data").([]any)) != 0 {
			t.Errorf("external_ref=%q: %s", ref, got.Body)
		}
	}
}

// namesIn returns the names of the objects of a list.
func namesIn(list any) (names []string) {
	for _, v := range list.([]any) {
		names = append(names, v.(map[string]any)["name"].(string))
	}
	return names
}
