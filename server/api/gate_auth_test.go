package api_test

import (
	"net/http"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// TestUnauthenticated checks that a request is answered 401 unless it has one Authorization header
// with a valid key, and that the answer does not contain the key. The tests of server/kernel have more
// forms of the header.
func TestUnauthenticated(t *testing.T) {
	s := start(t, servertest.Frozen, manyKeys)
	key := s.Key
	body := strings.TrimPrefix(key, "tsk_test_")
	if len(body) != 43 {
		t.Fatalf("the demo key has %d characters after its prefix, want 43", len(body))
	}
	const malformed = "malformed; the REST API expects a key beginning tsk_"
	const unknown = "No such key"
	const mcp = "the REST API expects a key beginning tsk_"
	for bearer, message := range map[string]string{
		body:                                  malformed,
		"tsk_demo_" + body:                    malformed,
		"TSK_TEST_" + body:                    malformed,
		key[:51]:                              malformed,
		key + "0":                             malformed,
		key[:51] + "+":                        malformed,
		key[:50] + "é":                        malformed,
		`"` + key + `"`:                       malformed,
		key + ", Bearer " + key:               malformed,
		strings.Repeat("a", 10000):            malformed,
		s.TillToken:                           malformed,
		"tsk_test_" + strings.Repeat("A", 43): unknown,
		"tsk_live_" + body:                    unknown,
		s.MCPKey:                              mcp,
		"tmk_live_short":                      mcp,
	} {
		checkUnauthenticated(s, "/me", http.Header{"Authorization": {"Bearer " + bearer}}, message, body)
	}
	const missing = "Authorization"
	checkUnauthenticated(s, "/me", http.Header{"Authorization": {"Bearer "}}, missing, body)
	checkUnauthenticated(s, "/me", http.Header{"Authorization": {"Basic x", "Bearer " + key}}, "one Authorization", body)
	checkUnauthenticated(s, "/me", http.Header{"X-Api-Key": {key}, "Proxy-Authorization": {"Bearer " + key}}, missing, body)
	checkUnauthenticated(s, "/me?access_token="+key+"&api_key="+key, http.Header{}, missing, body)
	// The case of the scheme is ignored (RFC 9110), and so is white space around the header's value.
	s.Fetch("GET", s.URL+"/me", nil, http.Header{"Authorization": {"  bEaReR " + key + "  "}}).Want(200)
}

// checkUnauthenticated checks that a request is answered 401 with a message that has a text, and that
// the answer does not have the secret part of a key.
func checkUnauthenticated(s *servertest.Server, path string, h http.Header, text, secret string) {
	s.T.Helper()
	got := s.Fetch("GET", s.URL+path, nil, h)
	got.Check()
	if got.Outcome() != "401 unauthenticated" || !strings.Contains(got.Str("error.message"), text) ||
		strings.Contains(string(got.Body), secret) {
		s.T.Errorf("%.80q: %d %s", h, got.Status, got.Body)
	}
	if got.Header.Get("WWW-Authenticate") != "Bearer" || got.Header["Ratelimit-Limit"] != nil {
		s.T.Errorf("%.80q: headers %v", h, got.Header)
	}
}

func TestKeyExpires(t *testing.T) {
	s := start(t, servertest.Frozen)
	k, id := s.NewKey(fields{"expires_at": "2026-03-01T10:00:00Z"})
	k.Get("/me").Want(200)
	s.Advance("59m59.999s")
	k.Get("/me").Want(200)
	s.Advance("1ms")
	k.Get("/me").Want(401, "unauthenticated")
	s.ControlAPI().Post("/keys/"+id+"/rotate", nil).Want(409, "conflict") // an expired key cannot be rotated
}

func TestRotation(t *testing.T) {
	s := start(t, servertest.Frozen, perMinute(10))
	old, id := s.NewKey(fields{
		"name":         "CRM",
		"scopes":       []string{"cards:read", "locations:read"},
		"location_ids": s.LocationIDs[1:],
		"expires_at":   "2027-01-01T00:00:00Z",
	})
	for range 4 {
		old.Get("/me").Want(200)
	}
	r := s.Control("POST", "/keys/"+id+"/rotate", fields{"grace_hours": 2})
	next := s.With(r.Str("key"))
	if r.Str("id") == id || next.Key == old.Key {
		t.Fatalf("no new key: %s", r.Body)
	}
	if r.Str("expires_at") != "2027-01-01T00:00:00.000Z" || r.Str("name") != "CRM" {
		t.Errorf("the successor has another expiry or name: %s", r.Body)
	}

	// Both keys work, with the same rights and separate rate limits.
	before, after := old.Get("/me").Want(200), next.Get("/me").Want(200)
	for _, field := range []string{"api_key.scopes", "api_key.location_ids", "shop", "entitlements"} {
		if a, b := jsonText(t, before.At(field)), jsonText(t, after.At(field)); a != b {
			t.Errorf("%s: %s, the successor's is %s", field, a, b)
		}
	}
	if got := jsonText(t, after.At("api_key.location_ids")); got != jsonText(t, s.LocationIDs[1:]) {
		t.Errorf("location_ids %s", got)
	}
	if after.Str("api_key.id") != r.Str("id") {
		t.Errorf("api_key.id %q", after.Str("api_key.id"))
	}
	if a, b := before.Header.Get("RateLimit-Remaining"), after.Header.Get("RateLimit-Remaining"); a != "5" || b != "9" {
		t.Errorf("remaining: old %s, new %s", a, b)
	}
	next.Get("/cards").Want(200)
	next.Get("/programs").Want(403, "unauthorized")

	// A rotated key cannot be rotated again.
	s.ControlAPI().Post("/keys/"+id+"/rotate", nil).Want(409, "conflict")

	// The old key ends with the overlap, and still cannot be rotated.
	s.Advance("1h59m59.999s")
	old.Get("/me").Want(200)
	s.Advance("1ms")
	old.Get("/me").Want(401, "unauthenticated")
	next.Get("/me").Want(200)
	s.ControlAPI().Post("/keys/"+id+"/rotate", nil).Want(409, "conflict")

	// The successor can be rotated. By default the overlap lasts a day; with 0 the old key ends at once.
	third := s.Control("POST", "/keys/"+r.Str("id")+"/rotate", nil)
	s.Advance("23h59m")
	next.Get("/me").Want(200)
	s.Advance("1m")
	next.Get("/me").Want(401, "unauthenticated")
	fourth := s.Control("POST", "/keys/"+third.Str("id")+"/rotate", fields{"grace_hours": 0})
	s.With(third.Str("key")).Get("/me").Want(401, "unauthenticated")
	s.With(fourth.Str("key")).Get("/me").Want(200)
}

func TestRevokingOneOfTwoLeavesTheOther(t *testing.T) {
	s := start(t)
	for _, first := range []bool{true, false} {
		old, id := s.NewKey(fields{})
		r := s.Control("POST", "/keys/"+id+"/rotate", nil)
		next := s.With(r.Str("key"))
		end, stay, ended := next, old, r.Str("id")
		if first {
			end, stay, ended = old, next, id
		}
		s.Control("POST", "/keys/"+ended+"/revoke", nil)
		end.Get("/me").Want(401, "unauthenticated")
		stay.Get("/me").Want(200)
		s.Control("POST", "/keys/"+ended+"/revoke", nil) // a repetition is not an error
		s.ControlAPI().Post("/keys/"+ended+"/rotate", nil).Want(409, "conflict")
	}
}

// TestKeysInOverlapDoNotCount checks that keys in the overlap of a rotation do
// not count towards the ten usable keys of a shop.
func TestKeysInOverlapDoNotCount(t *testing.T) {
	s := start(t)
	o := s.NewShop(nil) // has one key
	body := fields{"shop_id": o.ShopID}
	var ids []string
	for range 9 {
		_, id := o.NewKey(body)
		ids = append(ids, id)
	}
	s.ControlAPI().Post("/keys", body).Want(422, "unprocessable_entity")
	s.Control("POST", "/keys/"+ids[0]+"/rotate", nil) // allowed, though the shop has the maximum of keys
	s.ControlAPI().Post("/keys", body).Want(422, "unprocessable_entity")
	s.Control("POST", "/keys/"+ids[1]+"/revoke", nil)
	s.ControlAPI().Post("/keys", body).Want(201)
}
