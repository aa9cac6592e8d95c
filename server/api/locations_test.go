package api_test

import (
	"fmt"
	"slices"
	"testing"

	"punchcard/store"
)

const locationTable = `
	id id
	name string
	address string
	city string
	postal_code string
	country_code string
	lat number
	lon number
	require_staff_pin boolean
	active boolean
	disabled_at date-time|null
	created_at date-time
	updated_at date-time`

const pageTable = `
	data list
	next_cursor string|null
	limit integer`

func TestLocationShape(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	page := s.get("/locations?limit=1").want(200)
	page.shaped("", pageTable, "")
	page.shaped("data.0", locationTable, "disabled_at")
	page.shows(fields{"limit": 1})
	s.get("/locations").want(200).shaped("", pageTable, "next_cursor")
	path := "/locations/" + s.LocationIDs[0]
	s.patch(path, nil).want(200).shaped("", locationTable, "disabled_at")
	s.post(path+"/disable", nil).want(200).shaped("", locationTable, "")
	s.post(path+"/enable", nil).want(200).shaped("", locationTable, "disabled_at")
	if page.str("data.0.country_code") != "IT" {
		t.Errorf("%s", page.body)
	}
}

func TestLocationPatch(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	path := "/locations/" + s.LocationIDs[0]
	for _, c := range []struct {
		field string
		value any
		want  string // code of the detail; empty: accepted
	}{
		{"name", "Piazza", ""}, {"name", "x", ""}, {"name", long(200), ""}, {"name", "", "too_short"}, {"name", long(201), "too_long"}, {"name", 5, "invalid_type"},
		{"address", "Via Roma 1", ""}, {"address", long(200), ""}, {"address", "", "too_short"}, {"address", long(201), "too_long"},
		{"city", "Asti", ""}, {"city", long(200), ""}, {"city", "", "too_short"}, {"city", long(201), "too_long"},
		{"postal_code", "1", ""}, {"postal_code", long(20), ""}, {"postal_code", "", "too_short"}, {"postal_code", long(21), "too_long"}, {"postal_code", 10122, "invalid_type"},
		{"country_code", "DE", ""}, {"country_code", "de", "invalid_format"}, {"country_code", "DEU", "invalid_format"}, {"country_code", "D1", "invalid_format"},
		{"lat", 90, ""}, {"lat", -90, ""}, {"lat", 45.0729, ""}, {"lat", 90.000001, "too_large"}, {"lat", -90.000001, "too_small"}, {"lat", "1", "invalid_type"},
		{"lon", 180, ""}, {"lon", -180, ""}, {"lon", 7.25, ""}, {"lon", 180.000001, "too_large"}, {"lon", -180.000001, "too_small"},
		{"require_staff_pin", true, ""}, {"require_staff_pin", false, ""}, {"require_staff_pin", 1, "invalid_type"},
		{"active", false, "unknown_field"}, {"disabled_at", nil, "unknown_field"}, {"id", "x", "unknown_field"},
		{"name", nil, "invalid_type"}, {"address", nil, "invalid_type"}, {"city", nil, "invalid_type"}, {"postal_code", nil, "invalid_type"},
		{"country_code", nil, "invalid_type"}, {"lat", nil, "invalid_type"}, {"lon", nil, "invalid_type"}, {"require_staff_pin", nil, "invalid_type"},
	} {
		t.Run(fmt.Sprintf("%s=%.12v", c.field, c.value), func(t *testing.T) {
			s := s.on(t)
			before := s.patch(path, fields{}).want(200)
			s.advance("1s")
			r := s.patch(path, fields{c.field: c.value})
			if c.want != "" {
				r.invalid(c.field + " " + c.want)
				if after := s.patch(path, fields{}); string(after.body) != string(before.body) {
					t.Errorf("changed: %s", after.body)
				}
				return
			}
			now := s.app.Store.Now().String()
			r.want(200).shows(fields{c.field: c.value, "updated_at": now})
			for _, name := range names(r.body) {
				if name != c.field && name != "updated_at" && string(r.part(name)) != string(before.part(name)) {
					t.Errorf("%s changed to %s", name, r.part(name))
				}
			}
			if list := s.get("/locations").want(200); string(list.part("data.1")) != string(r.body) {
				t.Errorf("list has %s, answer was %s", list.part("data.1"), r.body)
			}
		})
	}
	// Every offending field at once, and none of the sound ones is changed.
	s.patch(path, fields{"name": "", "lat": 91, "city": "Rome", "x": 1}).invalid("lat too_large", "name too_short", "x unknown_field")
}

// TestLocationStates is the state machine: every state, every action.
func TestLocationStates(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	path := "/locations/" + s.LocationIDs[0]
	for _, c := range []struct {
		from, action  string
		active, moved bool
	}{
		{"enable", "enable", true, false},
		{"enable", "disable", false, true},
		{"disable", "disable", false, false},
		{"disable", "enable", true, true},
	} {
		t.Run(c.from+"d "+c.action, func(t *testing.T) {
			s := s.on(t)
			before := s.post(path+"/"+c.from, nil).want(200)
			audits := s.audits()
			s.advance("1m")
			r := s.post(path+"/"+c.action, nil).want(200)
			if !c.moved {
				if string(r.body) != string(before.body) || s.audits() != audits {
					t.Errorf("no no-op: %s, was %s", r.body, before.body)
				}
				return
			}
			now := s.app.Store.Now().String()
			want := fields{"active": c.active, "disabled_at": nil, "updated_at": now}
			if !c.active {
				want["disabled_at"] = now
			}
			r.shows(want)
		})
	}
	s.post(path+"/disable", fields{}).want(200)
	s.post(path+"/disable", fields{"reason": "x"}).invalid("reason unknown_field")
	s.patch(path, fields{"name": "Still here"}).want(200).shows(fields{"name": "Still here", "active": false})
}

func TestLocationUnknown(t *testing.T) {
	t.Parallel()
	s := start(t)
	other, foreign := s.elsewhere()
	for _, id := range []string{"x", "loc_00000000000000000000000000", s.ProgramIDs["standard"], foreign, s.app.Store.ID(store.KindLocation, 999), s.LocationIDs[0] + "0"} {
		s.patch("/locations/"+id, fields{"name": "x"}).want(404, "not_found")
		s.patch("/locations/"+id, fields{}).want(404, "not_found")
		s.post("/locations/"+id+"/disable", nil).want(404, "not_found")
		s.post("/locations/"+id+"/enable", nil).want(404, "not_found")
	}
	if ids := other.get("/locations").want(200).ids(); !slices.Equal(ids, []string{foreign}) {
		t.Errorf("the other shop has %q", ids)
	}
	if ids := s.get("/locations").want(200).ids(); !slices.Equal(ids, []string{s.LocationIDs[1], s.LocationIDs[0]}) {
		t.Errorf("the shop has %q", ids)
	}
}
