package api_test

import (
	"slices"
	"testing"
)

// hookScopes are location_ids of a webhook, and whether a key restricted to
// the first location may have such a one.
func hookScopes(s *server) map[string]struct {
	ids []string
	own bool
} {
	type scope = struct {
		ids []string
		own bool
	}
	return map[string]scope{"none": {[]string{}, false}, "own": {s.LocationIDs[:1], true}, "other": {s.LocationIDs[1:2], false}, "both": {s.LocationIDs[:2], false}}
}

// TestRestrictedWebhookCreation: only for locations that are all its own.
func TestRestrictedWebhookCreation(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.with(s.RestrictedAPIKey)
	all := "/programs/" + s.ProgramIDs["standard"] + "/webhooks"
	for name, scope := range hookScopes(s) {
		t.Run(name, func(t *testing.T) {
			s, r := s.on(t), r.on(t)
			before := s.value("SELECT count(*) FROM webhooks")
			answer := r.post(all, plus(leastHook, fields{"location_ids": scope.ids}))
			if scope.own {
				answer.want(201).shows(fields{"location_ids": scope.ids})
				return
			}
			answer.want(403, "unauthorized")
			if after := s.value("SELECT count(*) FROM webhooks"); after != before {
				t.Errorf("%s webhooks, were %s", after, before)
			}
		})
	}
	r.post(all, leastHook).want(403, "unauthorized")
	r.post(all, plus(leastHook, fields{"location_ids": nil})).want(403, "unauthorized")
	r.post(all, plus(leastHook, fields{"location_ids": []string{s.LocationIDs[0], "x"}})).invalid("location_ids.1 invalid_value")
	r.post("/programs/none/webhooks", leastHook).want(404, "not_found")
	// Of several locations any part will do.
	both := s.keyAt(s.LocationIDs...)
	for name, scope := range hookScopes(s) {
		answer := both.post(all, plus(leastHook, fields{"location_ids": scope.ids}))
		if name == "none" {
			answer.want(403, "unauthorized")
		} else {
			answer.want(201)
		}
	}
}

// TestRestrictedWebhookAccess: every operation × what the webhook listens to.
func TestRestrictedWebhookAccess(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.with(s.RestrictedAPIKey)
	program := s.ProgramIDs["standard"]
	for name, scope := range hookScopes(s) {
		t.Run(name, func(t *testing.T) {
			s, r := s.on(t), r.on(t)
			path, made := s.newHook(program, fields{"location_ids": scope.ids})
			ping := s.post(path+"/test", nil).want(202).str("id")
			s.fail(ping)
			listed := slices.Contains(r.get("/programs/"+program+"/webhooks").want(200).ids(), made.str("id"))
			if listed != scope.own {
				t.Errorf("listed: %v", listed)
			}
			was, audits := s.get(path), s.audits()
			for _, c := range []struct {
				op   func() *reply
				want int
			}{
				{func() *reply { return r.get(path) }, 200},
				{func() *reply { return r.get(path + "/deliveries") }, 200},
				{func() *reply { return r.patch(path, nil) }, 200},
				{func() *reply { return r.patch(path, fields{"description": "x"}) }, 200},
				{func() *reply { return r.patch(path, fields{"rotate_secret": true}) }, 200},
				{func() *reply { return r.patch(path, fields{"location_ids": s.LocationIDs[:1]}) }, 200},
				{func() *reply { return r.post(path+"/test", nil) }, 202},
				{func() *reply { return r.post(path+"/deliveries/"+ping+"/redeliver", nil) }, 202},
				{func() *reply { return r.call("DELETE", path, nil) }, 204},
			} {
				if scope.own {
					c.op().want(c.want)
				} else {
					c.op().want(404, "not_found")
				}
			}
			if scope.own {
				s.get(path).want(404)
			} else if now := s.get(path).want(200); string(now.body) != string(was.body) || s.audits() != audits {
				t.Errorf("changed to %s", now.body)
			}
		})
	}
}

// TestRestrictedWebhookChange: a change must not reach beyond the key's
// locations, and who else does it takes the webhook out of its sight.
func TestRestrictedWebhookChange(t *testing.T) {
	t.Parallel()
	s := start(t)
	r := s.with(s.RestrictedAPIKey)
	path, made := r.newHook(s.ProgramIDs["standard"], fields{"location_ids": s.LocationIDs[:1]})
	was := s.get(path)
	for name, scope := range hookScopes(s) {
		if !scope.own {
			r.patch(path, fields{"location_ids": scope.ids, "description": name}).want(403, "unauthorized")
		}
	}
	r.patch(path, fields{"location_ids": nil}).want(403, "unauthorized")
	r.patch(path, fields{"location_ids": []string{"x"}}).invalid("location_ids.0 invalid_value")
	if now := s.get(path); string(now.body) != string(was.body) {
		t.Errorf("changed to %s", now.body)
	}
	r.patch(path, fields{"location_ids": s.LocationIDs[:1], "active": false}).want(200).shows(fields{"active": false})
	for _, ids := range [][]string{s.LocationIDs, {}, s.LocationIDs[1:]} {
		s.patch(path, fields{"location_ids": ids}).want(200)
		r.get(path).want(404, "not_found")
		if listed := r.get("/programs/" + s.ProgramIDs["standard"] + "/webhooks").ids(); len(listed) != 0 {
			t.Errorf("%v: listed %q", ids, listed)
		}
	}
	s.patch(path, fields{"location_ids": s.LocationIDs[:1]}).want(200)
	r.get(path).want(200).shows(fields{"id": made.str("id")})
}
