package api_test

import (
	"slices"
	"testing"

	"punchcard/store"
)

// TestProgramPatch: each field changes itself and updated_at, nothing else.
func TestProgramPatch(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	paths := map[string]string{}
	for _, kind := range types {
		paths[kind] = "/programs/" + s.newProgram(kind, true, nil)
	}
	for _, c := range []struct {
		kind, field string
		value       any
	}{
		{"standard", "name", "Tea card"}, {"standard", "description", "Ten teas."}, {"standard", "category", "tea"},
		{"standard", "brand_color_hex", "#010203"}, {"standard", "bg_color_hex", "#040506"}, {"standard", "text_color_hex", "#070809"},
		{"standard", "logo_url", "https://example.com/l.png"}, {"standard", "total_stamps", 12}, {"standard", "repeat_after_reset", true},
		{"standard", "icon_key", "leaf"}, {"standard", "default_expire_after_days", 90}, {"private", "total_stamps", 3},
		{"discount", "discount_percent", 7.5}, {"access", "access_image_url", "https://example.com/b.png"}, {"prepaid", "initial_balance_cents", 2000},
	} {
		t.Run(c.kind+" "+c.field, func(t *testing.T) {
			s := s.on(t)
			was := s.get(paths[c.kind])
			s.advance("1s")
			r := s.patch(paths[c.kind], fields{c.field: c.value}).want(200)
			r.shows(fields{c.field: c.value, "updated_at": s.app.Store.Now().String()})
			for _, name := range names(was.body) {
				if name != c.field && name != "updated_at" && string(r.part(name)) != string(was.part(name)) {
					t.Errorf("%s changed to %s", name, r.part(name))
				}
			}
			if read := s.get(paths[c.kind]); string(read.body) != string(r.body) {
				t.Errorf("read %s, answered %s", read.body, r.body)
			}
		})
	}
	// An empty patch changes nothing, in every state.
	for _, step := range []string{"", "suspend", "unsuspend", "unpublish"} {
		if step != "" {
			s.post(paths["access"]+"/"+step, nil).want(200)
		}
		was, audits := s.get(paths["access"]), s.audits()
		s.advance("1s")
		if r := s.patch(paths["access"], fields{}).want(200); string(r.body) != string(was.body) || s.audits() != audits {
			t.Errorf("after %q: %s, was %s", step, r.body, was.body)
		}
		if r := s.patch(paths["access"], nil).want(200); string(r.body) != string(was.body) {
			t.Errorf("after %q: %s, was %s", step, r.body, was.body)
		}
	}
}

// TestProgramPatchNull: what null does to each field of a stamp program that
// has them all.
func TestProgramPatchNull(t *testing.T) {
	t.Parallel()
	s := start(t)
	path := "/programs/" + s.newProgram("standard", false, fields{"description": "d", "logo_url": "https://example.com/l.png", "default_expire_after_days": 5,
		"stamps_expire_after_days": 5, "category": "tea", "repeat_after_reset": true})
	for _, c := range []struct {
		field, detail string // no detail: accepted
		after         any
	}{
		{"name", "invalid_type", nil}, {"category", "invalid_type", nil}, {"brand_color_hex", "invalid_type", nil}, {"bg_color_hex", "invalid_type", nil},
		{"text_color_hex", "invalid_type", nil}, {"visible_in_catalog", "invalid_type", nil}, {"border_enabled", "invalid_type", nil},
		{"location_scope", "invalid_type", nil}, {"scoped_location_ids", "invalid_type", nil}, {"repeat_after_reset", "invalid_type", nil},
		{"type", "not_allowed", nil}, {"total_stamps", "required", nil}, {"icon_key", "required", nil},
		{"description", "", ""}, {"logo_url", "", nil}, {"default_expire_after_days", "", nil},
		{"discount_percent", "", nil}, {"access_image_url", "", nil}, {"initial_balance_cents", "", nil},
	} {
		r := s.patch(path, fields{c.field: nil})
		if c.detail != "" {
			r.invalid(c.field + " " + c.detail)
			continue
		}
		r.want(200).shows(fields{c.field: c.after})
	}
	for _, v := range []any{"standard", "private", "nonsense", 5} {
		s.patch(path, fields{"type": v, "name": "x"}).invalid("type not_allowed")
	}
	for kind, field := range map[string]string{"discount": "discount_percent", "access": "access_image_url", "prepaid": "initial_balance_cents"} {
		p := "/programs/" + s.newProgram(kind, false, nil)
		s.patch(p, fields{field: nil}).invalid(field + " required")
	}
	s.get(path).want(200).shows(fields{"name": "S", "category": "tea", "total_stamps": 10, "repeat_after_reset": true, "icon_key": "cup", "type": "standard"})
}

// TestProgramLock: once a card was installed the template and its ladder are
// frozen, and stay so.
func TestProgramLock(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	values := map[string]map[string]any{
		"standard": {"total_stamps": 10, "repeat_after_reset": true, "icon_key": "x", "stamps_expire_after_days": 5, "description": "x", "category": "x", "logo_url": nil,
			"brand_color_hex": "#000000", "bg_color_hex": "#000000", "text_color_hex": "#000000", "default_expire_after_days": 5, "visible_in_catalog": true,
			"border_enabled": true, "location_scope": "all_locations", "scoped_location_ids": []string{}, "name_localizations": fields{}, "description_localizations": nil},
		"private": {"total_stamps": 5}, "discount": {"discount_percent": 5}, "access": {"access_image_url": "https://example.com/a.png"}, "prepaid": {"initial_balance_cents": 500},
	}
	for _, kind := range types {
		path := "/programs/" + s.newProgram(kind, true, nil)
		card := s.issue(path[len("/programs/"):], nil)
		s.get(path).shows(fields{"has_installed_cards": false})
		s.install(card)
		was := s.get(path)
		was.shows(fields{"has_installed_cards": true})
		s.advance("1m")
		for field, v := range values[kind] {
			s.patch(path, fields{field: v}).want(409, "program_has_installed_cards")
		}
		s.patch(path, fields{"name": was.str("name")}).want(409, "program_has_installed_cards")
		s.patch(path, fields{"type": kind}).invalid("type not_allowed")
		s.patch(path, fields{"name": ""}).invalid("name too_short")
		for _, body := range []any{nil, fields{}} {
			if r := s.patch(path, body).want(200); string(r.body) != string(was.body) {
				t.Errorf("%s: %s, was %s", kind, r.body, was.body)
			}
		}
		// No operation on the card takes the lock away, and the lock does not
		// stop the lifecycle.
		s.post("/cards/"+card+"/reissue", nil).want(200)
		s.get(path).shows(fields{"has_installed_cards": true})
		s.control("POST", "/cards/"+card+"/archive", fields{})
		s.get(path).shows(fields{"has_installed_cards": true})
		s.control("POST", "/cards/"+card+"/delete", fields{})
		for _, a := range []string{"suspend", "unsuspend", "unpublish", "publish"} {
			s.post(path+"/"+a, nil).want(200).shows(fields{"has_installed_cards": true})
		}
	}
}

// TestProgramTotalStamps: never below a threshold.
func TestProgramTotalStamps(t *testing.T) {
	t.Parallel()
	s := start(t)
	path := "/programs/" + s.newProgram("standard", false, nil)
	s.patch(path, fields{"total_stamps": 1}).want(200)
	s.patch(path, fields{"total_stamps": 10}).want(200)
	var last string
	for _, n := range []int{4, 8} {
		last = s.post(path+"/prizes", fields{"threshold": n, "name": "Z"}).want(201).str("id")
	}
	s.patch(path, fields{"total_stamps": 7, "name": "Other"}).want(422, "unprocessable_entity")
	s.get(path).shows(fields{"total_stamps": 10, "name": "S"})
	s.patch(path, fields{"total_stamps": 8}).want(200).shows(fields{"total_stamps": 8})
	s.call("DELETE", path+"/prizes/"+last, nil).want(204)
	s.patch(path, fields{"total_stamps": 3}).want(422, "unprocessable_entity")
	s.patch(path, fields{"total_stamps": 4}).want(200).shows(fields{"total_stamps": 4})
}

// TestProgramPatchScopeMovesCards: where a card works follows its program.
func TestProgramPatchScopeMovesCards(t *testing.T) {
	t.Parallel()
	s := start(t)
	program := s.newProgram("access", true, nil)
	card := s.issue(program, nil)
	for _, c := range []struct {
		scope fields
		all   bool
		want  []string
	}{
		{fields{}, true, []string{"Centrale", "Stazione"}},
		{fields{"location_scope": "selected_locations", "scoped_location_ids": s.LocationIDs[1:]}, false, []string{"Stazione"}},
		{fields{"scoped_location_ids": []string{s.LocationIDs[1], s.LocationIDs[0]}}, false, []string{"Centrale", "Stazione"}},
		{fields{"location_scope": "all_locations"}, true, []string{"Centrale", "Stazione"}},
	} {
		s.patch("/programs/"+program, c.scope).want(200)
		r := s.get("/cards/" + card).want(200)
		var have []string
		for _, l := range r.at("locations").([]any) {
			have = append(have, l.(map[string]any)["name"].(string))
		}
		if r.at("all_locations") != c.all || !slices.Equal(have, c.want) {
			t.Errorf("%v: %v %q, want %q", c.scope, r.at("all_locations"), have, c.want)
		}
	}
	if v := s.value("SELECT count(*) FROM program_locations WHERE program_id=?", s.row(store.KindProgram, program)); v != "0" {
		t.Errorf("%s scoped locations are left", v)
	}
}
