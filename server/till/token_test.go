package till_test

import (
	"net/http"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestToken checks that nothing is served or written without a valid device token.
func TestToken(t *testing.T) {
	s := start(t)
	revoked := s.NewDevice(s.LocationIDs[0])
	id := revoked.Get("/me").Want(200).Str("device.id")
	servertest.Write(t, s.Beside(), func(tx *store.Tx) error { _, err := tx.RevokeDevice(s.Shop(), id); return err })
	for name, c := range map[string]struct {
		h       http.Header
		message string
	}{
		"none":         {http.Header{}, "tdk_"},
		"two":          {http.Header{"Authorization": {"Bearer " + s.TillToken, "Bearer " + s.TillToken}}, "one Authorization header"},
		"a key":        {http.Header{"Authorization": {"Bearer " + s.APIKey}}, "tdk_"},
		"an MCP key":   {http.Header{"Authorization": {"Bearer " + s.MCPKey}}, "tdk_"},
		"basic":        {http.Header{"Authorization": {"Basic " + s.TillToken}}, "Bearer"},
		"unknown":      {http.Header{"Authorization": {"Bearer tdk_test_" + strings.Repeat("A", 43)}}, "No such device"},
		"other mode":   {http.Header{"Authorization": {"Bearer tdk_live_" + s.TillToken[9:]}}, "No such device"},
		"no such mode": {http.Header{"Authorization": {"Bearer tdk_demo_" + s.TillToken[9:]}}, "tdk_"},
		"too short":    {http.Header{"Authorization": {"Bearer " + s.TillToken[:51]}}, "tdk_"},
		"too long":     {http.Header{"Authorization": {"Bearer " + s.TillToken + "0"}}, "tdk_"},
		"a tab behind": {http.Header{"Authorization": {"Bearer " + s.TillToken[:51] + "\t"}}, "tdk_"},
		"revoked":      {http.Header{"Authorization": {"Bearer " + revoked.Key}}, "revoked"},
	} {
		s.Unchanged(func() {
			for _, rt := range [][2]string{{"GET", "/me"}, {"GET", "/cards/x"}, {"POST", "/cards/x/stamps"}} {
				r := s.Fetch(rt[0], s.URL+rt[1], []byte("{"), c.h.Clone())
				r.Check()
				if r.Status != 401 || r.Str("error.code") != "unauthenticated" || r.Header.Get("Www-Authenticate") != "Bearer" ||
					!strings.Contains(r.Str("error.message"), c.message) {
					t.Errorf("%s: %s: %d %s", name, rt[1], r.Status, r.Body)
				}
			}
		})
	}
	// A device's token is not a key of the REST API.
	s.REST().With(s.TillToken).Get("/me").Want(401, "unauthenticated")
	s.With("").Get("/nope").Want(404, "not_found")
	if r := s.Call("DELETE", "/me", nil).Want(405, "bad_request"); r.Header.Get("Allow") != "GET, HEAD" {
		t.Error(r.Header)
	}
	// The case of the scheme is ignored.
	s.Fetch("GET", s.URL+"/me", nil, http.Header{"Authorization": {"bearer " + s.TillToken}}).Want(200)
}

// TestRevoked checks that changes of a device, its location and its shop by another process
// take effect with the next request.
func TestRevoked(t *testing.T) {
	s := start(t)
	card := s.Issue(s.ProgramIDs["standard"], nil)
	for _, ask := range []func(*servertest.Server) *servertest.Reply{
		func(d *servertest.Server) *servertest.Reply { return d.Get("/me") },
		func(d *servertest.Server) *servertest.Reply { return d.Get("/cards/" + card) },
		func(d *servertest.Server) *servertest.Reply { return stamp(d, card, nil) },
		func(d *servertest.Server) *servertest.Reply { return stamp(d, card, "[") },
		func(d *servertest.Server) *servertest.Reply { return d.Get("/cards/nope") },
		func(d *servertest.Server) *servertest.Reply {
			return stamp(d, card, nil, "Idempotency-Key", "k")
		},
	} {
		d := s.NewDevice(s.LocationIDs[0])
		id := d.Get("/me").Want(200).Str("device.id")
		ask(d)
		servertest.Write(t, s.Beside(), func(tx *store.Tx) error { _, err := tx.RevokeDevice(s.Shop(), id); return err })
		s.Unchanged(func() { ask(d).Want(401, "unauthenticated") })
	}
	// The same holds for the state of the location and the shop.
	giveStamps(s, card, 1)
	off := func(active bool) {
		servertest.Write(t, s.Beside(), func(tx *store.Tx) error {
			_, err := tx.SetLocationActive(store.Access{Shop: s.Shop()}, s.LocationIDs[0], active)
			return err
		})
	}
	off(false)
	stamp(s, card, nil).Want(422, "location_disabled")
	s.Get("/cards/" + card).Want(200)
	off(true)
	giveStamps(s, card, 1)
	s.Control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": "past_due"})
	giveStamps(s, card, 1)
	s.Control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": "cancelled"})
	stamp(s, card, nil).Want(422, "subscription_suspended")
	s.Get("/me").Want(200)
	// The add-on is for the REST API only.
	s.Control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": "active", "api_addon": false})
	giveStamps(s, card, 1)
}
