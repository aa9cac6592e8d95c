package api_test

import (
	"slices"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestRestrictedLocations calls the operations on locations with a restricted key: on its own location,
// on another of the shop, on another shop's, and on unknown ones. For a key whose own
// location is disabled see TestAllLocationsDisabled, for pages of several
// TestProgramAndLocationFiltersVisitBoundedRows in the store.
func TestRestrictedLocations(t *testing.T) {
	s := start(t)
	inside, outside := s.LocationIDs[0], s.LocationIDs[1]
	_, foreign := newOtherShop(s)
	r := s.With(s.RestrictedAPIKey)
	if ids := r.Get("/locations").Want(200).IDs(); !slices.Equal(ids, []string{inside}) {
		t.Errorf("listed %q", ids)
	}
	for _, c := range []struct{ id, want string }{
		{inside, "200"}, {outside, "403 unauthorized"}, {foreign, missing}, {"x", missing},
		{s.App.Store.ID(store.KindLocation, 999), missing},
	} {
		r.Patch("/locations/"+c.id, fields{"name": "N"}).WantOutcome(c.want)
		r.Patch("/locations/"+c.id, fields{}).WantOutcome(c.want)
		r.Post("/locations/"+c.id+"/enable", nil).WantOutcome(c.want)
	}
	r.Post("/locations/"+outside+"/disable", nil).WantOutcome("403 unauthorized")
	r.Post("/locations/"+foreign+"/disable", nil).WantOutcome(missing)
	s.Get("/locations").WantOK(fields{"data.0.name": "Stazione", "data.0.active": true, "data.1.name": "N"})
}

// TestRestrictedPrograms checks that a restricted key reads and changes all programs and prizes,
// whatever the program's scope, but does not change the scope.
func TestRestrictedPrograms(t *testing.T) {
	s := start(t)
	r := s.With(s.RestrictedAPIKey)
	for _, scope := range scopes(s) {
		t.Run(scope.name, func(t *testing.T) {
			s, r := s.On(t), r.On(t)
			path := "/programs/" + s.NewProgram("standard", false, scope.body)
			prize := path + "/prizes/" + r.Post(path+"/prizes", fields{"threshold": 5, "name": "Z"}).NewID()
			r.Patch(prize, fields{"name": "Y"}).Want(200)
			r.Get(path + "/prizes").WantOK(fields{"data.0.name": "Y"})
			for _, a := range []string{"publish", "suspend", "unsuspend", "unpublish"} {
				r.Post(path+"/"+a, nil).Want(200)
			}
			r.Patch(path, fields{"name": "N"}).WantOK(fields{
				"name":                "N",
				"scoped_location_ids": scope.body["scoped_location_ids"],
			})
			was := s.Get(path)
			for _, more := range []fields{
				scope.body, {"location_scope": "all_locations"}, {"scoped_location_ids": s.LocationIDs[:1]},
				{"scoped_location_ids": []string{}, "name": "M"},
			} {
				r.Patch(path, more).Want(403, "unauthorized")
			}
			s.Get(path).Same(was)
			r.Get(path).Same(was)
			r.Call("DELETE", prize, nil).Want(204)
		})
	}
	r.Get("/programs").Want(200).Same(s.Get("/programs"))
	r.Patch("/programs/none", fields{"location_scope": "all_locations"}).Want(404, "not_found")
	r.Post("/programs", servertest.Merge(servertest.Programs["access"], fields{
		"location_scope":      "selected_locations",
		"scoped_location_ids": s.LocationIDs,
	})).Want(201)
}

// scope is a case of a program's scope.
type scope struct {
	name string
	body fields
	own  bool // whether it includes the key's location, the first
}

// scopes returns a scope of each kind, seen from the key that is restricted to the first location.
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

// TestRestrictedCards checks which cards a restricted key reaches and lists, for each kind of scope. For
// the refusals of every operation see TestEveryOperationRefuses.
func TestRestrictedCards(t *testing.T) {
	s := start(t)
	r := s.With(s.RestrictedAPIKey)
	var seen []string
	for _, scope := range scopes(s) {
		t.Run(scope.name, func(t *testing.T) {
			s, r := s.On(t), r.On(t)
			program := s.NewProgram("access", true, scope.body)
			card := s.Issue(program, fields{"external_ref": scope.name, "holder_email": scope.name + "@example.com"})
			path := "/cards/" + card
			lists := map[string]string{
				"":             "",
				"external_ref": scope.name,
				"holder_email": scope.name + "@example.com",
				"program_id":   program,
				"status":       "invited",
			}
			for name, v := range lists {
				ids, _ := r.All("/cards", name, v, "limit", "1")
				if slices.Contains(ids, card) != scope.own {
					t.Errorf("the list by %q has the card: %v", name, !scope.own)
				}
			}
			if !scope.own {
				r.Get(path).Want(404, "not_found")
				r.Post("/programs/"+program+"/cards", nil).Want(403, "unauthorized")
				return
			}
			r.Patch(path, nil).Want(200)
			r.Post(path+"/reissue", nil).Want(200)
			r.Post(path+"/install-link", nil).Want(200)
			seen = append([]string{r.Issue(program, nil), card}, seen...)
			own := []fields{{"id": s.LocationIDs[0], "name": "Centrale"}}
			r.Get(path).Shows(fields{"all_locations": scope.name == "all", "locations": own})
			r.Patch(path, fields{"holder_name": "M"}).Shows(fields{"all_locations": scope.name == "all", "locations": own})
			if n := len(s.Get(path).At("locations").([]any)); scope.name != "inside" && n != 2 {
				t.Errorf("an unrestricted key sees %d locations, want 2", n)
			}
		})
	}
	if ids, _ := r.All("/cards", "limit", "2"); !slices.Equal(ids, seen) {
		t.Errorf("listed %q, want %q", ids, seen)
	}
	// Changing the program's scope hides its cards or shows them.
	program := s.NewProgram("access", true, nil)
	card := "/cards/" + s.Issue(program, nil)
	r.Get(card).Want(200)
	s.Patch("/programs/"+program, fields{"location_scope": "selected_locations", "scoped_location_ids": s.LocationIDs[1:]}).Want(200)
	r.Get(card).Want(404, "not_found")
	newKeyAt(s, s.LocationIDs[1]).Get(card).Want(200)
	newKeyAt(s, s.LocationIDs...).Get(card).WantOK(fields{"locations": []fields{{"id": s.LocationIDs[1], "name": "Stazione"}}})
	// The external_ref of a card that another key issued is taken.
	s.Patch("/programs/"+program, fields{"scoped_location_ids": []string{s.LocationIDs[1], s.LocationIDs[0]}}).Want(200)
	s.Issue(program, fields{"external_ref": "taken"})
	r.Post("/programs/"+program+"/cards", fields{"external_ref": "taken"}).Want(409, "conflict")
}

// hookScopes returns locations of webhooks, of which a key that is restricted to the first location may have "own" alone.
func hookScopes(s *servertest.Server) map[string][]string {
	return map[string][]string{"none": {}, "own": s.LocationIDs[:1], "other": s.LocationIDs[1:2], "both": s.LocationIDs[:2]}
}

// TestRestrictedWebhookCreation checks that a restricted key must name locations,
// all of them its own.
func TestRestrictedWebhookCreation(t *testing.T) {
	s := start(t)
	r := s.With(s.RestrictedAPIKey)
	program := s.ProgramIDs["standard"]
	for name, ids := range hookScopes(s) {
		t.Run(name, func(t *testing.T) {
			s, r := s.On(t), r.On(t)
			before := s.Value("SELECT count(*) FROM webhooks")
			answer := postWebhook(r, program, fields{"location_ids": ids})
			if name == "own" {
				answer.Want(201).Shows(fields{"location_ids": ids, "include_shop_wide_events": false})
				return
			}
			answer.Want(403, "unauthorized")
			if after := s.Value("SELECT count(*) FROM webhooks"); after != before {
				t.Errorf("%s webhooks, were %s", after, before)
			}
		})
	}
	postWebhook(r, program, nil).Want(403, "unauthorized")
	postWebhook(r, program, fields{"location_ids": nil}).Want(403, "unauthorized")
	for value, status := range map[any]int{true: 403, false: 201, nil: 201} {
		postWebhook(r, program, fields{"location_ids": s.LocationIDs[:1], "include_shop_wide_events": value}).Want(status)
	}
	postWebhook(r, program, fields{"location_ids": []string{s.LocationIDs[0], "x"}}).
		Invalid("location_ids.1 invalid_value")
	postWebhook(r, "none", nil).Want(404, "not_found")
	// With several locations any subset is allowed.
	both := newKeyAt(s, s.LocationIDs...)
	for name, ids := range hookScopes(s) {
		answer := postWebhook(both, program, fields{"location_ids": ids})
		if name == "none" {
			answer.Want(403, "unauthorized")
		} else {
			answer.Want(201)
		}
	}
}

// TestRestrictedWebhookChange checks that a restricted key cannot move a webhook
// beyond its locations, does not see one that others moved there, and does everything with its own. For the
// refusals of every operation see TestEveryOperationRefuses.
func TestRestrictedWebhookChange(t *testing.T) {
	s := start(t)
	r := s.With(s.RestrictedAPIKey)
	path, made := newWebhook(r, s.ProgramIDs["standard"], fields{"location_ids": s.LocationIDs[:1]})
	was := s.Get(path)
	for name, ids := range hookScopes(s) {
		if name != "own" {
			r.Patch(path, fields{"location_ids": ids, "description": name}).Want(403, "unauthorized")
		}
	}
	r.Patch(path, fields{"location_ids": nil}).Want(403, "unauthorized")
	r.Patch(path, fields{"include_shop_wide_events": true}).Want(403, "unauthorized")
	r.Patch(path, fields{
		"include_shop_wide_events": true,
		"location_ids":             s.LocationIDs[:1],
		"rotate_secret":            true,
	}).Want(403, "unauthorized")
	r.Patch(path, fields{"location_ids": []string{"x"}}).Invalid("location_ids.0 invalid_value")
	s.Get(path).Same(was)
	r.Patch(path, fields{"location_ids": s.LocationIDs[:1], "active": false}).WantOK(fields{"active": false})
	for _, ids := range [][]string{s.LocationIDs, {}, s.LocationIDs[1:]} {
		s.Patch(path, fields{"location_ids": ids}).Want(200)
		r.Get(path).Want(404, "not_found")
		if listed := r.Get("/programs/" + s.ProgramIDs["standard"] + "/webhooks").IDs(); len(listed) != 0 {
			t.Errorf("%v: listed %q", ids, listed)
		}
	}
	s.Patch(path, fields{"location_ids": s.LocationIDs[:1], "include_shop_wide_events": true}).Want(200)
	r.Get(path).Want(404, "not_found")
	r.Patch(path, fields{"include_shop_wide_events": false}).Want(404, "not_found")
	s.Patch(path, fields{"include_shop_wide_events": false}).Want(200)
	r.Get(path).WantOK(fields{"id": made.Str("id")})
	if listed := r.Get("/programs/" + s.ProgramIDs["standard"] + "/webhooks").IDs(); !slices.Equal(listed, []string{made.Str("id")}) {
		t.Errorf("listed %q", listed)
	}
	r.Patch(path, fields{"rotate_secret": true, "active": true}).Want(200)
	ping := r.Post(path+"/test", nil).Want(202).Str("id")
	r.Get(path + "/deliveries").WantOK(fields{"items.0.id": ping})
	failDelivery(s, ping)
	r.Post(path+"/deliveries/"+ping+"/redeliver", nil).Want(202)
	r.Call("DELETE", path, nil).Want(204)
	s.Get(path).Want(404)
}
