package dev_test

import (
	"context"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// TestClockTakesOneField checks that the clock is moved by a duration or to an
// instant, not by both.
func TestClockTakesOneField(t *testing.T) {
	t.Parallel()
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
}

// TestControlTextsAreLines checks that the names which the control API takes are
// lines, like those of the REST API.
func TestControlTextsAreLines(t *testing.T) {
	t.Parallel()
	s := start(t)
	for text, code := range map[string]string{"": "too_short", " \u200b": "too_short", "a\nb": "invalid_format", "a\u202eb": "invalid_format"} {
		for _, path := range []string{"/shops", "/keys", "/locations", "/devices"} {
			body := fields{"name": text}
			if path == "/devices" {
				body["location_id"] = s.LocationIDs[0]
			}
			s.ControlAPI().Post(path, body).Invalid("name " + code)
		}
	}
	s.ControlAPI().Post("/devices", `{"location_id":"","name":""}`).Invalid("location_id too_short", "name too_short")
	s.ControlAPI().Post("/keys", `{"scopes":["x"],"expires_at":"2020-01-01T00:00:00Z","name":""}`).Invalid("name too_short", "scopes.0 invalid_value", "expires_at must_be_future")
}

// TestPINIsDemandedOnceSet checks that setting a PIN sets require_staff_pin, that
// taking it away leaves that, and that a location may have a PIN without demanding
// it.
func TestPINIsDemandedOnceSet(t *testing.T) {
	t.Parallel()
	s := start(t)
	for body, want := range map[string]bool{`{}`: false, `{"staff_pin":"1234"}`: true, `{"staff_pin":"12345678","require_staff_pin":true}`: true,
		`{"staff_pin":"1234","require_staff_pin":false}`: false, `{"require_staff_pin":true}`: true} {
		s.Control("POST", "/locations", body).Shows(fields{"require_staff_pin": want})
	}
	for pin, code := range map[string]string{"": "too_short", "123": "too_short", "123456789": "too_long", "12345678a": "too_long", "12 4": "invalid_format"} {
		s.ControlAPI().Post("/locations", fields{"staff_pin": pin, "name": 7}).Invalid("name invalid_type", "staff_pin "+code)
	}
	at := s.Control("POST", "/locations", nil).Str("id")
	set := func(pin store.Opt[string]) (store.Location, error) {
		return kernel.Do[store.Location](context.Background(), kernel.New(s.App.Store, kernel.Config{}), kernel.OperatorCaller("ada", s.Shop()), operation.SetStaffPIN,
			kernel.Args{Params: map[string]string{"id": at}, Fields: operation.StaffPINFields{StaffPIN: pin}})
	}
	for i, pin := range []store.Opt[string]{{}, store.Given("1234"), {}, store.Given("4321")} {
		if l, err := set(pin); err != nil || l.RequireStaffPIN != (i > 0) {
			t.Errorf("%d: %v, %v", i, l.RequireStaffPIN, err)
		}
	}
	s.Patch("/locations/"+at, `{"require_staff_pin":false}`).Want(200).Shows(fields{"require_staff_pin": false})
	for pin, code := range map[string]string{"": "too_short", "123": "too_short", "123456789": "too_long", "١٢٣٤": "invalid_format"} {
		_, err := set(store.Given(pin))
		if e, ok := store.AsError(err); !ok || len(e.Details) != 1 || e.Details[0].Code != code {
			t.Errorf("%q: %v", pin, err)
		}
	}
	s.Get("/locations?limit=1").Want(200).Shows(fields{"data.0.require_staff_pin": false})
}
