package till_test

import (
	"net/http"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestToken checks what is said without a valid device token. For each operation see TestEveryOperationRefuses.
func TestToken(t *testing.T) {
	s := start(t)
	revoked := s.NewDevice(s.LocationIDs[0])
	id := revoked.Get("/me").Want(200).Str("device.id")
	servertest.Write(t, s.Beside(), func(tx *store.Tx) error { _, err := tx.RevokeDevice(s.Shop(), id); return err })
	for message, h := range map[string]http.Header{
		"tdk_":                     {"Authorization": {"Bearer tdk_demo_" + s.TillToken[9:]}},
		"one Authorization header": {"Authorization": {"Bearer " + s.TillToken, "Bearer " + s.TillToken}},
		"Bearer":                   {"Authorization": {"Basic " + s.TillToken}},
		"No such device":           {"Authorization": {"Bearer tdk_live_" + s.TillToken[9:]}},
		"revoked":                  {"Authorization": {"Bearer " + revoked.Key}},
	} {
		r := s.Fetch("POST", s.URL+"/cards/x/stamps", []byte("{"), h)
		r.Check()
		says(r.Want(401, "unauthenticated"), message)
		if r.Header.Get("Www-Authenticate") != "Bearer" {
			t.Errorf("%s: %s", message, r.Header)
		}
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
		func(d *servertest.Server) *servertest.Reply { return d.Get("/cards/" + card) },
		func(d *servertest.Server) *servertest.Reply { return stamp(d, card, nil) },
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
	// The add-on is for the REST API only, and a shop that is past due still works.
	s.Control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": "past_due", "api_addon": false})
	giveStamps(s, card, 1)
}
