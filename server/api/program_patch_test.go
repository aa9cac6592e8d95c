package api_test

import (
	"testing"

	"punchcard/server/servertest"
)

// TestProgramPatch checks that a PATCH of one field changes that field and updated_at only.
func TestProgramPatch(t *testing.T) {
	s := start(t, servertest.Frozen)
	paths := map[string]string{}
	for _, kind := range servertest.Types {
		paths[kind] = "/programs/" + s.NewProgram(kind, true, nil)
	}
	for _, c := range []struct {
		kind, field string
		value       any
	}{
		{"standard", "name", "Tea card"}, {"standard", "description", "Ten teas."}, {"standard", "category", "tea"},
		{"standard", "brand_color_hex", "#010203"}, {"standard", "bg_color_hex", "#040506"}, {"standard", "text_color_hex", "#070809"},
		{"standard", "logo_url", "https://example.com/l.png"}, {"standard", "total_stamps", 12}, {"standard", "repeat_after_reset", true},
		{"standard", "icon_key", "leaf"}, {"standard", "default_expire_after_days", 90}, {"private", "total_stamps", 3},
		{"discount", "discount_percent", 7.5}, {"access", "access_image_url", "https://example.com/b.png"},
		{"prepaid", "initial_balance_cents", 2000},
	} {
		t.Run(c.kind+" "+c.field, func(t *testing.T) {
			s := s.On(t)
			was := s.Get(paths[c.kind])
			s.Advance("1s")
			r := s.Patch(paths[c.kind], fields{c.field: c.value}).Want(200)
			r.Shows(fields{c.field: c.value, "updated_at": s.App.Store.Now().String()})
			for _, name := range servertest.Names(was.Body) {
				if name != c.field && name != "updated_at" && string(r.Raw(name)) != string(was.Raw(name)) {
					t.Errorf("%s changed to %s", name, r.Raw(name))
				}
			}
			s.Get(paths[c.kind]).Same(r)
		})
	}
	// An empty PATCH changes nothing in any state.
	for _, step := range []string{"", "suspend", "unsuspend", "unpublish"} {
		if step != "" {
			s.Post(paths["access"]+"/"+step, nil).Want(200)
		}
		was, audits := s.Get(paths["access"]), countAudits(s)
		s.Advance("1s")
		s.Patch(paths["access"], fields{}).Want(200).Same(was)
		if countAudits(s) != audits {
			t.Errorf("after %q it is audited", step)
		}
	}
}

// TestProgramLock checks that no field of a program can be changed once one of its cards was
// installed.
func TestProgramLock(t *testing.T) {
	s := start(t, servertest.Frozen)
	values := map[string][]string{
		"standard": {
			`{"total_stamps":10}`, `{"repeat_after_reset":true}`, `{"icon_key":"x"}`, `{"stamps_expire_after_days":5}`,
			`{"description":"x"}`, `{"category":"x"}`, `{"logo_url":null}`, `{"brand_color_hex":"#000000"}`, `{"bg_color_hex":"#000000"}`,
			`{"text_color_hex":"#000000"}`, `{"default_expire_after_days":5}`, `{"visible_in_catalog":true}`, `{"border_enabled":true}`,
			`{"location_scope":"all_locations"}`, `{"scoped_location_ids":[]}`, `{"name_localizations":{}}`,
			`{"description_localizations":null}`,
		},
		"private":  {`{"total_stamps":5}`},
		"discount": {`{"discount_percent":5}`},
		"access":   {`{"access_image_url":"https://example.com/a.png"}`},
		"prepaid":  {`{"initial_balance_cents":500}`},
	}
	for _, kind := range servertest.Types {
		path := "/programs/" + s.NewProgram(kind, true, nil)
		card := s.Issue(path[len("/programs/"):], nil)
		s.Get(path).Shows(fields{"has_installed_cards": false})
		s.Install(card)
		was := s.Get(path)
		was.Shows(fields{"has_installed_cards": true})
		s.Advance("1m")
		for _, body := range values[kind] {
			s.Patch(path, body).Want(409, "program_has_installed_cards")
		}
		s.Patch(path, fields{"name": was.Str("name")}).Want(409, "program_has_installed_cards")
		s.Patch(path, fields{"type": kind}).Invalid("type not_allowed")
		s.Patch(path, fields{"name": ""}).Invalid("name too_short")
		for _, body := range []any{nil, fields{}} {
			s.Patch(path, body).Want(200).Same(was)
		}
		if kind != "standard" {
			continue
		}
		// No operation on the card unlocks the program. A locked program can still change its state.
		s.Post("/cards/"+card+"/reissue", nil).Want(200)
		s.Get(path).Shows(fields{"has_installed_cards": true})
		s.Control("POST", "/cards/"+card+"/archive", nil)
		s.Get(path).Shows(fields{"has_installed_cards": true})
		s.Control("POST", "/cards/"+card+"/delete", nil)
		for _, a := range []string{"suspend", "unsuspend", "unpublish", "publish"} {
			s.Post(path+"/"+a, nil).WantOK(fields{"has_installed_cards": true})
		}
	}
}

// TestProgramTotalStamps checks that total_stamps cannot be below a threshold.
func TestProgramTotalStamps(t *testing.T) {
	s := start(t)
	path := "/programs/" + s.NewProgram("standard", false, nil)
	s.Patch(path, fields{"total_stamps": 1}).Want(200)
	s.Patch(path, fields{"total_stamps": 10}).Want(200)
	var last string
	for _, n := range []int{4, 8} {
		last = s.Post(path+"/prizes", fields{"threshold": n, "name": "Z"}).NewID()
	}
	s.Patch(path, fields{"total_stamps": 7, "name": "Other"}).Want(422, "unprocessable_entity")
	s.Get(path).Shows(fields{"total_stamps": 10, "name": "S"})
	s.Patch(path, fields{"total_stamps": 8}).WantOK(fields{"total_stamps": 8})
	s.Call("DELETE", path+"/prizes/"+last, nil).Want(204)
	s.Patch(path, fields{"total_stamps": 3}).Want(422, "unprocessable_entity")
	s.Patch(path, fields{"total_stamps": 4}).WantOK(fields{"total_stamps": 4})
}
