package dev_test

import (
	"context"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// TestClockFields checks that the clock is moved by a duration, also one with days, or to an
// instant, not by both.
func TestClockFields(t *testing.T) {
	s := start(t)
	before := s.Control("GET", "/clock", nil).Str("now")
	s.ControlAPI().Post("/clock", `{"advance":"1h","now":"2030-01-01T00:00:00Z"}`).Invalid("advance mutually_exclusive")
	s.ControlAPI().Post("/clock", `{}`).Invalid("advance required")
	s.ControlAPI().Post("/clock", `{"advance":null}`).Invalid("advance required")
	s.ControlAPI().Post("/clock", `{"advance":"","x":1}`).Invalid("advance too_short", "x unknown_field")
	s.ControlAPI().Post("/clock", `{"advance":7}`).Invalid("advance invalid_type")
	if now := s.Control("GET", "/clock", nil).Str("now"); now != before {
		t.Errorf("%s, want %s", now, before)
	}
	s.Control("POST", "/clock", `{"advance":"1h"}`)
	for _, c := range []struct{ advance, now string }{
		{"3d", "2030-01-04T00:00:00.000Z"}, {"1d12h30m", "2030-01-05T12:30:00.000Z"}, {"0d", "2030-01-05T12:30:00.000Z"},
		{"11h30m", "2030-01-06T00:00:00.000Z"},
	} {
		callControl(s, "POST", "/clock", fields{"now": "2030-01-01T00:00:00Z"})
		if got := s.Control("POST", "/clock", fields{"advance": c.advance}); string(got.Raw("now")) != `"`+c.now+`"` {
			t.Errorf("%s: %s", c.advance, got.Body)
		}
	}
	for _, wrong := range []string{
		"d", "-1d", "1.5d", "1d2d", "1d-1h", "1dx", " 1d", "106752d", "106751d24h", "99999999999999999999d", "12h3d",
	} {
		callControl(s, "POST", "/clock", fields{"advance": wrong}).Invalid("advance invalid_value")
	}
}

// TestControlTextsAreLines checks that the names which the control API takes are
// lines, like those of the REST API.
func TestControlTextsAreLines(t *testing.T) {
	s := start(t)
	for text, code := range map[string]string{
		"": "too_short", " \u200b": "too_short", "a\nb": "invalid_format", "a\u202eb": "invalid_format",
	} {
		for _, path := range []string{"/shops", "/keys", "/locations", "/devices"} {
			body := fields{"name": text}
			if path == "/devices" {
				body["location_id"] = s.LocationIDs[0]
			}
			s.ControlAPI().Post(path, body).Invalid("name " + code)
		}
	}
	s.ControlAPI().Post("/devices", `{"location_id":"","name":""}`).Invalid("location_id too_short", "name too_short")
	s.ControlAPI().
		Post("/keys", `{"scopes":["x"],"expires_at":"2020-01-01T00:00:00Z","name":""}`).
		Invalid("name too_short", "scopes.0 invalid_value", "expires_at must_be_future")
}

// TestControlStaff checks the routes for staff, pairings and devices, with bad input, and that
// a resource of another shop is found by its id alone.
func TestControlStaff(t *testing.T) {
	s := start(t)
	other := s.Control("POST", "/shops", fields{}).Str("location_id")
	for _, location := range []string{s.LocationIDs[0], other} {
		member := s.Control("POST", "/staff", fields{"location_ids": []string{location}, "name": "Ada", "pin": "2468"})
		member.Shows(fields{"name": "Ada", "location_ids": []string{location}, "disabled_at": nil})
		id := member.Str("id")
		s.Control("PATCH", "/staff/"+id, fields{"location_ids": []string{}}).Shows(fields{"name": "Ada", "location_ids": []string{}})
		s.Control("POST", "/staff/"+id+"/pin", fields{"pin": "13579"}).Shows(fields{"id": id})
		if s.Control("POST", "/staff/"+id+"/disable", nil).At("disabled_at") == nil {
			t.Error("the member is not disabled")
		}
		s.Control("POST", "/staff/"+id+"/enable", nil).Shows(fields{"disabled_at": nil})
		s.Control("POST", "/pairings", fields{"location_id": location}).Shows(fields{"location_id": location, "name": "Till"})
	}
	device := s.Control("POST", "/devices", fields{"location_id": other}).Str("id")
	s.Control("POST", "/devices/"+device+"/revoke", nil).Shows(fields{"id": device})
	s.Unchanged(func() {
		s.ControlAPI().
			Post("/staff", fields{"pin": "12x", "name": "a\nb"}).
			Invalid("name invalid_format", "pin too_short")
		s.ControlAPI().Post("/staff", fields{"location_ids": []string{"loc_none"}, "name": "Ada", "pin": "2468"}).Want(404, "not_found")
		s.ControlAPI().Post("/pairings", fields{"name": ""}).Invalid("name too_short", "location_id required")
		s.ControlAPI().Post("/pairings", fields{"location_id": "loc_none"}).Want(404, "not_found")
		for _, path := range []string{
			"/staff/stf_none/disable", "/staff/stf_none/enable", "/devices/dev_none/revoke", "/staff/" + device + "/disable",
		} {
			s.ControlAPI().Post(path, nil).Want(404, "not_found")
		}
		s.ControlAPI().
			Post("/staff", fields{"location_ids": []string{s.LocationIDs[0], other}, "name": "Ada", "pin": "2468"}).
			Invalid("location_ids.1 invalid_value")
		s.ControlAPI().Post("/staff/stf_none/pin", fields{"pin": "1"}).Invalid("pin too_short")
		s.ControlAPI().Post("/staff/stf_none/pin", fields{"pin": "1234"}).Want(404, "not_found")
	})
}

// TestPINIsDemandedOnceSet checks that setting a PIN sets require_staff_pin, that removing the PIN
// leaves require_staff_pin as it is, and that a location may have a PIN and not require it.
func TestPINIsDemandedOnceSet(t *testing.T) {
	s := start(t)
	for body, want := range map[string]bool{`{}`: false, `{"staff_pin":"1234"}`: true,
		`{"staff_pin":"12345678","require_staff_pin":true}`: true,
		`{"staff_pin":"1234","require_staff_pin":false}`:    false, `{"require_staff_pin":true}`: true} {
		s.Control("POST", "/locations", body).Shows(fields{"require_staff_pin": want})
	}
	for pin, code := range map[string]string{
		"": "too_short", "123": "too_short", "123456789": "too_long", "12345678a": "too_long", "12 4": "invalid_format",
	} {
		s.ControlAPI().Post("/locations", fields{"staff_pin": pin, "name": 7}).Invalid("name invalid_type", "staff_pin "+code)
	}
	at := s.Control("POST", "/locations", nil).Str("id")
	set := func(pin store.Opt[string]) (store.Location, error) {
		return kernel.Do[store.Location](
			context.Background(),
			kernel.New(s.App.Store, kernel.Config{}),
			kernel.OperatorCaller("ada", s.Shop()),
			operation.SetStaffPIN,
			kernel.Args{Params: map[string]string{"id": at}, Fields: operation.StaffPINFields{StaffPIN: pin}},
		)
	}
	for i, pin := range []store.Opt[string]{{}, store.Given("1234"), {}, store.Given("4321")} {
		if l, err := set(pin); err != nil || l.RequireStaffPIN != (i > 0) {
			t.Errorf("%d: %v, %v", i, l.RequireStaffPIN, err)
		}
	}
	s.Patch("/locations/"+at, `{"require_staff_pin":false}`).WantOK(fields{"require_staff_pin": false})
	for pin, code := range map[string]string{"": "too_short", "123": "too_short", "123456789": "too_long", "١٢٣٤": "invalid_format"} {
		_, err := set(store.Given(pin))
		if e, ok := store.AsError(err); !ok || len(e.Details) != 1 || e.Details[0].Code != code {
			t.Errorf("%q: %v", pin, err)
		}
	}
	s.Get("/locations?limit=1").WantOK(fields{"data.0.require_staff_pin": false})
}
