package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

// samePatch is a PATCH with values that the resource has.
type samePatch struct {
	name, path string
	body       any
}

// samePatches makes resources of each kind and returns PATCHes that do not change them. The program and
// the webhook are those of the first and of the last one.
func samePatches(s *servertest.Server) (program, hook string, all []samePatch) {
	s.T.Helper()
	texts := fields{"it": "Uno", "de": "Eins"}
	program = s.NewProgram("standard", true, fields{
		"location_scope":           "selected_locations",
		"scoped_location_ids":      []string{s.LocationIDs[1], s.LocationIDs[0]},
		"description":              "d",
		"name_localizations":       texts,
		"logo_url":                 "https://example.com/l.png",
		"stamps_expire_after_days": 9,
		"visible_in_catalog":       false,
	})
	prizes := "/programs/" + program + "/prizes"
	prize := fields{"threshold": 5, "name": "Cup", "description_localizations": texts}
	prizePath := prizes + "/" + s.Post(prizes, prize).NewID()
	discount := s.NewProgram("discount", false, nil)
	access := s.NewProgram("access", true, fields{"default_expire_after_days": 9})
	prepaid := s.NewProgram("prepaid", true, nil)
	s.Post("/programs/"+access+"/suspend", nil).Want(200)
	hook, _ = newWebhook(s, program, fields{
		"events":         []string{"*", "card.*"},
		"bearer_token":   "tok",
		"custom_headers": fields{"X-B": "2", "X-A": "1"},
		"program_ids":    []string{program, discount},
		"location_ids":   s.LocationIDs,
	})
	// read returns the fields of a resource that its PATCH takes, with the values that GET returns.
	read := func(path string) fields {
		body := fields{}
		json.Unmarshal(s.Get(path).Want(200).Body, &body)
		for name := range body {
			if slices.Contains(strings.Fields(`
				id type active published_at suspended_at created_at updated_at prizes has_installed_cards program_id disabled_at
			`), name) {
				delete(body, name)
			}
		}
		return body
	}
	return program, hook, append(sameCardPatches(s, program, prepaid), []samePatch{
		{"a stamp program", "/programs/" + program, read("/programs/" + program)},
		{"a stamp program's hidden fields", "/programs/" + program, `{"name_localizations":{"de":"Eins","it":"Uno"},
			"description_localizations":null,"stamps_expire_after_days":9,"visible_in_catalog":false,"border_enabled":false}`},
		{"a discount program", "/programs/" + discount, read("/programs/" + discount)},
		{"a suspended access program", "/programs/" + access, read("/programs/" + access)},
		{"a prepaid program with no fields", "/programs/" + prepaid, fields{}},
		{"a prize's fields", prizePath,
			servertest.Merge(prize, fields{"description": nil, "ordinal": 0, "name_localizations": fields{}})},
		{"a location", "/locations/" + s.LocationIDs[0], fields{"name": "Centrale"}},
		{"a webhook", hook, fields{
			"url":                      minimalWebhook["url"],
			"events":                   []string{"*", "card.*", "*"},
			"active":                   true,
			"description":              nil,
			"bearer_token":             "tok",
			"custom_headers":           fields{"X-A": "1", "X-B": "2"},
			"program_ids":              []string{program, discount, program},
			"location_ids":             s.LocationIDs,
			"include_shop_wide_events": true,
			"http_method":              "POST",
			"rotate_secret":            false,
		}},
	}...)
}

// sameCardPatches is samePatches for cards of a stamp program and a prepaid one.
func sameCardPatches(s *servertest.Server, program, prepaid string) []samePatch {
	s.T.Helper()
	card := s.Post("/programs/"+program+"/cards",
		`{"holder_name":"Ada","holder_email":"ada@example.com","external_ref":"a","expires_at":"2027-01-01T00:00:00Z"}`).NewID()
	locked, bare := s.Issue(program, fields{"holder_name": "Grace"}), s.Issue(program, nil)
	s.Control("POST", "/cards/"+locked+"/lock", nil)
	installed := s.Issue(prepaid, fields{"external_ref": "i"})
	s.Install(installed)
	late := s.Issue(program, fields{"external_ref": "late", "expires_at": s.App.Store.Now().Add(3600_000_000_000).String()})
	s.Advance("1h")
	return []samePatch{
		{"a card", "/cards/" + card,
			`{"holder_name":"Ada","holder_email":"ada@example.com","external_ref":"a","expires_at":"2027-01-01T01:00:00.000+01:00"}`},
		{"a locked card", "/cards/" + locked, `{"holder_name":"Grace","expires_at":null}`},
		{"a card whose fields are null", "/cards/" + bare,
			`{"holder_name":null,"holder_email":null,"external_ref":null,"expires_at":null}`},
		{"an installed card's reference", "/cards/" + installed, `{"external_ref":"i"}`},
		{"an expired card's reference", "/cards/" + late, `{"external_ref":"late"}`},
	}
}

// TestPatchWithoutAChange checks that a PATCH with values that the resource already has is answered
// with the resource, and changes nothing in the file: not updated_at, no event and no audit row.
func TestPatchWithoutAChange(t *testing.T) {
	s := start(t, servertest.Frozen, func(c *app.Config) { c.PreviewEvents = true })
	program, hook, all := samePatches(s)
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			s := s.On(t)
			var answer *servertest.Reply
			was, events := s.Get(c.path), s.Value("SELECT count(*) FROM events")
			s.Unchanged(func() { answer = s.Patch(c.path, c.body).Want(200) })
			if now := s.Value("SELECT count(*) FROM events"); now != events {
				t.Errorf("%s events, were %s", now, events)
			}
			if was.Status == 404 || was.Status == 405 { // prizes and locations cannot be read by themselves
				answer.Shows(fields{"updated_at": answer.At("created_at")})
			} else if string(answer.Body) != string(was.Body) {
				t.Errorf("answered %s, reads %s", answer.Body, was.Body)
			}
		})
	}
	s.On(t).Unchanged(func() {
		s.Control("PATCH", "/programs/"+program, fields{"min_spend_cents": nil})
		s.Control("PATCH", "/shops/"+s.ShopID, fields{
			"subscription_state": "active",
			"max_cards":          nil,
			"timezone":           s.Value("SELECT timezone FROM shops"),
			"api_addon":          true,
		})
	})
	// A PATCH that repeats all values but one is a change, and so is one that resets the count of
	// failures or changes the order of a list.
	s.Patch(hook, fields{"active": true, "description": "new"}).WantOK(fields{"updated_at": s.App.Store.Now().String()})
	s.SQL("UPDATE webhooks SET consecutive_failures=3")
	s.Patch(hook, fields{"active": true}).WantOK(fields{"consecutive_failures": 0})
	s.Patch("/programs/"+program, fields{
		"scoped_location_ids": []string{s.LocationIDs[0], s.LocationIDs[1]},
	}).WantOK(fields{"updated_at": s.App.Store.Now().String()})
}
