package api_test

import (
	"net/http"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// TestUnauthenticated checks that a request is answered 401 unless it has one Authorization header
// with a valid key, and that the answer does not contain the key.
func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen, manyKeys)
	key := s.Key
	body := strings.TrimPrefix(key, "tsk_test_")
	if len(body) != 43 {
		t.Fatalf("the demo key has %d characters after its prefix, want 43", len(body))
	}
	bearer := func(values ...string) http.Header { return http.Header{"Authorization": values} }
	for name, c := range map[string]struct {
		h       http.Header
		message string // part of it
	}{
		"no header":                {http.Header{}, "Authorization"},
		"two headers":              {bearer("Bearer "+key, "Bearer "+key), "one Authorization"},
		"two headers, second good": {bearer("Basic x", "Bearer "+key), "one Authorization"},
		"Basic":                    {bearer("Basic " + key), "Bearer"},
		"Basic in form":            {bearer("Basic dXNlcjpwYXNz"), "Bearer"},
		"empty":                    {bearer(""), "Bearer"},
		"only Bearer":              {bearer("Bearer"), "Bearer"},
		"only Bearer and a space":  {bearer("Bearer "), ""},
		"only the key":             {bearer(key), "Bearer"},
		"no space":                 {bearer("Bearer" + key), "Bearer"},
		"colon":                    {bearer("Bearer: " + key), "Bearer"},
		"key in quotes":            {bearer(`Bearer "` + key + `"`), "tsk_"},
		"a comma and more":         {bearer("Bearer " + key + ", Bearer " + key), "tsk_"},
		"key twice":                {bearer("Bearer " + key + " " + key), "tsk_"},
		"space inside":             {bearer("Bearer " + key[:20] + " " + key[20:]), "tsk_"},
		"unknown":                  {bearer("Bearer tsk_test_" + strings.Repeat("A", 43)), "No such key"},
		"unknown live":             {bearer("Bearer tsk_live_" + strings.Repeat("A", 43)), "No such key"},
		"other mode":               {bearer("Bearer tsk_live_" + body), "No such key"},
		"no such mode":             {bearer("Bearer tsk_demo_" + body), "tsk_"},
		"upper-case prefix":        {bearer("Bearer TSK_TEST_" + body), "tsk_"},
		"42 characters":            {bearer("Bearer tsk_test_" + body[:42]), "tsk_"},
		"44 characters":            {bearer("Bearer tsk_test_" + body + "0"), "tsk_"},
		"a character of base64":    {bearer("Bearer tsk_test_" + body[:42] + "+"), "tsk_"},
		"not ASCII":                {bearer("Bearer tsk_test_" + body[:41] + "é"), "tsk_"},
		"ten thousand characters":  {bearer("Bearer tsk_test_" + strings.Repeat("a", 10000)), "tsk_"},
		"SQL":                      {bearer("Bearer ' OR 1=1 --"), "tsk_"},
		"no prefix":                {bearer("Bearer " + body), "tsk_"},
		"MCP key":                  {bearer("Bearer " + s.MCPKey), "the REST API expects a key beginning tsk_"},
		"malformed MCP key":        {bearer("Bearer tmk_live_short"), "the REST API expects a key beginning tsk_"},
		"till token":               {bearer("Bearer " + s.TillToken), "tsk_"},
		"in the query":             {http.Header{}, "Authorization"},
		"in another header":        {http.Header{"X-Api-Key": {key}, "Proxy-Authorization": {"Bearer " + key}}, "Authorization"},
	} {
		url := s.URL + "/me"
		if name == "in the query" {
			url += "?access_token=" + key + "&api_key=" + key
		}
		got := s.Fetch("GET", url, nil, c.h)
		got.Check()
		if got.Status != 401 || got.Str("error.code") != "unauthenticated" || !strings.Contains(got.Str("error.message"), c.message) {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
		if got.Header.Get("WWW-Authenticate") != "Bearer" || got.Header["Ratelimit-Limit"] != nil || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", name, got.Header)
		}
		if strings.Contains(string(got.Body), body) {
			t.Errorf("%s: the key is in the answer: %s", name, got.Body)
		}
	}
	// The case of the scheme is ignored (RFC 9110), and so is white space around the header's
	// value.
	for _, v := range []string{"Bearer " + key, "bearer " + key, "BEARER " + key, "bEaReR " + key, "Bearer " + key + "  ", "  Bearer " + key} {
		if got := s.Fetch("GET", s.URL+"/me", nil, bearer(v)); got.Status != 200 {
			t.Errorf("%.10q…: %d %s", v, got.Status, got.Body)
		}
	}
}

func TestKeyExpires(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	k, id := s.NewKey(map[string]any{"expires_at": "2026-03-01T10:00:00Z"})
	k.Get("/me").Want(200)
	s.Control("POST", "/clock", map[string]any{"advance": "59m59.999s"})
	k.Get("/me").Want(200)
	s.Control("POST", "/clock", map[string]any{"advance": "1ms"})
	k.Get("/me").Want(401, "unauthenticated")
	got := s.Fetch("POST", s.Origin+"/dev/keys/"+id+"/rotate", nil, nil)
	got.Want(409, "conflict") // an expired key cannot be rotated
}

func TestRotation(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen, perMinute(10))
	old, id := s.NewKey(map[string]any{"name": "CRM", "scopes": []string{"cards:read", "locations:read"}, "location_ids": s.LocationIDs[1:], "expires_at": "2027-01-01T00:00:00Z"})
	for range 4 {
		old.Get("/me").Want(200)
	}
	r := s.Control("POST", "/keys/"+id+"/rotate", map[string]any{"grace_hours": 2})
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
	s.Fetch("POST", s.Origin+"/dev/keys/"+id+"/rotate", nil, nil).Want(409, "conflict")

	// The old key ends with the overlap, and still cannot be rotated.
	s.Control("POST", "/clock", map[string]any{"advance": "1h59m59.999s"})
	old.Get("/me").Want(200)
	s.Control("POST", "/clock", map[string]any{"advance": "1ms"})
	old.Get("/me").Want(401, "unauthenticated")
	next.Get("/me").Want(200)
	s.Fetch("POST", s.Origin+"/dev/keys/"+id+"/rotate", nil, nil).Want(409, "conflict")

	// The successor can be rotated. By default the overlap lasts a day; with 0 the old key ends at once.
	third := s.Control("POST", "/keys/"+r.Str("id")+"/rotate", map[string]any{})
	s.Control("POST", "/clock", map[string]any{"advance": "23h59m"})
	next.Get("/me").Want(200)
	s.Control("POST", "/clock", map[string]any{"advance": "1m"})
	next.Get("/me").Want(401, "unauthenticated")
	fourth := s.Control("POST", "/keys/"+third.Str("id")+"/rotate", map[string]any{"grace_hours": 0})
	s.With(third.Str("key")).Get("/me").Want(401, "unauthenticated")
	s.With(fourth.Str("key")).Get("/me").Want(200)
}

func TestRevokingOneOfTwoLeavesTheOther(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, first := range []bool{true, false} {
		old, id := s.NewKey(map[string]any{})
		r := s.Control("POST", "/keys/"+id+"/rotate", map[string]any{})
		next := s.With(r.Str("key"))
		end, stay, ended := next, old, r.Str("id")
		if first {
			end, stay, ended = old, next, id
		}
		s.Control("POST", "/keys/"+ended+"/revoke", map[string]any{})
		end.Get("/me").Want(401, "unauthenticated")
		stay.Get("/me").Want(200)
		s.Control("POST", "/keys/"+ended+"/revoke", map[string]any{}) // a repetition is not an error
		s.Fetch("POST", s.Origin+"/dev/keys/"+ended+"/rotate", nil, nil).Want(409, "conflict")
	}
}

// TestKeysInOverlapDoNotCount checks that keys in the overlap of a rotation do
// not count towards the ten usable keys of a shop.
func TestKeysInOverlapDoNotCount(t *testing.T) {
	t.Parallel()
	s := start(t)
	o := s.NewShop(nil) // has one key
	body := []byte(`{"shop_id":"` + o.ShopID + `"}`)
	var ids []string
	for range 9 {
		_, id := o.NewKey(map[string]any{"shop_id": o.ShopID})
		ids = append(ids, id)
	}
	s.Fetch("POST", s.Origin+"/dev/keys", body, nil).Want(422, "unprocessable_entity")
	s.Control("POST", "/keys/"+ids[0]+"/rotate", map[string]any{}) // allowed, though the shop has the maximum of keys
	s.Fetch("POST", s.Origin+"/dev/keys", body, nil).Want(422, "unprocessable_entity")
	s.Control("POST", "/keys/"+ids[1]+"/revoke", map[string]any{})
	s.Fetch("POST", s.Origin+"/dev/keys", body, nil).Want(201)
}
