package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/store"
)

const cardTable = `
	id id
	program_id id
	program_name string
	program_type string
	external_ref string|null
	holder_name string|null
	holder_email string|null
	status string
	stamps_count integer
	current_value integer|null
	expires_at date-time|null
	installed_at date-time|null
	created_at date-time`

const cardDetailTable = cardTable + `
	all_locations boolean
	locations list`

const issuedTable = `
	id id
	program_id id
	external_ref string|null
	holder_name string|null
	holder_email string|null
	expires_at date-time|null
	install_url string
	install_url_expires_at date-time
	install_qr_svg string`

func TestCardShape(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	const bare = "external_ref holder_name holder_email "
	for _, kind := range types {
		value := "current_value "
		if kind == "prepaid" {
			value = ""
		}
		issued := s.post("/programs/"+s.ProgramIDs[kind]+"/cards", nil).want(201)
		issued.shaped("", issuedTable, bare+"expires_at")
		path := "/cards/" + issued.str("id")
		s.get(path).want(200).shaped("", cardDetailTable, bare+value+"expires_at installed_at")
		s.get("/cards?limit=1").want(200).shaped("data.0", cardTable, bare+value+"expires_at installed_at")
		s.patch(path, fields{"external_ref": "r", "holder_name": "n", "holder_email": "n@example.com", "expires_at": "2030-01-01T00:00:00Z"}).
			want(200).shaped("", cardDetailTable, value+"installed_at")
		s.post(path+"/install-link", nil).want(200).shaped("", issuedTable, "")
		s.post(path+"/reissue", nil).want(200).shaped("", issuedTable, "")
		s.install(issued.str("id"))
		full := s.get(path).want(200)
		full.shaped("", cardDetailTable, value)
		full.shaped("locations.0", "id id\nname string", "")
		full.shows(fields{"program_id": s.ProgramIDs[kind], "program_type": kind, "stamps_count": 0, "status": "active", "all_locations": true,
			"locations":  []fields{{"id": s.LocationIDs[0], "name": "Centrale"}, {"id": s.LocationIDs[1], "name": "Stazione"}},
			"created_at": "2026-03-01T09:00:00.000Z", "installed_at": "2026-03-01T09:00:00.000Z", "expires_at": "2030-01-01T00:00:00.000Z"})
		list := s.get("/cards?limit=1").want(200)
		list.shaped("data.0", cardTable, value)
		for _, name := range names(list.part("data.0")) {
			if string(list.part("data.0."+name)) != string(full.part(name)) {
				t.Errorf("the list's %s differs: %s", name, list.part("data.0."+name))
			}
		}
	}
	page := s.get("/cards?limit=2").want(200)
	page.shaped("", pageTable, "")
	s.get("/cards").want(200).shaped("", pageTable, "next_cursor")
}

// TestCardDetailLocations: enabled ones in the program's scope, by name.
func TestCardDetailLocations(t *testing.T) {
	t.Parallel()
	s := start(t)
	third := s.control("POST", "/locations", fields{"name": "Aeroporto"}).str("id")
	fourth := s.control("POST", "/locations", fields{"name": "Centrale"}).str("id")
	s.elsewhere()
	everywhere := s.issue(s.newProgram("access", true, nil), nil)
	some := s.issue(s.newProgram("access", true, fields{"location_scope": "selected_locations", "scoped_location_ids": []string{s.LocationIDs[1], third}}), nil)
	called := map[string]string{third: "Aeroporto", s.LocationIDs[0]: "Centrale", s.LocationIDs[1]: "Stazione", fourth: "Centrale"}
	check := func(card string, all bool, want ...string) {
		t.Helper()
		list := []fields{}
		for _, id := range want {
			list = append(list, fields{"id": id, "name": called[id]})
		}
		s.get("/cards/" + card).want(200).shows(fields{"all_locations": all, "locations": list})
		s.patch("/cards/"+card, fields{"external_ref": card}).want(200).shows(fields{"all_locations": all, "locations": list})
	}
	check(everywhere, true, third, s.LocationIDs[0], fourth, s.LocationIDs[1])
	check(some, false, third, s.LocationIDs[1])
	s.post("/locations/"+third+"/disable", nil).want(200)
	check(everywhere, true, s.LocationIDs[0], fourth, s.LocationIDs[1])
	check(some, false, s.LocationIDs[1])
	s.post("/locations/"+s.LocationIDs[1]+"/disable", nil).want(200)
	check(some, false)
	s.post("/locations/"+third+"/enable", nil).want(200)
	check(some, false, third)
	// Changes show on the next read.
	called[third] = "Duomo"
	s.patch("/locations/"+third, fields{"name": "Duomo"}).want(200)
	check(everywhere, true, s.LocationIDs[0], fourth, third)
	fifth := s.control("POST", "/locations", fields{"name": "Angolo"}).str("id")
	called[fifth] = "Angolo"
	check(everywhere, true, fifth, s.LocationIDs[0], fourth, third)
	check(some, false, third)
}

// TestCardFields: each field on issuing, by PATCH and on reissue.
func TestCardFields(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	program := s.newProgram("discount", true, nil)
	longest := strings.Repeat("a", 64) + "@" + strings.Repeat(strings.Repeat("b", 60)+".", 3) + "museum" // 254 characters
	for _, c := range []struct {
		field string
		value any
		want  any    // as shown
		code  string // of the detail instead
	}{
		{"holder_name", "A", "A", ""}, {"holder_name", long(200), long(200), ""}, {"holder_name", "", nil, "too_short"}, {"holder_name", long(201), nil, "too_long"}, {"holder_name", 5, nil, "invalid_type"},
		{"holder_email", "Ada@Example.com", "Ada@Example.com", ""}, {"holder_email", longest, longest, ""}, {"holder_email", "ada", nil, "invalid_format"}, {"holder_email", "a b@example.com", nil, "invalid_format"},
		{"holder_email", "", nil, "too_short"}, {"holder_email", "a@" + strings.Repeat("b", 250) + ".com", nil, "too_long"},
		{"external_ref", "x", "x", ""}, {"external_ref", long(255), long(255), ""}, {"external_ref", "", nil, "too_short"}, {"external_ref", long(256), nil, "too_long"}, {"external_ref", []any{}, nil, "invalid_type"},
		{"expires_at", "2026-03-01T09:00:00.001Z", "2026-03-01T09:00:00.001Z", ""}, {"expires_at", "2027-01-01T01:00:00.1239+01:00", "2027-01-01T00:00:00.123Z", ""},
		{"expires_at", "2026-03-01T09:00:00Z", nil, "must_be_future"}, {"expires_at", "2026-03-01T09:59:59+01:00", nil, "must_be_future"}, {"expires_at", "1999-01-01T00:00:00Z", nil, "must_be_future"},
		{"expires_at", "2027-01-01", nil, "invalid_format"}, {"expires_at", "2027-01-01T00:00:00", nil, "invalid_format"}, {"expires_at", "2027-02-30T00:00:00Z", nil, "invalid_format"}, {"expires_at", 1900000000, nil, "invalid_type"},
		{"send_email", "yes", nil, "invalid_type"}, {"status", "active", nil, "unknown_field"}, {"installed_at", nil, nil, "unknown_field"}, {"stamps_count", 1, nil, "unknown_field"},
		{"program_id", "x", nil, "unknown_field"}, {"current_value", 1, nil, "unknown_field"},
	} {
		t.Run(fmt.Sprintf("%s=%.12v", c.field, c.value), func(t *testing.T) {
			s := s.on(t)
			body := fields{c.field: c.value}
			card := "/cards/" + s.issue(program, nil)
			issued := s.post("/programs/"+program+"/cards", body)
			if id := issued.str("id"); id != "" {
				s.control("POST", "/cards/"+id+"/archive", fields{})
			}
			changed, reissued := s.patch(card, body), s.post(card+"/reissue", body)
			if c.code != "" {
				issued.invalid(c.field + " " + c.code)
				if c.field != "send_email" {
					changed.invalid(c.field + " " + c.code)
				}
				if c.field != "external_ref" {
					reissued.invalid(c.field + " " + c.code)
				}
				return
			}
			issued.want(201).shows(fields{c.field: c.want})
			changed.want(200).shows(fields{c.field: c.want})
			if c.field == "external_ref" {
				reissued.invalid("external_ref unknown_field")
			} else {
				reissued.want(200)
			}
			s.get(card).shows(fields{c.field: c.want})
			s.patch(card, fields{c.field: nil}).want(200).shows(fields{c.field: nil})
			s.get(card).shows(fields{c.field: nil})
		})
	}
	s.post("/programs/"+program+"/cards", fields{"holder_name": nil, "holder_email": nil, "external_ref": nil, "expires_at": nil, "send_email": nil}).want(201)
	s.post("/programs/"+program+"/cards", fields{"holder_name": "", "holder_email": longest + "x", "expires_at": "2020-01-01T00:00:00Z", "send_email": true, "x": 1}).
		invalid("holder_email too_long", "holder_name too_short", "x unknown_field", "expires_at must_be_future")
	card := "/cards/" + s.issue(program, nil)
	s.patch(card, fields{"send_email": true}).invalid("send_email unknown_field")
}

func TestCardUnknown(t *testing.T) {
	t.Parallel()
	s := start(t)
	other, _ := s.elsewhere()
	gone := s.issue(s.ProgramIDs["access"], nil)
	s.control("POST", "/cards/"+gone+"/delete", fields{})
	for _, id := range []string{"x", "crd_00000000000000000000000000", s.ProgramIDs["access"], s.app.Store.ID(store.KindCard, 999), other.issue(other.newProgram("access", true, nil), nil), gone} {
		path := "/cards/" + id
		s.get(path).want(404, "not_found")
		s.patch(path, fields{"holder_name": "x"}).want(404, "not_found")
		s.patch(path, nil).want(404, "not_found")
		s.post(path+"/reissue", nil).want(404, "not_found")
		s.post(path+"/install-link", nil).want(404, "not_found")
	}
}

// TestCardExpiryDefault: now plus default_expire_after_days, unless one is
// given.
func TestCardExpiryDefault(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	for _, c := range []struct{ days, given, want any }{
		{nil, nil, nil},
		{1, nil, "2026-03-02T09:00:00.000Z"},
		{30, nil, "2026-03-31T09:00:00.000Z"},
		{3650, nil, "2036-02-27T09:00:00.000Z"},
		{30, "2026-03-01T10:00:00Z", "2026-03-01T10:00:00.000Z"},
		{nil, "2026-03-01T10:00:00Z", "2026-03-01T10:00:00.000Z"},
	} {
		program := s.newProgram("access", true, fields{"default_expire_after_days": c.days})
		r := s.post("/programs/"+program+"/cards", fields{"expires_at": c.given}).want(201)
		r.shows(fields{"expires_at": c.want})
		card := "/cards/" + r.str("id")
		s.get(card).shows(fields{"expires_at": c.want})
		// Cleared on demand; a reissue of a live card leaves what it has.
		s.post(card+"/reissue", nil).want(200).shows(fields{"expires_at": c.want})
		s.patch(card, fields{"expires_at": nil}).want(200).shows(fields{"expires_at": nil})
		s.post(card+"/reissue", nil).want(200).shows(fields{"expires_at": nil})
		s.post(card+"/reissue", fields{"expires_at": "2026-05-01T00:00:00Z"}).want(200).shows(fields{"expires_at": "2026-05-01T00:00:00.000Z"})
	}
}

func TestCardValue(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, kind := range types {
		for _, cents := range []any{0, 700} {
			var want any
			var more fields
			if kind == "prepaid" {
				want, more = cents, fields{"initial_balance_cents": cents}
			}
			card := s.issue(s.newProgram(kind, true, more), nil)
			s.get("/cards/" + card).shows(fields{"current_value": want, "stamps_count": 0, "status": "invited"})
			s.post("/cards/"+card+"/reissue", nil).want(200)
			s.get("/cards/" + card).shows(fields{"current_value": want})
		}
	}
}

// TestInstallLink: each new link differs, ends 30 days on, and is what the
// picture and the mail hold.
func TestInstallLink(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	program := s.newProgram("standard", true, nil)
	issued := s.post("/programs/"+program+"/cards", fields{"holder_email": "ada@example.com"}).want(201)
	card := "/cards/" + issued.str("id")
	seen := []string{issued.str("install_url")}
	for i, op := range []string{"", "install-link", "install-link", "reissue", "install-link", "reissue"} {
		r, until := issued, "2026-03-31T09:00:00.000Z"
		if op != "" {
			s.advance("1h")
			r = s.post(card+"/"+op, nil).want(200)
			until = fmt.Sprintf("2026-03-31T%02d:00:00.000Z", 9+i)
			if slices.Contains(seen, r.str("install_url")) {
				t.Errorf("%s gave a known link", op)
			}
			seen = append(seen, r.str("install_url"))
		}
		r.shows(fields{"install_url_expires_at": until, "id": issued.str("id"), "program_id": program, "holder_email": "ada@example.com"})
		if token, ok := strings.CutPrefix(r.str("install_url"), s.Origin+"/i/"); !ok || len(token) < 40 || strings.Contains(token, issued.str("id")[4:]) {
			t.Errorf("install_url %s", r.str("install_url"))
		}
		if svg := r.str("install_qr_svg"); !strings.HasPrefix(svg, "<svg") || !strings.HasSuffix(strings.TrimSpace(svg), "</svg>") {
			t.Errorf("install_qr_svg %.80s", svg)
		}
	}
	if n := s.value("SELECT code_generation FROM cards WHERE id=?", s.row(store.KindCard, issued.str("id"))); n != "2" {
		t.Errorf("two reissues made generation %s", n)
	}
}

func TestSendEmail(t *testing.T) {
	t.Parallel()
	s := start(t)
	program := s.newProgram("standard", true, fields{"name": "Tea & cake"})
	mail := func() (list []struct{ To, Subject, Text, CardID string }) {
		var box struct {
			Data []struct {
				To, Subject, Text string
				CardID            string `json:"card_id"`
			}
		}
		if err := json.Unmarshal(s.dev("GET", "/emails", nil).want(200).body, &box); err != nil {
			t.Fatal(err)
		}
		for _, m := range box.Data {
			list = append(list, struct{ To, Subject, Text, CardID string }{m.To, m.Subject, m.Text, m.CardID})
		}
		return list
	}
	n := 0
	check := func(r *reply, to string) {
		t.Helper()
		if n++; len(mail()) != n {
			t.Fatalf("%d mails, want %d", len(mail()), n)
		}
		if m := mail()[n-1]; m.To != to || m.CardID != r.str("id") || !strings.Contains(m.Text, r.str("install_url")) || !strings.Contains(m.Subject, "Tea & cake") {
			t.Errorf("mailed %+v", m)
		}
	}
	issue := "/programs/" + program + "/cards"
	s.post(issue, fields{"send_email": true}).invalid("holder_email required")
	s.post(issue, fields{"send_email": true, "holder_email": nil}).invalid("holder_email required")
	s.post(issue, fields{"send_email": false}).want(201)
	without := "/cards/" + s.issue(program, fields{"holder_email": "quiet@example.com"})
	r := s.post(issue, fields{"send_email": true, "holder_email": "ada@example.com"}).want(201)
	check(r, "ada@example.com")
	check(s.post(without+"/install-link", fields{"send_email": true}).want(200), "quiet@example.com")
	check(s.post(without+"/reissue", fields{"send_email": true}).want(200), "quiet@example.com")
	check(s.post(without+"/reissue", fields{"send_email": true, "holder_email": "new@example.com"}).want(200), "new@example.com")
	s.patch(without, fields{"holder_email": nil}).want(200)
	s.post(without+"/install-link", fields{"send_email": true}).invalid("holder_email required")
	s.post(without+"/reissue", fields{"send_email": true}).invalid("holder_email required")
	s.post(without+"/install-link", fields{"send_email": false}).want(200)
	s.post(without+"/install-link", fields{"holder_email": "x@example.com"}).invalid("holder_email unknown_field")
	// What is refused mails nothing.
	s.control("POST", without+"/archive", fields{})
	s.post(without+"/reissue", fields{"send_email": true, "holder_email": "x@example.com"}).want(409, "conflict")
	if len(mail()) != n {
		t.Errorf("%d mails, want %d", len(mail()), n)
	}
}

// TestSendEmailWithoutServer: where no mail server is configured.
func TestSendEmailWithoutServer(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *app.Config) { c.Dev = nil })
	if err := s.app.Store.Write(t.Context(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(tx *store.Tx) error {
		shop, _, err := tx.CreateShop(store.ShopFields{})
		if err == nil {
			_, s.key, err = tx.CreateKey(shop, store.KeyFields{})
		}
		return err
	}}); err != nil {
		t.Fatal(err)
	}
	program := s.newProgram("access", true, nil)
	s.post("/programs/"+program+"/cards", fields{"holder_email": "a@example.com", "send_email": true}).want(422, "unprocessable_entity")
	s.post("/programs/"+program+"/cards", fields{"send_email": true}).invalid("holder_email required")
	card := "/cards/" + s.issue(program, fields{"holder_email": "a@example.com", "send_email": false})
	s.post(card+"/reissue", fields{"send_email": true}).want(422, "unprocessable_entity")
	s.post(card+"/install-link", fields{"send_email": true}).want(422, "unprocessable_entity")
	if ids := s.get("/cards").want(200).ids(); len(ids) != 1 {
		t.Errorf("a refused card is there: %q", ids)
	}
	if r := s.fetch("GET", s.Origin+"/dev/clock", nil, nil); r.status != 404 {
		t.Errorf("there is a control API: %d", r.status)
	}
}
