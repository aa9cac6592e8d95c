package api_test

import (
	"fmt"
	"slices"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

func TestLocationShape(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	page := s.Get("/locations?limit=1").Want(200)
	page.Shaped("", "LocationPage", "")
	page.Shaped("data.0", "Location", "disabled_at")
	page.Shows(fields{"limit": 1})
	s.Get("/locations").Want(200).Shaped("", "LocationPage", "next_cursor")
	path := "/locations/" + s.LocationIDs[0]
	s.Patch(path, nil).Want(200).Shaped("", "Location", "disabled_at")
	s.Post(path+"/disable", nil).Want(200).Shaped("", "Location", "")
	s.Post(path+"/enable", nil).Want(200).Shaped("", "Location", "disabled_at")
	if page.Str("data.0.country_code") != "IT" {
		t.Errorf("country_code %q, want IT", page.Str("data.0.country_code"))
	}
}

func TestLocationPatch(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	path := "/locations/" + s.LocationIDs[0]
	for _, c := range servertest.Sample([]struct {
		field string
		value any
		want  string // code of the detail; empty if accepted
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
	}) {
		t.Run(fmt.Sprintf("%s=%.12v", c.field, c.value), func(t *testing.T) {
			s := s.On(t)
			before := s.Patch(path, fields{}).Want(200)
			s.Advance("1s")
			r := s.Patch(path, fields{c.field: c.value})
			if c.want != "" {
				r.Invalid(c.field + " " + c.want)
				if after := s.Patch(path, fields{}); string(after.Body) != string(before.Body) {
					t.Errorf("changed: %s", after.Body)
				}
				return
			}
			now := s.App.Store.Now().String()
			r.Want(200).Shows(fields{c.field: c.value, "updated_at": now})
			for _, name := range servertest.Names(r.Body) {
				if name != c.field && name != "updated_at" && string(r.Raw(name)) != string(before.Raw(name)) {
					t.Errorf("%s changed to %s", name, r.Raw(name))
				}
			}
			if list := s.Get("/locations").Want(200); string(list.Raw("data.1")) != string(r.Body) {
				t.Errorf("list has %s, answer was %s", list.Raw("data.1"), r.Body)
			}
		})
	}
	// Every invalid field is reported at once, and no valid one is changed.
	s.Patch(path, fields{"name": "", "lat": 91, "city": "Rome", "x": 1}).Invalid("lat too_large", "name too_short", "x unknown_field")
}

// TestLocationStates checks every action in every state of a location.
func TestLocationStates(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	path := "/locations/" + s.LocationIDs[0]
	for _, c := range []struct {
		from, action    string
		active, changed bool
	}{
		{"enable", "enable", true, false},
		{"enable", "disable", false, true},
		{"disable", "disable", false, false},
		{"disable", "enable", true, true},
	} {
		t.Run(c.from+"d "+c.action, func(t *testing.T) {
			s := s.On(t)
			before := s.Post(path+"/"+c.from, nil).Want(200)
			audits := countAudits(s)
			s.Advance("1m")
			r := s.Post(path+"/"+c.action, nil).Want(200)
			if !c.changed {
				if string(r.Body) != string(before.Body) || countAudits(s) != audits {
					t.Errorf("not a no-op: %s, was %s", r.Body, before.Body)
				}
				return
			}
			now := s.App.Store.Now().String()
			want := fields{"active": c.active, "disabled_at": nil, "updated_at": now}
			if !c.active {
				want["disabled_at"] = now
			}
			r.Shows(want)
		})
	}
	s.Post(path+"/disable", fields{}).Want(200)
	s.Post(path+"/disable", fields{"reason": "x"}).Invalid("reason unknown_field")
	s.Patch(path, fields{"name": "Still here"}).Want(200).Shows(fields{"name": "Still here", "active": false})
}

func TestLocationUnknown(t *testing.T) {
	t.Parallel()
	s := start(t)
	other, foreign := newOtherShop(s)
	for _, id := range []string{"x", "loc_00000000000000000000000000", s.ProgramIDs["standard"], foreign, s.App.Store.ID(store.KindLocation, 999), s.LocationIDs[0] + "0"} {
		s.Patch("/locations/"+id, fields{"name": "x"}).Want(404, "not_found")
		s.Patch("/locations/"+id, fields{}).Want(404, "not_found")
		s.Post("/locations/"+id+"/disable", nil).Want(404, "not_found")
		s.Post("/locations/"+id+"/enable", nil).Want(404, "not_found")
	}
	if ids := other.Get("/locations").Want(200).IDs(); !slices.Equal(ids, []string{foreign}) {
		t.Errorf("the other shop has %q", ids)
	}
	if ids := s.Get("/locations").Want(200).IDs(); !slices.Equal(ids, []string{s.LocationIDs[1], s.LocationIDs[0]}) {
		t.Errorf("the shop has %q", ids)
	}
}
