package till_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

const pinHeader = "X-Staff-Pin"

// guarded returns a till at a location with the staff PIN 2468.
func guarded(t *testing.T) (s, d *servertest.Server, location, card string) {
	s = start(t, servertest.Frozen)
	d, location = newTill(s, fields{"require_staff_pin": true, "staff_pin": "2468"})
	return s, d, location, s.Issue(s.ProgramIDs["standard"], nil)
}

// stampWithPIN stamps with a PIN, or without one if it is empty.
func stampWithPIN(s *servertest.Server, card, pin string) *servertest.Reply {
	s.T.Helper()
	if pin == "" {
		return stamp(s, card, nil)
	}
	return stamp(s, card, nil, pinHeader, pin)
}

// TestPINRequired checks that a write requires the PIN before anything is read or written, and lookups do not. For each
// operation see TestEveryOperationRefuses.
func TestPINRequired(t *testing.T) {
	s, d, location, card := guarded(t)
	second := s.NewDevice(location) // so that neither is locked
	d.Get("/me").WantOK(fields{"location.require_staff_pin": true, "location.id": location})
	d.Get("/cards/" + card).Want(200)
	s.Unchanged(func() {
		for i, c := range []struct {
			headers []string
			message string
		}{
			{nil, "send it as X-Staff-Pin"},
			{[]string{pinHeader, "1357"}, "wrong"},
			{[]string{pinHeader, ""}, "wrong"},
			{[]string{pinHeader, "2468", pinHeader, "2468"}, "wrong"},
			{[]string{pinHeader, "02468"}, "wrong"},
		} {
			d := d
			if i > 2 {
				d = second
			}
			for _, body := range []string{"{}", "["} {
				r := stamp(d, card, body, c.headers...).Want(401, "invalid_credentials")
				says(r, c.message)
				if r.Header.Get("Www-Authenticate") != "" {
					t.Errorf("%q: %s", c.headers, r.Header)
				}
			}
		}
	})
	if r := s.REST().Get("/cards/" + card); r.Str("status") != "invited" {
		t.Errorf("%s", r.Body)
	}
	stampWithPIN(d, card, "2468").Want(201)

	// If a PIN is required but not set, the message says so.
	none, at := newTill(s, fields{"require_staff_pin": true})
	s.Unchanged(func() {
		for _, pin := range []string{"", "2468"} {
			says(stampWithPIN(none, card, pin).Want(401, "invalid_credentials"), "none is set")
		}
	})
	s.REST().Patch("/locations/"+at, fields{"require_staff_pin": false}).Want(200)
	stampWithPIN(none, card, "").Want(201)
	stampWithPIN(none, card, "1111").Want(201)
}

// TestPINLock checks that five consecutive wrong PINs, of any actions, lock the device for a
// minute of the server's clock.
func TestPINLock(t *testing.T) {
	s, d, location, card := guarded(t)
	other := s.NewDevice(location)
	paths := []string{
		"/cards/" + card + "/stamps", "/cards/" + card + "/uses", "/cards/crd_none/topups", "/transactions/txn_none/reversal",
		"/programs/" + s.ProgramIDs["standard"] + "/cards",
	}
	wrong := func(n int) {
		t.Helper()
		for i := range n {
			d.Post(paths[i], nil, pinHeader, "0000").Want(401, "invalid_credentials")
		}
	}
	locked := func(after string) {
		t.Helper()
		s.Unchanged(func() {
			for _, pin := range []string{"0000", "2468", ""} {
				retryAfter(stampWithPIN(d, card, pin).Want(429, "rate_limited"), after)
			}
		})
	}
	// Only the right PIN resets the count.
	wrong(4)
	stampWithPIN(d, card, "2468").Want(201)
	wrong(2)
	stampWithPIN(d, card, "").Want(401) // a missing PIN does not count
	d.Get("/cards/" + card).Want(200)
	wrong(2)
	d.Post("/cards/crd_none/stamps", nil, pinHeader, "2468").Want(404, "not_found")
	s.Advance("15m") // for the location, the count begins again
	wrong(5)
	locked("60")
	d.Get("/cards/" + card).Want(200)
	stampWithPIN(other, card, "2468").Want(201)
	s.Advance("59.5s")
	locked("1")
	s.Advance("500ms")
	stampWithPIN(d, card, "2468").Want(201)
}

// pinLocks returns the locks in the audit log with the devices whose wrong PINs caused them,
// newest first.
func pinLocks(s *servertest.Server) (locks []string) {
	s.T.Helper()
	for _, row := range s.Control("GET", "/audit?limit=100", nil).At("data").([]any) {
		if r := row.(map[string]any); strings.HasSuffix(r["action"].(string), ".pin_locked") {
			actor := r["actor"].(map[string]any)
			locks = append(locks, fmt.Sprint(r["action"], " ", r["target_id"], " by ", actor["type"], " ", actor["id"]))
		}
	}
	return locks
}

// TestPINLockOfLocation checks that ten wrong PINs within 15 minutes lock a
// location's PIN entry for five minutes, whichever devices send them and whatever
// right ones come between, and that every lock is in the audit log once.
func TestPINLockOfLocation(t *testing.T) {
	s, d, location, card := guarded(t)
	other := s.NewDevice(location)
	elsewhere, _ := newTill(s, fields{"require_staff_pin": true, "staff_pin": "2468"})
	wrong := func(d *servertest.Server, n int) {
		t.Helper()
		for range n {
			stampWithPIN(d, card, "0000").Want(401, "invalid_credentials")
		}
	}
	wrong(d, 4)
	stampWithPIN(d, card, "2468").Want(201)
	s.Advance("14m59s")
	wrong(other, 4)
	stampWithPIN(other, card, "2468").Want(201)
	s.Advance("1s") // the first four do not count any more
	wrong(d, 4)
	stampWithPIN(d, card, "2468").Want(201)
	if locks := pinLocks(s); locks != nil {
		t.Errorf("locked: %q", locks)
	}
	wrong(d, 2)
	for i, device := range []*servertest.Server{d, other, s.NewDevice(location)} {
		for _, pin := range []string{"2468", "0000"} {
			s.Unchanged(func() {
				if r := stampWithPIN(device, card, pin).Want(429, "rate_limited"); r.Header.Get("Retry-After") != "300" ||
					!strings.Contains(r.Str("error.message"), "location") {
					t.Errorf("device %d: %s %s", i, r.Header, r.Body)
				}
			})
		}
		device.Get("/cards/" + card).Want(200)
	}
	stampWithPIN(elsewhere, card, "2468").Want(201)
	s.Advance("4m59s")
	stampWithPIN(other, card, "2468").Want(429, "rate_limited")
	s.Advance("1s")
	stampWithPIN(other, card, "2468").Want(201)

	// The fifth wrong one in a row locks the device too. Then the count of the
	// location goes on, and its tenth wrong one locks both.
	s.Advance("15m")
	stampWithPIN(d, card, "2468").Want(201)
	wrong(d, 5)
	stampWithPIN(d, card, "2468").Want(429, "rate_limited")
	s.Advance("1m")
	wrong(d, 5)
	id := d.Get("/me").Str("device.id")
	atLocation, atDevice := "location.pin_locked "+location+" by device "+id, "device.pin_locked "+id+" by device "+id
	if got, want := pinLocks(s), []string{atLocation, atDevice, atDevice, atLocation}; !slices.Equal(got, want) {
		t.Errorf("the audit log has %q, want %q", got, want)
	}
}

// TestPINChanged checks that a PIN which another process sets is valid with the
// next request, and no other is.
func TestPINChanged(t *testing.T) {
	s, d, location, card := guarded(t)
	change := func(pin string) {
		servertest.Write(t, s.Beside(), func(tx *store.Tx) error {
			_, err := tx.SetStaffPIN(s.Shop(), location, store.HashStaffPIN(store.Some(pin)))
			return err
		})
	}
	stampWithPIN(d, card, "2468").Want(201)
	change("1111")
	stampWithPIN(d, card, "1111").Want(201)
	change("2222")
	s.Unchanged(func() { stampWithPIN(d, card, "1111").Want(401, "invalid_credentials") })
	change("3333")
	s.Unchanged(func() { stampWithPIN(d, card, "9999").Want(401, "invalid_credentials") })
	stampWithPIN(d, card, "3333").Want(201)
	// After any change in the file the guard reads it again, and the request still counts as one
	// try.
	for range 4 {
		setLocation(s, s.LocationIDs[1], "disable")
		s.Unchanged(func() { stampWithPIN(d, card, "9999").Want(401, "invalid_credentials") })
		setLocation(s, s.LocationIDs[1], "enable")
	}
	stampWithPIN(d, card, "3333").Want(201)
	change("")
	stampWithPIN(d, card, "3333").Want(401, "invalid_credentials")
}
