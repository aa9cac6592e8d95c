package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestRestrictedLocations calls every operation on a location with a restricted
// key: inside of its locations, outside, another shop's, and none.
func TestRestrictedLocations(t *testing.T) {
	t.Parallel()
	s := start(t)
	inside, outside := s.LocationIDs[0], s.LocationIDs[1]
	_, foreign := newOtherShop(s)
	r := s.With(s.RestrictedAPIKey)
	if ids := r.Get("/locations").Want(200).IDs(); !slices.Equal(ids, []string{inside}) {
		t.Errorf("listed %q", ids)
	}
	for _, c := range []struct{ id, want string }{{inside, "200"}, {outside, "403 unauthorized"}, {foreign, missing}, {"x", missing}, {s.App.Store.ID(store.KindLocation, 999), missing}} {
		r.Patch("/locations/"+c.id, fields{"name": "N"}).WantOutcome(c.want)
		r.Patch("/locations/"+c.id, fields{}).WantOutcome(c.want)
		// In this order the location stays enabled.
		r.Post("/locations/"+c.id+"/enable", nil).WantOutcome(c.want)
	}
	r.Post("/locations/"+outside+"/disable", nil).WantOutcome("403 unauthorized")
	r.Post("/locations/"+foreign+"/disable", nil).WantOutcome(missing)
	s.Get("/locations").Want(200).Shows(fields{"data.0.name": "Stazione", "data.0.active": true, "data.1.name": "N"})

	// Of several, in pages, newest first.
	ids := []string{inside}
	for i := range 5 {
		id := s.Control("POST", "/locations", fields{"name": fmt.Sprint(i)}).Str("id")
		if i%2 == 0 {
			ids = append([]string{id}, ids...)
		}
	}
	for _, limit := range []string{"1", "2", "3", "50"} {
		if have, _ := newKeyAt(s, ids...).All("/locations", "limit", limit); !slices.Equal(have, ids) {
			t.Errorf("limit %s: %q, want %q", limit, have, ids)
		}
	}
}

// TestRestrictedPrograms checks that a restricted key sees all programs and
// prizes, whatever the program's scope.
func TestRestrictedPrograms(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.With(s.RestrictedAPIKey)
	for _, scope := range scopes(s) {
		t.Run(scope.name, func(t *testing.T) {
			s, r := s.On(t), r.On(t)
			path := "/programs/" + s.NewProgram("standard", false, scope.body)
			prize := path + "/prizes/" + r.Post(path+"/prizes", fields{"threshold": 5, "name": "Z"}).Want(201).Str("id")
			r.Patch(prize, fields{"name": "Y"}).Want(200)
			r.Get(path + "/prizes").Want(200).Shows(fields{"data.0.name": "Y"})
			for _, a := range []string{"publish", "suspend", "unsuspend", "unpublish"} {
				r.Post(path+"/"+a, nil).Want(200)
			}
			r.Patch(path, fields{"name": "N"}).Want(200).Shows(fields{"name": "N", "scoped_location_ids": scope.body["scoped_location_ids"]})
			was := s.Get(path)
			for _, more := range []fields{scope.body, {"location_scope": "all_locations"}, {"scoped_location_ids": s.LocationIDs[:1]}, {"scoped_location_ids": []string{}, "name": "M"}} {
				r.Patch(path, more).Want(403, "unauthorized")
			}
			if now := s.Get(path); string(now.Body) != string(was.Body) {
				t.Errorf("changed to %s", now.Body)
			}
			if a, b := r.Get(path), s.Get(path); string(a.Body) != string(b.Body) {
				t.Errorf("sees %s, not %s", a.Body, b.Body)
			}
			r.Call("DELETE", prize, nil).Want(204)
		})
	}
	if a, b := r.Get("/programs").Want(200), s.Get("/programs"); string(a.Body) != string(b.Body) {
		t.Errorf("lists %s, not %s", a.Body, b.Body)
	}
	r.Patch("/programs/none", fields{"location_scope": "all_locations"}).Want(404, "not_found")
	r.Post("/programs", servertest.Merge(servertest.Programs["access"], fields{"location_scope": "selected_locations", "scoped_location_ids": s.LocationIDs})).Want(201)
}

type scope struct {
	name string
	body fields
	own  bool // within the restriction to the first location
}

func scopes(s *servertest.Server) []scope {
	selected := func(ids ...string) fields {
		return fields{"location_scope": "selected_locations", "scoped_location_ids": ids}
	}
	return []scope{
		{"all", fields{"scoped_location_ids": []string{}}, true},
		{"inside", selected(s.LocationIDs[0]), true},
		{"both", selected(s.LocationIDs[1], s.LocationIDs[0]), true},
		{"outside", selected(s.LocationIDs[1]), false},
	}
}

// TestRestrictedCards combines every card endpoint with the program's scope.
func TestRestrictedCards(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.With(s.RestrictedAPIKey)
	var seen []string
	for _, scope := range scopes(s) {
		t.Run(scope.name, func(t *testing.T) {
			s, r := s.On(t), r.On(t)
			program := s.NewProgram("access", true, scope.body)
			card := s.Issue(program, fields{"external_ref": scope.name, "holder_email": scope.name + "@example.com"})
			path := "/cards/" + card
			was, audits := s.Get(path), countAudits(s)
			for _, op := range []func() *servertest.Reply{
				func() *servertest.Reply { return r.Get(path) },
				func() *servertest.Reply { return r.Patch(path, nil) },
				func() *servertest.Reply { return r.Patch(path, fields{"holder_name": "N"}) },
				func() *servertest.Reply { return r.Patch(path, fields{"external_ref": scope.name}) },
				func() *servertest.Reply { return r.Post(path+"/reissue", nil) },
				func() *servertest.Reply { return r.Post(path+"/install-link", nil) },
			} {
				if scope.own {
					op().Want(200)
				} else {
					op().Want(404, "not_found")
				}
			}
			lists := map[string]string{"": "", "external_ref": scope.name, "holder_email": scope.name + "@example.com", "program_id": program, "status": "invited"}
			for name, v := range lists {
				ids, _ := r.All("/cards", name, v, "limit", "1")
				if slices.Contains(ids, card) != scope.own {
					t.Errorf("listed by %q: %v", name, !scope.own)
				}
			}
			if !scope.own {
				r.Post("/programs/"+program+"/cards", nil).Want(403, "unauthorized")
				if after := s.Get(path); string(after.Body) != string(was.Body) || countAudits(s) != audits {
					t.Errorf("changed to %s", after.Body)
				}
				return
			}
			seen = append([]string{r.Issue(program, nil), card}, seen...)
			own := []fields{{"id": s.LocationIDs[0], "name": "Centrale"}}
			r.Get(path).Shows(fields{"all_locations": scope.name == "all", "locations": own})
			r.Patch(path, fields{"holder_name": "M"}).Shows(fields{"all_locations": scope.name == "all", "locations": own})
			if n := len(s.Get(path).At("locations").([]any)); scope.name != "inside" && n != 2 {
				t.Errorf("a key of all locations sees %d", n)
			}
		})
	}
	for _, limit := range []string{"1", "2", "3", "100"} {
		if ids, _ := r.All("/cards", "limit", limit); !slices.Equal(ids, seen) {
			t.Errorf("limit %s: %q, want %q", limit, ids, seen)
		}
	}
	// Moving the program's scope moves its cards in and out of sight.
	program := s.NewProgram("access", true, nil)
	card := "/cards/" + s.Issue(program, nil)
	r.Get(card).Want(200)
	s.Patch("/programs/"+program, fields{"location_scope": "selected_locations", "scoped_location_ids": s.LocationIDs[1:]}).Want(200)
	r.Get(card).Want(404, "not_found")
	newKeyAt(s, s.LocationIDs[1]).Get(card).Want(200)
	newKeyAt(s, s.LocationIDs...).Get(card).Want(200).Shows(fields{"locations": []fields{{"id": s.LocationIDs[1], "name": "Stazione"}}})
	// A name that is taken by a card out of sight is taken all the same.
	s.Patch("/programs/"+program, fields{"scoped_location_ids": []string{s.LocationIDs[1], s.LocationIDs[0]}}).Want(200)
	s.Issue(program, fields{"external_ref": "taken"})
	r.Post("/programs/"+program+"/cards", fields{"external_ref": "taken"}).Want(409, "conflict")
}

func TestRestrictedTransactions(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.With(s.RestrictedAPIKey)
	_, foreign := newOtherShop(s)
	outside := s.Issue(s.NewProgram("access", true, scopes(s)[3].body), nil)
	everywhere := s.Issue(s.ProgramIDs["access"], nil)
	var own []string
	for i := range 6 {
		id := addTransaction(s, ledgerRow{card: everywhere, location: s.LocationIDs[i%2], kind: "access"})
		if i%2 == 0 {
			own = append([]string{id}, own...)
		}
	}
	addTransaction(s, ledgerRow{card: outside, location: s.LocationIDs[1], kind: "access"})
	for _, c := range []struct {
		query []string
		want  []string
	}{
		{nil, own}, {[]string{"card_id", everywhere}, own}, {[]string{"location_id", s.LocationIDs[0]}, own}, {[]string{"program_id", s.ProgramIDs["access"]}, own},
		{[]string{"location_id", s.LocationIDs[1]}, nil}, {[]string{"location_id", foreign}, nil}, {[]string{"location_id", "x"}, nil}, {[]string{"card_id", outside}, nil},
	} {
		for _, limit := range []string{"1", "2", "50"} {
			if ids, _ := r.All("/transactions", append(c.query, "limit", limit)...); !slices.Equal(ids, c.want) {
				t.Errorf("%q, limit %s: %q, want %q", c.query, limit, ids, c.want)
			}
		}
	}
}

// TestRestrictedAllDisabled checks that a key whose locations are all disabled
// gets 402, except where locations are read and enabled.
func TestRestrictedAllDisabled(t *testing.T) {
	t.Parallel()
	s := start(t)
	one, two := s.LocationIDs[0], s.LocationIDs[1]
	r, both := s.With(s.RestrictedAPIKey), newKeyAt(s, one, two)
	program := s.ProgramIDs["standard"]
	card := s.Issue(program, nil)
	prize := s.Get("/programs/" + program + "/prizes").IDs()[0]
	s.Post("/locations/"+one+"/disable", nil).Want(200)
	const shut = "402 location_disabled"
	for _, c := range []struct{ method, path, want string }{
		{"GET", "/me", "200"},
		{"GET", "/locations", "200"},
		{"PATCH", "/locations/" + one, "200"},
		{"PATCH", "/locations/" + two, "403 unauthorized"},
		{"POST", "/locations/" + one + "/disable", "200"},
		{"POST", "/locations/" + two + "/disable", "403 unauthorized"},
		{"POST", "/locations/" + two + "/enable", "403 unauthorized"},
		{"GET", "/programs", shut}, {"POST", "/programs", shut}, {"GET", "/programs/" + program, shut}, {"PATCH", "/programs/" + program, shut},
		{"POST", "/programs/" + program + "/publish", shut}, {"POST", "/programs/" + program + "/unpublish", shut},
		{"POST", "/programs/" + program + "/suspend", shut}, {"POST", "/programs/" + program + "/unsuspend", shut},
		{"GET", "/programs/" + program + "/prizes", shut}, {"POST", "/programs/" + program + "/prizes", shut},
		{"PATCH", "/programs/" + program + "/prizes/" + prize, shut}, {"DELETE", "/programs/" + program + "/prizes/" + prize, shut},
		{"POST", "/programs/" + program + "/cards", shut}, {"GET", "/cards", shut}, {"GET", "/cards/" + card, shut}, {"PATCH", "/cards/" + card, shut},
		{"POST", "/cards/" + card + "/reissue", shut}, {"POST", "/cards/" + card + "/install-link", shut},
		{"GET", "/transactions", shut}, {"GET", "/cards/x", shut}, {"GET", "/programs?limit=0", shut},
	} {
		t.Run(c.method+" "+strings.SplitAfter(c.path, "_")[0], func(t *testing.T) { r.On(t).Call(c.method, c.path, nil).WantOutcome(c.want) })
	}
	// One of two is enough, and a key of no restriction has no such rule.
	both.Get("/cards/" + card).Want(200).Shows(fields{"locations": []fields{{"id": two, "name": "Stazione"}}})
	s.Post("/locations/"+two+"/disable", nil).Want(200)
	both.Get("/cards").Want(402, "location_disabled")
	s.Get("/cards/" + card).Want(200).Shows(fields{"locations": []fields{}, "all_locations": true})
	// The key itself brings its location back, on the next request.
	r.Post("/locations/"+one+"/enable", nil).Want(200)
	r.Get("/cards/" + card).Want(200)
	both.Get("/cards").Want(200)
}
