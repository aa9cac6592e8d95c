package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

func TestCardShape(t *testing.T) {
	s := start(t, servertest.Frozen)
	const bare = "external_ref holder_name holder_email "
	for kind, value := range map[string]string{"standard": "current_value ", "prepaid": ""} {
		issued := s.Post("/programs/"+s.ProgramIDs[kind]+"/cards", nil).Want(201)
		issued.Shaped("", "IssuedCard", bare+"expires_at")
		path := "/cards/" + issued.Str("id")
		s.Get(path).Want(200).Shaped("", "CardDetail", bare+value+"expires_at installed_at")
		s.Patch(path, fields{
			"external_ref": "r",
			"holder_name":  "n",
			"holder_email": "n@example.com",
			"expires_at":   "2030-01-01T00:00:00Z",
		}).Want(200).Shaped("", "CardDetail", value+"installed_at")
		s.Post(path+"/install-link", nil).Want(200).Shaped("", "IssuedCard", "")
		s.Post(path+"/reissue", nil).Want(200).Shaped("", "IssuedCard", "")
		s.Install(issued.Str("id"))
		full := s.Get(path).Want(200)
		full.Shaped("", "CardDetail", value)
		full.Shows(fields{
			"program_id":    s.ProgramIDs[kind],
			"program_type":  kind,
			"stamps_count":  0,
			"status":        "active",
			"all_locations": true,
			"locations":     []fields{{"id": s.LocationIDs[0], "name": "Centrale"}, {"id": s.LocationIDs[1], "name": "Stazione"}},
			"created_at":    "2026-03-01T09:00:00.000Z",
			"installed_at":  "2026-03-01T09:00:00.000Z",
			"expires_at":    "2030-01-01T00:00:00.000Z",
		})
		list := s.Get("/cards?limit=1").Want(200)
		list.Shaped("data.0", "Card", value)
		for _, name := range servertest.Names(list.Raw("data.0")) {
			if string(list.Raw("data.0."+name)) != string(full.Raw(name)) {
				t.Errorf("the list's %s differs: %s", name, list.Raw("data.0."+name))
			}
		}
	}
	s.Get("/cards?limit=1").Want(200).Shaped("", "CardPage", "")
	s.Get("/cards").Want(200).Shaped("", "CardPage", "next_cursor")
}

// TestCardDetailLocations checks that a card lists the enabled locations of its
// program's scope, sorted by name. For later changes see TestCardShowsCurrentLocations in the store.
func TestCardDetailLocations(t *testing.T) {
	s := start(t)
	third := s.Control("POST", "/locations", fields{"name": "Aeroporto"}).Str("id")
	fourth := s.Control("POST", "/locations", fields{"name": "Centrale"}).Str("id")
	newOtherShop(s)
	everywhere := s.Issue(s.NewProgram("access", true, nil), nil)
	some := s.Issue(s.NewProgram("access", true, fields{
		"location_scope":      "selected_locations",
		"scoped_location_ids": []string{s.LocationIDs[1], third},
	}), nil)
	called := map[string]string{third: "Aeroporto", s.LocationIDs[0]: "Centrale", s.LocationIDs[1]: "Stazione", fourth: "Centrale"}
	check := func(card string, all bool, want ...string) {
		t.Helper()
		list := []fields{}
		for _, id := range want {
			list = append(list, fields{"id": id, "name": called[id]})
		}
		s.Get("/cards/" + card).WantOK(fields{"all_locations": all, "locations": list})
		s.Patch("/cards/"+card, fields{"external_ref": card}).WantOK(fields{"all_locations": all, "locations": list})
	}
	check(everywhere, true, third, s.LocationIDs[0], fourth, s.LocationIDs[1])
	check(some, false, third, s.LocationIDs[1])
	s.Post("/locations/"+third+"/disable", nil).Want(200)
	check(everywhere, true, s.LocationIDs[0], fourth, s.LocationIDs[1])
	check(some, false, s.LocationIDs[1])
	s.Post("/locations/"+s.LocationIDs[1]+"/disable", nil).Want(200)
	check(some, false)
	s.Post("/locations/"+third+"/enable", nil).Want(200)
	check(some, false, third)
}

// TestCardFields checks values of fields in the bodies of issueCard, updateCard and reissueCard, as far as
// TestBadFieldsAreNamed does not.
func TestCardFields(t *testing.T) {
	s := start(t, servertest.Frozen)
	program := s.NewProgram("discount", true, nil)
	longest := strings.Repeat("a", 64) + "@" + strings.Repeat(strings.Repeat("b", 60)+".", 3) + "museum" // 254 characters
	for _, c := range []struct {
		field string
		value any
		want  any    // in the answer
		code  string // code of the detail, if the value is refused
	}{
		{"holder_name", long(200), long(200), ""},
		{"holder_email", "Ada@Example.com", "Ada@Example.com", ""},
		{"holder_email", longest, longest, ""},
		{"external_ref", long(255), long(255), ""},
		{"expires_at", "2026-03-01T09:00:00.001Z", "2026-03-01T09:00:00.001Z", ""},
		{"expires_at", "2027-01-01T01:00:00.1239+01:00", "2027-01-01T00:00:00.123Z", ""},
		{"expires_at", "2026-03-01T09:00:00Z", nil, "must_be_future"},
		{"expires_at", "2026-03-01T09:59:59+01:00", nil, "must_be_future"},
	} {
		t.Run(fmt.Sprintf("%s=%.12v", c.field, c.value), func(t *testing.T) {
			s := s.On(t)
			body := fields{c.field: c.value}
			card := "/cards/" + s.Issue(program, nil)
			issued := s.Post("/programs/"+program+"/cards", body)
			changed, reissued := s.Patch(card, body), s.Post(card+"/reissue", body)
			if c.code != "" {
				issued.Invalid(c.field + " " + c.code)
				changed.Invalid(c.field + " " + c.code)
				reissued.Invalid(c.field + " " + c.code)
				return
			}
			s.Control("POST", "/cards/"+issued.NewID()+"/archive", nil) // frees an external_ref
			issued.Shows(fields{c.field: c.want})
			if changed = s.Patch(card, body); c.field != "external_ref" {
				reissued.Want(200)
			}
			changed.WantOK(fields{c.field: c.want})
			s.Get(card).Shows(fields{c.field: c.want})
			s.Patch(card, fields{c.field: nil}).WantOK(fields{c.field: nil})
			s.Get(card).Shows(fields{c.field: nil})
		})
	}
}

// TestInstallLink checks that each link is new, expires after 30 days and does not contain the
// card's id, and that the answer has a QR code as SVG.
func TestInstallLink(t *testing.T) {
	s := start(t, servertest.Frozen)
	program := s.NewProgram("standard", true, nil)
	issued := s.Post("/programs/"+program+"/cards", fields{"holder_email": "ada@example.com"}).Want(201)
	card := "/cards/" + issued.Str("id")
	seen := []string{issued.Str("install_url")}
	for i, op := range []string{"", "install-link", "install-link", "reissue", "install-link", "reissue"} {
		r, until := issued, "2026-03-31T09:00:00.000Z"
		if op != "" {
			s.Advance("1h")
			r = s.Post(card+"/"+op, nil).Want(200)
			until = fmt.Sprintf("2026-03-31T%02d:00:00.000Z", 9+i)
			if slices.Contains(seen, r.Str("install_url")) {
				t.Errorf("%s returned an earlier link", op)
			}
			seen = append(seen, r.Str("install_url"))
		}
		r.Shows(fields{"install_url_expires_at": until, "id": issued.Str("id"), "program_id": program, "holder_email": "ada@example.com"})
		if token, ok := strings.CutPrefix(r.Str("install_url"), s.Origin+"/i/"); !ok || len(token) < 40 ||
			strings.Contains(token, issued.Str("id")[4:]) {
			t.Errorf("install_url %s", r.Str("install_url"))
		}
		if svg := r.Str("install_qr_svg"); !strings.HasPrefix(svg, "<svg") || !strings.HasSuffix(strings.TrimSpace(svg), "</svg>") {
			t.Errorf("install_qr_svg %.80s", svg)
		}
	}
}

func TestSendEmail(t *testing.T) {
	s := start(t)
	program := s.NewProgram("standard", true, fields{"name": "Tea & cake"})
	n := 0
	check := func(r *servertest.Reply, to string) {
		t.Helper()
		box := s.Control("GET", "/emails", nil)
		if n++; len(box.At("data").([]any)) != n {
			t.Fatalf("want %d mails: %s", n, box.Body)
		}
		m := fmt.Sprintf("data.%d.", n-1)
		box.Shows(fields{m + "to": to, m + "card_id": r.Str("id")})
		if !strings.Contains(box.Str(m+"text"), r.Str("install_url")) || !strings.Contains(box.Str(m+"subject"), "Tea & cake") {
			t.Errorf("sent %s", box.Raw(m))
		}
	}
	issue := "/programs/" + program + "/cards"
	s.Post(issue, fields{"send_email": true}).Invalid("holder_email required")
	s.Post(issue, fields{"send_email": false}).Want(201)
	without := "/cards/" + s.Issue(program, fields{"holder_email": "quiet@example.com"})
	r := s.Post(issue, fields{"send_email": true, "holder_email": "ada@example.com"}).Want(201)
	check(r, "ada@example.com")
	check(s.Post(without+"/install-link", fields{"send_email": true}).Want(200), "quiet@example.com")
	check(s.Post(without+"/reissue", fields{"send_email": true}).Want(200), "quiet@example.com")
	check(s.Post(without+"/reissue", fields{"send_email": true, "holder_email": "new@example.com"}).Want(200), "new@example.com")
	s.Patch(without, fields{"holder_email": nil}).Want(200)
	s.Post(without+"/install-link", fields{"send_email": true}).Invalid("holder_email required")
	s.Post(without+"/reissue", fields{"send_email": true}).Invalid("holder_email required")
	s.Post(without+"/install-link", fields{"send_email": false}).Want(200)
	s.Post(without+"/install-link", fields{"holder_email": "x@example.com"}).Invalid("holder_email unknown_field")
	// Refused requests send no mail.
	s.Control("POST", without+"/archive", nil)
	s.Post(without+"/reissue", fields{"send_email": true, "holder_email": "x@example.com"}).Want(409, "conflict")
	if box := s.Control("GET", "/emails", nil); len(box.At("data").([]any)) != n {
		t.Errorf("want %d mails: %s", n, box.Body)
	}
}

// TestSendEmailWithoutServer checks that send_email is refused if no mail server is configured.
func TestSendEmailWithoutServer(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Dev = nil })
	require.NoError(t, s.App.Store.Write(t.Context(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(tx *store.Tx) error {
		shop, _, err := tx.CreateShop(store.ShopFields{})
		if err == nil {
			_, s.Key, err = tx.CreateKey(shop, store.KeyFields{})
		}
		return err
	}}))
	program := s.NewProgram("access", true, nil)
	s.Post("/programs/"+program+"/cards", fields{"holder_email": "a@example.com", "send_email": true}).Want(422, "unprocessable_entity")
	s.Post("/programs/"+program+"/cards", fields{"send_email": true}).Invalid("holder_email required")
	card := "/cards/" + s.Issue(program, fields{"holder_email": "a@example.com", "send_email": false})
	s.Post(card+"/reissue", fields{"send_email": true}).Want(422, "unprocessable_entity")
	s.Post(card+"/install-link", fields{"send_email": true}).Want(422, "unprocessable_entity")
	if ids := s.Get("/cards").Want(200).IDs(); len(ids) != 1 {
		t.Errorf("a refused card was created: %q", ids)
	}
	if r := s.Fetch("GET", s.Origin+"/dev/clock", nil, nil); r.Status != 404 {
		t.Errorf("the control API answers %d", r.Status)
	}
}
