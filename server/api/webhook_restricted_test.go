package api_test

import (
	"slices"
	"testing"

	"punchcard/server/servertest"
)

// hookScope is what a webhook of some locations gets, and whether a key that is
// restricted to the first location may have such a webhook.
type hookScope struct {
	ids  []string
	wide bool // with shop-wide events
	own  bool
}

// hookScopes returns scopes without shop-wide events.
func hookScopes(s *servertest.Server) map[string]hookScope {
	return map[string]hookScope{"none": {ids: []string{}}, "own": {ids: s.LocationIDs[:1], own: true}, "other": {ids: s.LocationIDs[1:2]}, "both": {ids: s.LocationIDs[:2]}}
}

// TestRestrictedWebhookCreation checks that a restricted key must name locations,
// all of them its own.
func TestRestrictedWebhookCreation(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.With(s.RestrictedAPIKey)
	all := "/programs/" + s.ProgramIDs["standard"] + "/webhooks"
	for name, scope := range hookScopes(s) {
		t.Run(name, func(t *testing.T) {
			s, r := s.On(t), r.On(t)
			before := s.Value("SELECT count(*) FROM webhooks")
			answer := r.Post(all, servertest.Merge(leastHook, fields{"location_ids": scope.ids}))
			if scope.own {
				answer.Want(201).Shows(fields{"location_ids": scope.ids, "include_shop_wide_events": false})
				return
			}
			answer.Want(403, "unauthorized")
			if after := s.Value("SELECT count(*) FROM webhooks"); after != before {
				t.Errorf("%s webhooks, were %s", after, before)
			}
		})
	}
	r.Post(all, leastHook).Want(403, "unauthorized")
	r.Post(all, servertest.Merge(leastHook, fields{"location_ids": nil})).Want(403, "unauthorized")
	for value, status := range map[any]int{true: 403, false: 201, nil: 201} {
		r.Post(all, servertest.Merge(leastHook, fields{"location_ids": s.LocationIDs[:1], "include_shop_wide_events": value})).Want(status)
	}
	r.Post(all, servertest.Merge(leastHook, fields{"location_ids": []string{s.LocationIDs[0], "x"}})).Invalid("location_ids.1 invalid_value")
	r.Post("/programs/none/webhooks", leastHook).Want(404, "not_found")
	// Of several locations any part will do.
	both := newKeyAt(s, s.LocationIDs...)
	for name, scope := range hookScopes(s) {
		answer := both.Post(all, servertest.Merge(leastHook, fields{"location_ids": scope.ids}))
		if name == "none" {
			answer.Want(403, "unauthorized")
		} else {
			answer.Want(201)
		}
	}
}

// TestRestrictedWebhookAccess combines every operation with the locations of the
// webhook.
func TestRestrictedWebhookAccess(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.With(s.RestrictedAPIKey)
	program := s.ProgramIDs["standard"]
	scopes := hookScopes(s)
	scopes["own, shop-wide"] = hookScope{ids: s.LocationIDs[:1], wide: true}
	for name, scope := range scopes {
		t.Run(name, func(t *testing.T) {
			s, r := s.On(t), r.On(t)
			path, made := newWebhook(s, program, fields{"location_ids": scope.ids, "include_shop_wide_events": scope.wide})
			ping := s.Post(path+"/test", nil).Want(202).Str("id")
			failDelivery(s, ping)
			listed := slices.Contains(r.Get("/programs/"+program+"/webhooks").Want(200).IDs(), made.Str("id"))
			if listed != scope.own {
				t.Errorf("listed: %v", listed)
			}
			was, audits := s.Get(path), countAudits(s)
			for _, c := range []struct {
				op   func() *servertest.Reply
				want int
			}{
				{func() *servertest.Reply { return r.Get(path) }, 200},
				{func() *servertest.Reply { return r.Get(path + "/deliveries") }, 200},
				{func() *servertest.Reply { return r.Patch(path, nil) }, 200},
				{func() *servertest.Reply { return r.Patch(path, fields{"description": "x"}) }, 200},
				{func() *servertest.Reply { return r.Patch(path, fields{"rotate_secret": true}) }, 200},
				{func() *servertest.Reply { return r.Patch(path, fields{"location_ids": s.LocationIDs[:1]}) }, 200},
				{func() *servertest.Reply { return r.Patch(path, fields{"include_shop_wide_events": false}) }, 200},
				{func() *servertest.Reply { return r.Post(path+"/test", nil) }, 202},
				{func() *servertest.Reply { return r.Post(path+"/deliveries/"+ping+"/redeliver", nil) }, 202},
				{func() *servertest.Reply { return r.Call("DELETE", path, nil) }, 204},
			} {
				if scope.own {
					c.op().Want(c.want)
				} else {
					c.op().Want(404, "not_found")
				}
			}
			if scope.own {
				s.Get(path).Want(404)
			} else if now := s.Get(path).Want(200); string(now.Body) != string(was.Body) || countAudits(s) != audits {
				t.Errorf("changed to %s", now.Body)
			}
		})
	}
}

// TestRestrictedWebhookChange checks that a restricted key cannot move a webhook
// beyond its locations, and does not see one that others moved there.
func TestRestrictedWebhookChange(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.With(s.RestrictedAPIKey)
	path, made := newWebhook(r, s.ProgramIDs["standard"], fields{"location_ids": s.LocationIDs[:1]})
	was := s.Get(path)
	for name, scope := range hookScopes(s) {
		if !scope.own {
			r.Patch(path, fields{"location_ids": scope.ids, "description": name}).Want(403, "unauthorized")
		}
	}
	r.Patch(path, fields{"location_ids": nil}).Want(403, "unauthorized")
	r.Patch(path, fields{"include_shop_wide_events": true}).Want(403, "unauthorized")
	r.Patch(path, fields{"include_shop_wide_events": true, "location_ids": s.LocationIDs[:1], "rotate_secret": true}).Want(403, "unauthorized")
	r.Patch(path, fields{"location_ids": []string{"x"}}).Invalid("location_ids.0 invalid_value")
	if now := s.Get(path); string(now.Body) != string(was.Body) {
		t.Errorf("changed to %s", now.Body)
	}
	r.Patch(path, fields{"location_ids": s.LocationIDs[:1], "active": false}).Want(200).Shows(fields{"active": false})
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
	r.Get(path).Want(200).Shows(fields{"id": made.Str("id")})
}
