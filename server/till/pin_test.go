package till_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"punchcard/store"
)

const pinHeader = "X-Staff-Pin"

// guarded is a till at a location that demands the PIN 2468.
func guarded(t *testing.T) (s, d *server, location, card string) {
	s = start(t, frozen)
	d, location = s.location(fields{"require_staff_pin": true, "staff_pin": "2468"})
	return s, d, location, s.issue(s.ProgramIDs["standard"], nil)
}

// pinned asks with a PIN, or with none where it is empty.
func (s *server) pinned(card, pin string) *reply {
	s.t.Helper()
	if pin == "" {
		return s.post("/cards/"+card+"/stamps", nil)
	}
	return s.post("/cards/"+card+"/stamps", nil, pinHeader, pin)
}

// TestPINEverywhere: every write asks for it, before anything is written or
// read; lookups do not.
func TestPINEverywhere(t *testing.T) {
	s, d, location, card := guarded(t)
	d.get("/me").want(200).shows(fields{"location.require_staff_pin": true})
	d.get("/cards/" + card).want(200)
	for _, path := range []string{"/programs/" + s.ProgramIDs["standard"] + "/cards", "/cards/" + card + "/stamps", "/cards/" + card + "/redemptions",
		"/cards/" + card + "/topups", "/cards/" + card + "/spends", "/cards/" + card + "/uses", "/transactions/txn_none/reversal"} {
		first, second := s.device(location), s.device(location) // two, so that neither is locked
		s.untouched(func() {
			for i, c := range []struct {
				headers []string
				message string
			}{
				{nil, "send it as X-Staff-Pin"},
				{[]string{"Idempotency-Key", "k"}, "send it as X-Staff-Pin"},
				{[]string{pinHeader, "1357"}, "wrong"},
				{[]string{pinHeader, ""}, "wrong"},
				{[]string{pinHeader, "2468", pinHeader, "2468"}, "wrong"},
				{[]string{pinHeader, "02468"}, "wrong"},
			} {
				d := first
				if i > 3 {
					d = second
				}
				for _, body := range []string{"{}", "["} {
					if r := d.post(path, body, c.headers...).want(401, "invalid_credentials"); !strings.Contains(r.str("error.message"), c.message) || r.header.Get("Www-Authenticate") != "" {
						t.Errorf("%s %q: %s", path, c.headers, r.body)
					}
				}
			}
		})
	}
	if r := s.rest().get("/cards/" + card); r.str("status") != "invited" {
		t.Errorf("%s", r.body)
	}
	d.pinned(card, "2468").want(201)

	// Demanded and not set: the message says so.
	none, at := s.location(fields{"require_staff_pin": true})
	s.untouched(func() {
		for _, pin := range []string{"", "2468"} {
			if r := none.pinned(card, pin).want(401, "invalid_credentials"); !strings.Contains(r.str("error.message"), "none is set") {
				t.Errorf("%s", r.body)
			}
		}
	})
	s.rest().patch("/locations/"+at, fields{"require_staff_pin": false}).want(200)
	none.pinned(card, "").want(201)
	none.pinned(card, "1111").want(201)
}

// TestPINLock: five wrong ones in a row lock the device for a minute of the
// server's clock.
func TestPINLock(t *testing.T) {
	s, d, location, card := guarded(t)
	other := s.device(location)
	wrong := func(n int) {
		t.Helper()
		for range n {
			d.pinned(card, "0000").want(401, "invalid_credentials")
		}
	}
	locked := func(after string) {
		t.Helper()
		s.untouched(func() {
			for _, pin := range []string{"0000", "2468", ""} {
				if r := d.pinned(card, pin).want(429, "rate_limited"); r.header.Get("Retry-After") != after {
					t.Errorf("Retry-After %q, want %s", r.header.Get("Retry-After"), after)
				}
			}
		})
	}
	// The right one, and no other, begins the count again.
	wrong(4)
	d.pinned(card, "2468").want(201)
	wrong(2)
	d.pinned(card, "").want(401) // no try
	d.get("/cards/" + card).want(200)
	wrong(2)
	d.pinned(card, "2468").want(201)
	wrong(5)
	locked("60")
	d.get("/cards/" + card).want(200)
	other.pinned(card, "2468").want(201)
	s.advance("59.5s")
	locked("1")
	s.advance("500ms")
	d.pinned(card, "2468").want(201)
	// A lock that ended leaves five tries, not one.
	wrong(5)
	s.advance("60s")
	wrong(4)
	d.pinned(card, "2468").want(201)
}

// TestPINChanged: a PIN set by another process holds from the next request,
// and nobody gets in on the old one or on any other.
func TestPINChanged(t *testing.T) {
	s, d, location, card := guarded(t)
	change := func(pin string) {
		s.beside2(t, func(tx *store.Tx) error { _, err := tx.SetStaffPIN(s.Shop(), location, pin); return err })
	}
	d.pinned(card, "2468").want(201)
	change("1111")
	d.pinned(card, "1111").want(201)
	change("2222")
	s.untouched(func() { d.pinned(card, "1111").want(401, "invalid_credentials") })
	change("3333")
	s.untouched(func() { d.pinned(card, "9999").want(401, "invalid_credentials") })
	d.pinned(card, "3333").want(201)
	// Any change behind the server's back has the gate ask anew; one request
	// is one try all the same.
	for range 4 {
		s.rest().post("/locations/"+s.LocationIDs[1]+"/disable", nil).want(200)
		s.untouched(func() { d.pinned(card, "9999").want(401, "invalid_credentials") })
		s.rest().post("/locations/"+s.LocationIDs[1]+"/enable", nil).want(200)
	}
	d.pinned(card, "3333").want(201)
	// A PIN taken away lets nobody in; one demanded from now on is asked for.
	change("")
	d.pinned(card, "3333").want(401, "invalid_credentials")
	s.rest().patch("/locations/"+location, fields{"require_staff_pin": false}).want(200)
	d.pinned(card, "").want(201)
	change("4444")
	s.rest().patch("/locations/"+location, fields{"require_staff_pin": true}).want(200)
	d.pinned(card, "").want(401, "invalid_credentials")
	d.pinned(card, "4444").want(201)
}

// TestPINAtOnce: tries made together are counted exactly.
func TestPINAtOnce(t *testing.T) {
	_, d, _, card := guarded(t)
	for _, n := range []int{4, 12} {
		got := tally(each(n, func(i int) *reply { return d.pinned(card, fmt.Sprintf("%04d", i)) }))
		want := map[string]int{"401 invalid_credentials": min(n, 5)}
		if n > 5 {
			want["429 rate_limited"] = n - 5
		}
		if !maps.Equal(got, want) {
			t.Errorf("%d wrong ones at once: %v, want %v", n, got, want)
		}
		if n == 4 {
			d.pinned(card, "2468").want(201)
		}
	}
}
