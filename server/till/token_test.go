package till_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"punchcard/store"
)

// TestToken: without a valid device token there is no till, and no trace.
func TestToken(t *testing.T) {
	s := start(t)
	revoked := s.device(s.LocationIDs[0])
	id := revoked.get("/me").want(200).str("device.id")
	s.beside2(t, func(tx *store.Tx) error { _, err := tx.RevokeDevice(s.Shop(), id); return err })
	for name, c := range map[string]struct {
		h       http.Header
		message string
	}{
		"none":          {http.Header{}, "tdk_"},
		"two":           {http.Header{"Authorization": {"Bearer " + s.TillToken, "Bearer " + s.TillToken}}, "one Authorization header"},
		"a key":         {http.Header{"Authorization": {"Bearer " + s.APIKey}}, "tdk_"},
		"an MCP key":    {http.Header{"Authorization": {"Bearer " + s.MCPKey}}, "tdk_"},
		"basic":         {http.Header{"Authorization": {"Basic " + s.TillToken}}, "Bearer"},
		"unknown":       {http.Header{"Authorization": {"Bearer tdk_test_" + strings.Repeat("A", 43)}}, "No such device"},
		"other mode":    {http.Header{"Authorization": {"Bearer tdk_live_" + s.TillToken[9:]}}, "No such device"},
		"no such mode":  {http.Header{"Authorization": {"Bearer tdk_demo_" + s.TillToken[9:]}}, "tdk_"},
		"too short":     {http.Header{"Authorization": {"Bearer " + s.TillToken[:51]}}, "tdk_"},
		"too long":      {http.Header{"Authorization": {"Bearer " + s.TillToken + "0"}}, "tdk_"},
		"a line behind": {http.Header{"Authorization": {"Bearer " + s.TillToken[:51] + "\t"}}, "tdk_"},
		"revoked":       {http.Header{"Authorization": {"Bearer " + revoked.key}}, "revoked"},
	} {
		s.untouched(func() {
			for _, rt := range [][2]string{{"GET", "/me"}, {"GET", "/cards/x"}, {"POST", "/cards/x/stamps"}} {
				r := s.fetch(rt[0], s.base+rt[1], []byte("{"), c.h.Clone())
				s.conforms(rt[0], s.base+rt[1], r)
				if r.status != 401 || r.str("error.code") != "unauthenticated" || r.header.Get("Www-Authenticate") != "Bearer" || !strings.Contains(r.str("error.message"), c.message) {
					t.Errorf("%s: %s: %d %s", name, rt[1], r.status, r.body)
				}
			}
		})
	}
	// A device's token is no key of the REST API.
	s.rest().with(s.TillToken).get("/me").want(401, "unauthenticated")
	s.with("").get("/nope").want(404, "not_found")
	if r := s.call("DELETE", "/me", nil).want(405, "bad_request"); r.header.Get("Allow") != "GET" {
		t.Error(r.header)
	}
	// The scheme is named without regard to case.
	s.fetch("GET", s.base+"/me", nil, http.Header{"Authorization": {"bearer " + s.TillToken}}).want(200)
}

// beside2 makes a write through another store on the same file, as the
// command line does while the server runs.
func (s *server) beside2(t *testing.T, do func(*store.Tx) error) {
	t.Helper()
	st, err := store.Open(s.app.Store.Path(), store.Options{Limits: store.DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Write(context.Background(), store.Write{Actor: store.Actor{Type: "user", Name: "cli"}, Do: do}); err != nil {
		t.Fatal(err)
	}
}

// TestRevoked: what another process changes holds from the very next request.
func TestRevoked(t *testing.T) {
	s := start(t)
	card := s.issue(s.ProgramIDs["standard"], nil)
	for _, ask := range []func(*server) *reply{
		func(d *server) *reply { return d.get("/me") },
		func(d *server) *reply { return d.get("/cards/" + card) },
		func(d *server) *reply { return d.post("/cards/"+card+"/stamps", nil) },
		func(d *server) *reply { return d.post("/cards/"+card+"/stamps", "[") },
		func(d *server) *reply { return d.get("/cards/nope") },
		func(d *server) *reply { return d.post("/cards/"+card+"/stamps", nil, "Idempotency-Key", "k") },
	} {
		d := s.device(s.LocationIDs[0])
		id := d.get("/me").want(200).str("device.id")
		ask(d)
		s.beside2(t, func(tx *store.Tx) error { _, err := tx.RevokeDevice(s.Shop(), id); return err })
		s.untouched(func() { ask(d).want(401, "unauthenticated") })
	}
	// So does a location's state, and the shop's.
	s.stamp(card, 1)
	off := func(active bool) {
		s.beside2(t, func(tx *store.Tx) error {
			_, err := tx.SetLocationActive(store.Access{Shop: s.Shop()}, s.LocationIDs[0], active)
			return err
		})
	}
	off(false)
	s.post("/cards/"+card+"/stamps", nil).want(422, "location_disabled")
	s.get("/cards/" + card).want(200)
	off(true)
	s.stamp(card, 1)
	s.control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": "past_due"})
	s.stamp(card, 1)
	s.control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": "cancelled"})
	s.post("/cards/"+card+"/stamps", nil).want(422, "subscription_suspended")
	s.get("/me").want(200)
	// The add-on is of the REST API alone.
	s.control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": "active", "api_addon": false})
	s.stamp(card, 1)
}
