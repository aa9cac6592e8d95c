package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"punchcard/store"
)

// TestRestrictedLocations: contract section 2, every location endpoint ×
// inside, outside, another shop's, none.
func TestRestrictedLocations(t *testing.T) {
	t.Parallel()
	s := start(t)
	inside, outside := s.LocationIDs[0], s.LocationIDs[1]
	_, foreign := s.elsewhere()
	r := s.with(s.RestrictedAPIKey)
	if ids := r.get("/locations").want(200).ids(); !slices.Equal(ids, []string{inside}) {
		t.Errorf("listed %q", ids)
	}
	for _, c := range []struct{ id, want string }{{inside, "200"}, {outside, "403 unauthorized"}, {foreign, missing}, {"x", missing}, {s.app.Store.ID(store.KindLocation, 999), missing}} {
		r.patch("/locations/"+c.id, fields{"name": "N"}).refused(c.want)
		r.patch("/locations/"+c.id, fields{}).refused(c.want)
		// In this order the location stays enabled.
		r.post("/locations/"+c.id+"/enable", nil).refused(c.want)
	}
	r.post("/locations/"+outside+"/disable", nil).refused("403 unauthorized")
	r.post("/locations/"+foreign+"/disable", nil).refused(missing)
	s.get("/locations").want(200).shows(fields{"data.0.name": "Stazione", "data.0.active": true, "data.1.name": "N"})

	// Of several, in pages, newest first.
	ids := []string{inside}
	for i := range 5 {
		id := s.control("POST", "/locations", fields{"name": fmt.Sprint(i)}).str("id")
		if i%2 == 0 {
			ids = append([]string{id}, ids...)
		}
	}
	for _, limit := range []string{"1", "2", "3", "50"} {
		if have, _ := s.keyAt(ids...).all("/locations", "limit", limit); !slices.Equal(have, ids) {
			t.Errorf("limit %s: %q, want %q", limit, have, ids)
		}
	}
}

// TestRestrictedPrograms: programs and prizes are shop-wide; every endpoint
// works, whatever the program's scope.
func TestRestrictedPrograms(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.with(s.RestrictedAPIKey)
	for _, scope := range scopes(s) {
		t.Run(scope.name, func(t *testing.T) {
			s, r := s.on(t), r.on(t)
			path := "/programs/" + s.newProgram("standard", false, scope.body)
			prize := path + "/prizes/" + r.post(path+"/prizes", fields{"threshold": 5, "name": "Z"}).want(201).str("id")
			r.patch(prize, fields{"name": "Y"}).want(200)
			r.get(path + "/prizes").want(200).shows(fields{"data.0.name": "Y"})
			for _, a := range []string{"publish", "suspend", "unsuspend", "unpublish"} {
				r.post(path+"/"+a, nil).want(200)
			}
			r.patch(path, fields{"name": "N"}).want(200).shows(fields{"name": "N", "scoped_location_ids": scope.body["scoped_location_ids"]})
			if a, b := r.get(path), s.get(path); string(a.body) != string(b.body) {
				t.Errorf("sees %s, not %s", a.body, b.body)
			}
			r.call("DELETE", prize, nil).want(204)
		})
	}
	if a, b := r.get("/programs").want(200), s.get("/programs"); string(a.body) != string(b.body) {
		t.Errorf("lists %s, not %s", a.body, b.body)
	}
	r.post("/programs", plus(bases["access"], fields{"location_scope": "selected_locations", "scoped_location_ids": s.LocationIDs})).want(201)
}

type scope struct {
	name string
	body fields
	own  bool // within the restriction to the first location
}

func scopes(s *server) []scope {
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

// TestRestrictedCards: every card endpoint × the program's scope.
func TestRestrictedCards(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.with(s.RestrictedAPIKey)
	var seen []string
	for _, scope := range scopes(s) {
		t.Run(scope.name, func(t *testing.T) {
			s, r := s.on(t), r.on(t)
			program := s.newProgram("access", true, scope.body)
			card := s.issue(program, fields{"external_ref": scope.name, "holder_email": scope.name + "@example.com"})
			path := "/cards/" + card
			was, audits := s.get(path), s.audits()
			for _, op := range []func() *reply{
				func() *reply { return r.get(path) },
				func() *reply { return r.patch(path, nil) },
				func() *reply { return r.patch(path, fields{"holder_name": "N"}) },
				func() *reply { return r.patch(path, fields{"external_ref": scope.name}) },
				func() *reply { return r.post(path+"/reissue", nil) },
				func() *reply { return r.post(path+"/install-link", nil) },
			} {
				if scope.own {
					op().want(200)
				} else {
					op().want(404, "not_found")
				}
			}
			lists := map[string]string{"": "", "external_ref": scope.name, "holder_email": scope.name + "@example.com", "program_id": program, "status": "invited"}
			for name, v := range lists {
				ids, _ := r.all("/cards", name, v, "limit", "1")
				if slices.Contains(ids, card) != scope.own {
					t.Errorf("listed by %q: %v", name, !scope.own)
				}
			}
			if !scope.own {
				r.post("/programs/"+program+"/cards", nil).want(403, "unauthorized")
				if after := s.get(path); string(after.body) != string(was.body) || s.audits() != audits {
					t.Errorf("changed to %s", after.body)
				}
				return
			}
			seen = append([]string{r.issue(program, nil), card}, seen...)
			own := []fields{{"id": s.LocationIDs[0], "name": "Centrale"}}
			r.get(path).shows(fields{"all_locations": scope.name == "all", "locations": own})
			r.patch(path, fields{"holder_name": "M"}).shows(fields{"all_locations": scope.name == "all", "locations": own})
			if n := len(s.get(path).at("locations").([]any)); scope.name != "inside" && n != 2 {
				t.Errorf("a key of all locations sees %d", n)
			}
		})
	}
	for _, limit := range []string{"1", "2", "3", "100"} {
		if ids, _ := r.all("/cards", "limit", limit); !slices.Equal(ids, seen) {
			t.Errorf("limit %s: %q, want %q", limit, ids, seen)
		}
	}
	// Moving the program's scope moves its cards in and out of sight.
	program := s.newProgram("access", true, nil)
	card := "/cards/" + s.issue(program, nil)
	r.get(card).want(200)
	s.patch("/programs/"+program, fields{"location_scope": "selected_locations", "scoped_location_ids": s.LocationIDs[1:]}).want(200)
	r.get(card).want(404, "not_found")
	s.keyAt(s.LocationIDs[1]).get(card).want(200)
	s.keyAt(s.LocationIDs...).get(card).want(200).shows(fields{"locations": []fields{{"id": s.LocationIDs[1], "name": "Stazione"}}})
	// A name that is taken by a card out of sight is taken all the same.
	s.patch("/programs/"+program, fields{"scoped_location_ids": []string{s.LocationIDs[1], s.LocationIDs[0]}}).want(200)
	s.issue(program, fields{"external_ref": "taken"})
	r.post("/programs/"+program+"/cards", fields{"external_ref": "taken"}).want(409, "conflict")
}

func TestRestrictedTransactions(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.with(s.RestrictedAPIKey)
	_, foreign := s.elsewhere()
	outside := s.issue(s.newProgram("access", true, scopes(s)[3].body), nil)
	everywhere := s.issue(s.ProgramIDs["access"], nil)
	var own []string
	for i := range 6 {
		id := s.transact(ledgerRow{card: everywhere, location: s.LocationIDs[i%2], kind: "access"})
		if i%2 == 0 {
			own = append([]string{id}, own...)
		}
	}
	s.transact(ledgerRow{card: outside, location: s.LocationIDs[1], kind: "access"})
	for _, c := range []struct {
		query []string
		want  []string
	}{
		{nil, own}, {[]string{"card_id", everywhere}, own}, {[]string{"location_id", s.LocationIDs[0]}, own}, {[]string{"program_id", s.ProgramIDs["access"]}, own},
		{[]string{"location_id", s.LocationIDs[1]}, nil}, {[]string{"location_id", foreign}, nil}, {[]string{"location_id", "x"}, nil}, {[]string{"card_id", outside}, nil},
	} {
		for _, limit := range []string{"1", "2", "50"} {
			if ids, _ := r.all("/transactions", append(c.query, "limit", limit)...); !slices.Equal(ids, c.want) {
				t.Errorf("%q, limit %s: %q, want %q", c.query, limit, ids, c.want)
			}
		}
	}
}

// TestRestrictedAllDisabled: 402 everywhere but where the key is diagnosed and
// the location is brought back.
func TestRestrictedAllDisabled(t *testing.T) {
	t.Parallel()
	s := start(t)
	one, two := s.LocationIDs[0], s.LocationIDs[1]
	r, both := s.with(s.RestrictedAPIKey), s.keyAt(one, two)
	program := s.ProgramIDs["standard"]
	card := s.issue(program, nil)
	prize := s.get("/programs/" + program + "/prizes").ids()[0]
	s.post("/locations/"+one+"/disable", nil).want(200)
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
		t.Run(c.method+" "+strings.SplitAfter(c.path, "_")[0], func(t *testing.T) { r.on(t).call(c.method, c.path, nil).refused(c.want) })
	}
	// One of two is enough, and a key of no restriction has no such rule.
	both.get("/cards/" + card).want(200).shows(fields{"locations": []fields{{"id": two, "name": "Stazione"}}})
	s.post("/locations/"+two+"/disable", nil).want(200)
	both.get("/cards").want(402, "location_disabled")
	s.get("/cards/" + card).want(200).shows(fields{"locations": []fields{}, "all_locations": true})
	// The key itself brings its location back, on the next request.
	r.post("/locations/"+one+"/enable", nil).want(200)
	r.get("/cards/" + card).want(200)
	both.get("/cards").want(200)
}
