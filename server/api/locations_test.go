package api_test

import (
	"testing"

	"punchcard/server/servertest"
)

func TestLocationShape(t *testing.T) {
	s := start(t, servertest.Frozen)
	page := s.Get("/locations?limit=1").Want(200)
	page.Shaped("", "LocationPage", "")
	page.Shaped("data.0", "Location", "disabled_at")
	page.Shows(fields{"limit": 1, "data.0.country_code": "IT"})
	s.Get("/locations").Want(200).Shaped("", "LocationPage", "next_cursor")
}

// TestLocationPatch checks that a PATCH of one field changes that field and updated_at only, and that a
// refused one changes nothing. For the bounds of the fields see TestBadFieldsAreNamed.
func TestLocationPatch(t *testing.T) {
	s := start(t, servertest.Frozen)
	path := "/locations/" + s.LocationIDs[0]
	for field, value := range map[string]any{
		"name": "Piazza", "address": "Corso Dante 2", "city": "Asti", "postal_code": "1", "country_code": "DE",
		"lat": 46.5, "lon": -7.25, "require_staff_pin": true,
	} {
		before := s.Patch(path, fields{}).Want(200)
		s.Advance("1s")
		r := s.Patch(path, fields{field: value}).Want(200)
		r.Shows(fields{field: value, "updated_at": s.App.Store.Now().String()})
		for _, name := range servertest.Names(r.Body) {
			if name != field && name != "updated_at" && string(r.Raw(name)) != string(before.Raw(name)) {
				t.Errorf("a PATCH of %s changed %s to %s", field, name, r.Raw(name))
			}
		}
		if list := s.Get("/locations").Want(200); string(list.Raw("data.1")) != string(r.Body) {
			t.Errorf("list has %s, answer was %s", list.Raw("data.1"), r.Body)
		}
	}
	// Every invalid field is reported at once, and no valid one is changed.
	before := s.Patch(path, fields{}).Want(200)
	s.Patch(path, fields{"name": "", "lat": 91, "city": "Rome", "x": 1}).Invalid("lat too_large", "name too_short", "x unknown_field")
	s.Patch(path, fields{}).Same(before)
}

// TestLocationStates checks every action in every state of a location.
func TestLocationStates(t *testing.T) {
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
	s.Patch(path, fields{"name": "Still here"}).WantOK(fields{"name": "Still here", "active": false})
}
