package api_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"punchcard/server/api"
	"punchcard/server/kernel"
	"punchcard/server/servertest"
)

// unknown are ids with the form of real ones that no resource has.
var unknown = things{"loc_00000000000000000000000000", "prg_00000000000000000000000000", "prz_00000000000000000000000000", "crd_00000000000000000000000000",
	"whk_00000000000000000000000000", "dlv_00000000000000000000000000", "stamps"}

// sameAnswers checks that two answers are equal, except for the request id.
func sameAnswers(t *testing.T, what string, a, b *servertest.Reply) {
	t.Helper()
	if a.Stable() != b.Stable() {
		t.Errorf("%s: the answers differ:\n%s\n%s", what, a.Body, b.Body)
	}
}

// TestOtherShop checks that every operation answers about a resource of another shop as about one
// that does not exist.
func TestOtherShop(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := newThings(s)
	s.Patch("/cards/"+th.card, `{"external_ref":"m-1","holder_email":"ada@example.com"}`).Want(200)
	state := snapshot(s, th.program)
	o := s.NewShop(nil)
	mine := o.Post("/programs", sampleBodies["createProgram"]).Want(201).Str("id")
	for _, r := range servertest.Sample(api.Routes()) {
		switch {
		case strings.Contains(r.Path, ":type"): // types are the same in all shops
			doRoute(o, r, unknown).Want(404, "not_found")
			for _, kind := range servertest.Types {
				doRoute(o, r, things{cardType: kind}).Want(200)
			}
		case strings.Contains(r.Path, ":"):
			checkOtherPath(t, s, o, r, th, mine)
		case r.Method == "GET":
			for _, id := range []string{th.location, th.program, th.prize, th.card, s.ShopID, "m-1", "ada@example.com", "ada"} {
				if body := string(doRoute(o, r, things{}).Want(200).Body); strings.Contains(body, id) && id != "ada" {
					t.Errorf("%s shows %s: %s", r.ID, id, body)
				}
			}
		}
	}
	for _, pair := range [][2]string{
		{"/cards?program_id=" + th.program, "/cards?program_id=" + unknown.program},
		{"/cards?external_ref=m-1", "/cards?external_ref=m-2"},
		{"/cards?holder_email=ada@example.com", "/cards?holder_email=bea@example.com"},
		{"/transactions?program_id=" + th.program, "/transactions?program_id=" + unknown.program},
		{"/transactions?card_id=" + th.card, "/transactions?card_id=" + unknown.card},
		{"/transactions?location_id=" + th.location, "/transactions?location_id=" + unknown.location},
	} {
		if a, b := o.Get(pair[0]).Want(200), o.Get(pair[1]).Want(200); string(a.Body) != string(b.Body) || string(a.Body) != `{"data":[],"next_cursor":null,"limit":50}` {
			t.Errorf("%s: the answers differ or are not empty:\n%s\n%s", pair[0], a.Body, b.Body)
		}
	}
	// The same holds for ids in bodies and for cursors.
	scoped := func(id string) string {
		return `{"type":"discount","name":"X","discount_percent":5,"location_scope":"selected_locations","scoped_location_ids":["` + id + `"]}`
	}
	sameAnswers(t, "location ids in a body", o.Post("/programs", scoped(th.location)).Want(400), o.Post("/programs", scoped(unknown.location)).Want(400))
	for _, list := range []string{"/programs", "/locations"} {
		cursor := s.Get(list + "?limit=1").Want(200).Str("next_cursor")
		if cursor == "" {
			t.Errorf("%s has no cursor", list)
		}
		sameAnswers(t, "cursors of "+list, o.Get(list+"?cursor="+cursor).Want(400), o.Get(list+"?cursor="+strings.Repeat("0", len(cursor))).Want(400))
		other := map[string]string{"/programs": "/locations", "/locations": "/programs"}[list]
		s.Get(other+"?cursor="+cursor).Want(400, "validation_failed") // a cursor of another list
	}
	// The same Idempotency-Key in two shops is two keys.
	s.Post("/programs/"+th.program+"/cards", nil, "Idempotency-Key", "k").Want(201)
	o.Post("/programs/"+th.program+"/cards", nil, "Idempotency-Key", "k").Want(404).First()
	o.Post("/programs/"+mine+"/publish", nil).Want(200)
	if o.Post("/programs/"+mine+"/cards", `{"external_ref":"m-1"}`).Want(201); o.Count("/cards") != 1 {
		t.Error("the second shop does not see only its own card")
	}
	after := snapshot(s, th.program)
	if strings.Count(after, `"crd_`) != strings.Count(state, `"crd_`)+1 || strings.Count(after, `"prg_`) != strings.Count(state, `"prg_`)+1 {
		t.Errorf("the first shop changed:\n%s\n%s", state, after)
	}
}

// checkOtherPath checks a route with the ids of th, which are of shop s, for shop o, whose program is
// mine.
func checkOtherPath(t *testing.T, s, o *servertest.Server, r kernel.Route, th things, mine string) {
	sameAnswers(t, r.ID, doRoute(o, r, th).Want(404, "not_found"), doRoute(o, r, unknown).Want(404, "not_found"))
	private := s.ProgramIDs["private"] // another program of the shop
	// The same holds if only the second id is another shop's.
	if strings.Contains(r.Path, ":prizeId") {
		sameAnswers(t, r.ID+" of its own program", doRoute(o, r, things{program: mine, prize: th.prize}).Want(404), doRoute(o, r, things{program: mine, prize: unknown.prize}).Want(404))
		doRoute(s, r, things{program: private, prize: th.prize}).Want(404)
	}
	if strings.Contains(r.Path, ":webhookId") {
		sameAnswers(t, r.ID+" of its own program", doRoute(o, r, things{program: mine, webhook: th.webhook, delivery: th.delivery}).Want(404),
			doRoute(o, r, things{program: mine, webhook: unknown.webhook, delivery: unknown.delivery}).Want(404))
		doRoute(s, r, things{program: private, webhook: th.webhook, delivery: th.delivery}).Want(404)
	}
	// An invalid body is refused before the resource is looked up, so the answers are equal.
	if r.Writes() && r.Method != "DELETE" {
		sameAnswers(t, r.ID+" with an invalid body", o.Call(r.Method, th.fill(t, r), `{"x":1}`).Want(400), o.Call(r.Method, unknown.fill(t, r), `{"x":1}`).Want(400))
	}
}

// TestTextIsData checks that text with a meaning in SQL, HTML, format strings or
// terminals is stored and found unchanged.
func TestTextIsData(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := newThings(s)
	texts := []string{"' OR '1'='1", "'); DROP TABLE cards; --", `" OR ""="`, "x' UNION SELECT hash FROM keys --", "%", "_", "100%", "a%b_c", "*?[a-z]", `\`, `\'`,
		"\u200bx", "\u00ad-", "<img src=x onerror=alert(1)>", "{{7*7}}", "${jndi:ldap://x}", "%s%n", "$(reboot)", "`id`", "NULL", "null", "true", "0", "-1", "1e5", "[]", "{}", "É", "é", "ß", "İ", "ﬃ", "😀", "\uffff", "install_url", `","install_url":"x`}
	for _, text := range texts {
		quoted := jsonText(t, text)
		body := `{"holder_name":` + quoted + `,"external_ref":` + quoted + `}`
		issued := s.Post("/programs/"+th.program+"/cards", body).Want(201)
		card := s.Get("/cards/" + issued.Str("id")).Want(200)
		if card.Str("holder_name") != text || card.Str("external_ref") != text || issued.Str("external_ref") != text {
			t.Errorf("%q came back as %s", text, card.Body)
		}
		found := s.Get("/cards?external_ref=" + url.QueryEscape(text)).Want(200)
		if list := found.At("data").([]any); len(list) != 1 || found.Str("data.0.id") != issued.Str("id") {
			t.Errorf("%q finds %d cards", text, len(list))
		}
		s.Post("/programs/"+th.program+"/cards", body).Want(409, "conflict")
		if !strings.HasPrefix(issued.Str("install_qr_svg"), "<svg") || !strings.HasPrefix(issued.Str("install_url"), s.Origin+"/i/") {
			t.Errorf("%q: %s", text, issued.Body)
		}
		p := s.Patch("/programs/"+th.program, `{"name":`+quoted+`,"description":`+quoted+`,"icon_key":`+quoted+`,"name_localizations":{"it":`+quoted+`}}`).Want(200)
		if p.Str("name") != text || p.Str("description") != text || p.Str("icon_key") != text {
			t.Errorf("%q came back as %s", text, p.Body)
		}
		l := s.Patch("/locations/"+th.location, `{"name":`+quoted+`,"address":`+quoted+`,"city":`+quoted+`,"postal_code":"1"}`).Want(200)
		if l.Str("name") != text || l.Str("address") != text || s.Get("/cards/"+issued.Str("id")).Want(200).At("locations") == nil {
			t.Errorf("%q came back as %s", text, l.Body)
		}
		if names := namesIn(s.Get("/cards/" + issued.Str("id")).At("locations")); !slices.Contains(names, text) || len(names) != 2 {
			t.Errorf("%q: locations %q", text, names)
		}
		z := s.Patch("/programs/"+th.program+"/prizes/"+th.prize, `{"name":`+quoted+`,"description":`+quoted+`}`).Want(200)
		if z.Str("name") != text || z.Str("description") != text {
			t.Errorf("%q came back as %s", text, z.Body)
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
