package api_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"punchcard/server/api"
)

// TestOtherShop: what belongs to another shop cannot be told from what never
// was, on any operation, byte for byte.
func TestOtherShop(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := s.things()
	s.patch("/cards/"+th.card, `{"external_ref":"m-1","holder_email":"ada@example.com"}`).want(200)
	world := s.world(th.program)
	o := s.newShop()
	mine := o.post("/programs", sampleBodies["createProgram"]).want(201).str("id")
	never := things{"loc_00000000000000000000000000", "prg_00000000000000000000000000", "prz_00000000000000000000000000", "crd_00000000000000000000000000",
		"whk_00000000000000000000000000", "dlv_00000000000000000000000000", "stamps"}
	for _, r := range api.Routes() {
		switch {
		case strings.Contains(r.Path, ":type"): // the types are every shop's
			o.do(r, never).want(404, "not_found")
			for _, kind := range types {
				o.do(r, things{cardType: kind}).want(200)
			}
		case strings.Contains(r.Path, ":"):
			a, b := o.do(r, th).want(404, "not_found"), o.do(r, never).want(404, "not_found")
			if a.anonymous() != b.anonymous() {
				t.Errorf("%s:\n%s\n%s", r.ID, a.body, b.body)
			}
			// The same when only the second id is another's.
			if strings.Contains(r.Path, ":prizeId") {
				a, b := o.do(r, things{program: mine, prize: th.prize}).want(404), o.do(r, things{program: mine, prize: never.prize}).want(404)
				if a.anonymous() != b.anonymous() {
					t.Errorf("%s:\n%s\n%s", r.ID, a.body, b.body)
				}
				s.do(r, things{program: s.ProgramIDs["private"], prize: th.prize}).want(404) // another program of the shop
			}
			if strings.Contains(r.Path, ":webhookId") {
				a, b := o.do(r, things{program: mine, webhook: th.webhook, delivery: th.delivery}).want(404), o.do(r, things{program: mine, webhook: never.webhook, delivery: never.delivery}).want(404)
				if a.anonymous() != b.anonymous() {
					t.Errorf("%s:\n%s\n%s", r.ID, a.body, b.body)
				}
				s.do(r, things{program: s.ProgramIDs["private"], webhook: th.webhook, delivery: th.delivery}).want(404)
			}
			// A wrong body is told before the resource, so it tells nothing of it.
			if r.Writes() && r.Method != "DELETE" {
				a, b := o.call(r.Method, th.fill(t, r), `{"x":1}`).want(400), o.call(r.Method, never.fill(t, r), `{"x":1}`).want(400)
				if a.anonymous() != b.anonymous() {
					t.Errorf("%s:\n%s\n%s", r.ID, a.body, b.body)
				}
			}
		case r.Method == "GET":
			for _, id := range []string{th.location, th.program, th.prize, th.card, s.ShopID, "m-1", "ada@example.com", "ada"} {
				if body := string(o.do(r, things{}).want(200).body); strings.Contains(body, id) && id != "ada" {
					t.Errorf("%s shows %s: %s", r.ID, id, body)
				}
			}
		}
	}
	for _, pair := range [][2]string{
		{"/cards?program_id=" + th.program, "/cards?program_id=" + never.program},
		{"/cards?external_ref=m-1", "/cards?external_ref=m-2"},
		{"/cards?holder_email=ada@example.com", "/cards?holder_email=bea@example.com"},
		{"/transactions?program_id=" + th.program, "/transactions?program_id=" + never.program},
		{"/transactions?card_id=" + th.card, "/transactions?card_id=" + never.card},
		{"/transactions?location_id=" + th.location, "/transactions?location_id=" + never.location},
	} {
		if a, b := o.get(pair[0]).want(200), o.get(pair[1]).want(200); string(a.body) != string(b.body) || string(a.body) != `{"data":[],"next_cursor":null,"limit":50}` {
			t.Errorf("%s\n%s\n%s", pair[0], a.body, b.body)
		}
	}
	// Ids in bodies, and cursors.
	scoped := func(id string) string {
		return `{"type":"discount","name":"X","discount_percent":5,"location_scope":"selected_locations","scoped_location_ids":["` + id + `"]}`
	}
	a, b := o.post("/programs", scoped(th.location)).want(400), o.post("/programs", scoped(never.location)).want(400)
	if a.anonymous() != b.anonymous() {
		t.Errorf("%s\n%s", a.body, b.body)
	}
	for _, list := range []string{"/programs", "/locations"} {
		cursor := s.get(list + "?limit=1").want(200).str("next_cursor")
		a, b := o.get(list+"?cursor="+cursor).want(400), o.get(list+"?cursor="+strings.Repeat("0", len(cursor))).want(400)
		if cursor == "" || a.anonymous() != b.anonymous() {
			t.Errorf("%s\n%s", a.body, b.body)
		}
		other := map[string]string{"/programs": "/locations", "/locations": "/programs"}[list]
		s.get(other+"?cursor="+cursor).want(400, "validation_failed") // of another list
	}
	// The same Idempotency-Key in two shops is two keys.
	s.post("/programs/"+th.program+"/cards", nil, "Idempotency-Key", "k").want(201)
	o.post("/programs/"+th.program+"/cards", nil, "Idempotency-Key", "k").want(404).fresh()
	o.post("/programs/"+mine+"/publish", nil).want(200)
	if o.post("/programs/"+mine+"/cards", `{"external_ref":"m-1"}`).want(201); o.count("/cards") != 1 {
		t.Error("the second shop does not see its own card alone")
	}
	after := s.world(th.program)
	if strings.Count(after, `"crd_`) != strings.Count(world, `"crd_`)+1 || strings.Count(after, `"prg_`) != strings.Count(world, `"prg_`)+1 {
		t.Errorf("the first shop changed:\n%s\n%s", world, after)
	}
}

// TestTextIsData: what means something to SQL, HTML, a format string or a
// terminal is stored and found as the text it is.
func TestTextIsData(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := s.things()
	texts := []string{"' OR '1'='1", "'); DROP TABLE cards; --", `" OR ""="`, "x' UNION SELECT hash FROM keys --", "%", "_", "100%", "a%b_c", "*?[a-z]", `\`, `\'`, "\x01\x1f\x7f", "\u0080\u009f",
		"\u202eevil\u202c", "\u200b", "<img src=x onerror=alert(1)>", "{{7*7}}", "${jndi:ldap://x}", "%s%n", "$(reboot)", "`id`", "NULL", "null", "true", "0", "-1", "1e5", "[]", "{}", " ", "\t\n", "É", "é", "ß", "İ", "ﬃ", "😀", "\uffff", "install_url", `","install_url":"x`}
	for _, text := range texts {
		quoted := jsonText(t, text)
		body := `{"holder_name":` + quoted + `,"external_ref":` + quoted + `}`
		issued := s.post("/programs/"+th.program+"/cards", body).want(201)
		card := s.get("/cards/" + issued.str("id")).want(200)
		if card.str("holder_name") != text || card.str("external_ref") != text || issued.str("external_ref") != text {
			t.Errorf("%q came back as %s", text, card.body)
		}
		found := s.get("/cards?external_ref=" + url.QueryEscape(text)).want(200)
		if list := found.at("data").([]any); len(list) != 1 || found.str("data.0.id") != issued.str("id") {
			t.Errorf("%q finds %d cards", text, len(list))
		}
		s.post("/programs/"+th.program+"/cards", body).want(409, "conflict")
		if !strings.HasPrefix(issued.str("install_qr_svg"), "<svg") || !strings.HasPrefix(issued.str("install_url"), s.Origin+"/i/") {
			t.Errorf("%q: %s", text, issued.body)
		}
		p := s.patch("/programs/"+th.program, `{"name":`+quoted+`,"description":`+quoted+`,"icon_key":`+quoted+`,"name_localizations":{"it":`+quoted+`}}`).want(200)
		if p.str("name") != text || p.str("description") != text || p.str("icon_key") != text {
			t.Errorf("%q came back as %s", text, p.body)
		}
		l := s.patch("/locations/"+th.location, `{"name":`+quoted+`,"address":`+quoted+`,"city":`+quoted+`,"postal_code":"1"}`).want(200)
		if l.str("name") != text || l.str("address") != text || s.get("/cards/"+issued.str("id")).want(200).at("locations") == nil {
			t.Errorf("%q came back as %s", text, l.body)
		}
		if names := namesIn(s.get("/cards/" + issued.str("id")).at("locations")); !slices.Contains(names, text) || len(names) != 2 {
			t.Errorf("%q: locations %q", text, names)
		}
		z := s.patch("/programs/"+th.program+"/prizes/"+th.prize, `{"name":`+quoted+`,"description":`+quoted+`}`).want(200)
		if z.str("name") != text || z.str("description") != text {
			t.Errorf("%q came back as %s", text, z.body)
		}
	}
	// Nothing but the exact text matches.
	for _, ref := range []string{"%%", "__", "' or '1'='1", "e\u0301", "ss", "É ", " É", "SS"} {
		if got := s.get("/cards?external_ref=" + url.QueryEscape(ref)).want(200); len(got.at("data").([]any)) != 0 {
			t.Errorf("external_ref=%q: %s", ref, got.body)
		}
	}
}

func namesIn(list any) (names []string) {
	for _, v := range list.([]any) {
		names = append(names, v.(map[string]any)["name"].(string))
	}
	return names
}
