package api_test

import (
	"slices"
	"testing"

	"punchcard/store"
)

const programTable = `
	id id
	name string
	description string
	category string
	type string
	active boolean
	published_at date-time|null
	suspended_at date-time|null
	total_stamps integer|null
	repeat_after_reset boolean
	discount_percent number|null
	initial_balance_cents integer|null
	default_expire_after_days integer|null
	logo_url string|null
	access_image_url string|null
	brand_color_hex color
	bg_color_hex color
	text_color_hex color
	icon_key string|null
	location_scope string
	scoped_location_ids string[]
	created_at date-time
	updated_at date-time`

const programDetailTable = programTable + `
	prizes list
	has_installed_cards boolean`

// blank are the fields that are null in a program made from its base.
var blank = map[string]string{
	"standard": "discount_percent initial_balance_cents default_expire_after_days logo_url access_image_url",
	"private":  "discount_percent initial_balance_cents default_expire_after_days logo_url access_image_url",
	"discount": "total_stamps initial_balance_cents default_expire_after_days logo_url access_image_url icon_key",
	"access":   "total_stamps discount_percent initial_balance_cents default_expire_after_days logo_url icon_key",
	"prepaid":  "total_stamps discount_percent default_expire_after_days logo_url access_image_url icon_key",
}

func TestProgramShape(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, kind := range types {
		made := s.post("/programs", bases[kind]).want(201)
		made.shaped("", programDetailTable, "published_at suspended_at "+blank[kind])
		id := made.str("id")
		path := "/programs/" + id
		s.get(path).want(200).shaped("", programDetailTable, "published_at suspended_at "+blank[kind])
		s.patch(path, fields{"name": "N"}).want(200).shaped("", programDetailTable, "published_at suspended_at "+blank[kind])
		s.get("/programs?limit=1").want(200).shaped("data.0", programTable, "published_at suspended_at "+blank[kind])
		for _, step := range []struct{ action, nulls string }{
			{"publish", "suspended_at "}, {"suspend", ""}, {"unsuspend", "suspended_at "}, {"unpublish", "published_at suspended_at "},
		} {
			s.post(path+"/"+step.action, nil).want(200).shaped("", programDetailTable, step.nulls+blank[kind])
			s.get("/programs?limit=1").want(200).shaped("data.0", programTable, step.nulls+blank[kind])
		}
	}
	page := s.get("/programs?limit=2").want(200)
	page.shaped("", pageTable, "")
	page.shows(fields{"limit": 2})
	// The ladder is inside the detail; nothing is null in a program that has all.
	full := s.get("/programs/" + s.ProgramIDs["standard"]).want(200)
	full.shaped("prizes.2", prizeTable, "")
	id := s.newProgram("standard", true, fields{"default_expire_after_days": 30, "logo_url": "https://example.com/l.png"})
	s.post("/programs/"+id+"/suspend", nil).want(200).shaped("", programDetailTable, "discount_percent initial_balance_cents access_image_url")
}

// TestProgramLifecycle is contract section 4's table: every state, every
// action.
func TestProgramLifecycle(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	paths := map[string][]string{"unpublished": nil, "published": {"publish"}, "suspended": {"publish", "suspend"}}
	const noop = "no-op"
	for _, c := range []struct{ from, action, want string }{
		{"unpublished", "publish", "published"},
		{"unpublished", "unpublish", noop},
		{"unpublished", "suspend", conflict},
		{"unpublished", "unsuspend", conflict},
		{"published", "publish", noop},
		{"published", "unpublish", "unpublished"},
		{"published", "suspend", "suspended"},
		{"published", "unsuspend", noop},
		{"suspended", "publish", conflict},
		{"suspended", "unpublish", conflict},
		{"suspended", "suspend", noop},
		{"suspended", "unsuspend", "published"},
	} {
		t.Run(c.from+" "+c.action, func(t *testing.T) {
			s := s.on(t)
			path := "/programs/" + s.newProgram("standard", false, nil)
			for _, a := range paths[c.from] {
				s.advance("1m")
				s.post(path+"/"+a, nil).want(200)
			}
			was, audits := s.get(path), s.audits()
			s.advance("1m")
			r := s.post(path+"/"+c.action, nil)
			if c.want == conflict || c.want == noop {
				if r.refused(map[string]string{conflict: conflict, noop: "200"}[c.want]); c.want == noop && string(r.body) != string(was.body) {
					t.Errorf("changed to %s", r.body)
				}
				if after := s.get(path); string(after.body) != string(was.body) || s.audits() != audits {
					t.Errorf("changed to %s", after.body)
				}
				return
			}
			now := s.app.Store.Now().String()
			want := fields{"active": c.want == "published", "published_at": was.at("published_at"), "suspended_at": nil, "updated_at": now, "created_at": was.at("created_at")}
			switch c.action {
			case "publish":
				want["published_at"] = now
			case "unpublish":
				want["published_at"] = nil
			case "suspend":
				want["suspended_at"] = now
			}
			r.want(200).shows(want)
			if after := s.get(path); string(after.body) != string(r.body) {
				t.Errorf("read %s, answered %s", after.body, r.body)
			}
			issue := map[string]string{"published": "201", "unpublished": "422 unprocessable_entity", "suspended": "422 unprocessable_entity"}
			s.post(path+"/cards", nil).refused(issue[c.want])
		})
	}
	s.post("/programs/"+s.ProgramIDs["access"]+"/publish", fields{"at": "now"}).invalid("at unknown_field")
}

func TestProgramUnknown(t *testing.T) {
	t.Parallel()
	s := start(t)
	other, _ := s.elsewhere()
	gone := s.newProgram("standard", true, nil)
	prize := s.post("/programs/"+gone+"/prizes", fields{"threshold": 5, "name": "Z"}).want(201).str("id")
	card := s.issue(gone, fields{"external_ref": "r"})
	s.control("DELETE", "/programs/"+gone, nil)
	for _, id := range []string{"x", "prg_00000000000000000000000000", gone, s.LocationIDs[0], s.app.Store.ID(store.KindProgram, 999), other.newProgram("access", true, nil)} {
		path := "/programs/" + id
		s.get(path).want(404, "not_found")
		s.patch(path, fields{"name": "x"}).want(404, "not_found")
		s.patch(path, fields{}).want(404, "not_found")
		for _, a := range []string{"publish", "unpublish", "suspend", "unsuspend"} {
			s.post(path+"/"+a, nil).want(404, "not_found")
		}
		s.get(path+"/prizes").want(404, "not_found")
		s.post(path+"/prizes", fields{"threshold": 1, "name": "x"}).want(404, "not_found")
		s.patch(path+"/prizes/"+prize, fields{"name": "x"}).want(404, "not_found")
		s.call("DELETE", path+"/prizes/"+prize, nil).want(404, "not_found")
		s.post(path+"/cards", nil).want(404, "not_found")
	}
	// The cards of a deleted program are archived and stay.
	s.get("/cards/" + card).want(200).shows(fields{"status": "archived", "program_id": gone, "program_name": "S", "external_ref": "r"})
	if ids := s.get("/programs?limit=100").want(200).ids(); slices.Contains(ids, gone) || len(ids) != 5 {
		t.Errorf("listed %q", ids)
	}
}

// TestProgramList: the filter by type, each and combined with paging.
func TestProgramList(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	want := map[string][]string{}
	for kind, id := range s.ProgramIDs {
		want[kind] = []string{id}
	}
	for i := range 10 {
		kind := types[i*2%5]
		want[kind] = append([]string{s.newProgram(kind, i%2 == 0, nil)}, want[kind]...)
	}
	for _, kind := range types {
		for _, limit := range []string{"1", "2", "100"} {
			if ids, _ := s.all("/programs", "type", kind, "limit", limit); !slices.Equal(ids, want[kind]) {
				t.Errorf("type %s, limit %s: %q, want %q", kind, limit, ids, want[kind])
			}
		}
	}
	s.get("/programs?type=stamps").invalid("type invalid_value")
	s.get("/programs?type=").invalid("type invalid_value")
	s.get("/programs?type=access&type=access").invalid("type invalid_value")
	s.get("/programs?type=Access&limit=0").invalid("limit too_small", "type invalid_value")
	if n := len(s.get("/programs?types=access").want(200).ids()); n != 15 {
		t.Errorf("an unknown parameter left %d of 15", n)
	}
}
