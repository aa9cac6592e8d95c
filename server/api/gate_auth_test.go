package api_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestUnauthenticated(t *testing.T) {
	t.Parallel()
	s := start(t, frozen, manyKeys)
	key := s.key
	body := strings.TrimPrefix(key, "tsk_test_")
	if len(body) != 43 {
		t.Fatalf("the demo key has %d characters", len(body))
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
		url := s.base + "/me"
		if name == "in the query" {
			url += "?access_token=" + key + "&api_key=" + key
		}
		got := s.fetch("GET", url, nil, c.h)
		s.conforms("GET", url, got)
		if got.status != 401 || got.str("error.code") != "unauthenticated" || !strings.Contains(got.str("error.message"), c.message) {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		if got.header.Get("WWW-Authenticate") != "Bearer" || got.header["Ratelimit-Limit"] != nil || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", name, got.header)
		}
		if strings.Contains(string(got.body), body) {
			t.Errorf("%s: the key is in the answer: %s", name, got.body)
		}
	}
	// The scheme's case does not matter (RFC 9110), nor does white space around
	// a header's value, which is no part of it.
	for _, v := range []string{"Bearer " + key, "bearer " + key, "BEARER " + key, "bEaReR " + key, "Bearer " + key + "  ", "  Bearer " + key} {
		if got := s.fetch("GET", s.base+"/me", nil, bearer(v)); got.status != 200 {
			t.Errorf("%.10q…: %d %s", v, got.status, got.body)
		}
	}
}

func TestKeysEndByClock(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	k, id := s.newKey(map[string]any{"expires_at": "2026-03-01T10:00:00Z"})
	k.get("/me").want(200)
	s.control("POST", "/clock", map[string]any{"advance": "59m59.999s"})
	k.get("/me").want(200)
	s.control("POST", "/clock", map[string]any{"advance": "1ms"})
	k.get("/me").want(401, "unauthenticated")
	got := s.fetch("POST", s.Origin+"/dev/keys/"+id+"/rotate", nil, nil)
	got.want(409, "conflict") // an expired key has no successor
}

func TestRotation(t *testing.T) {
	t.Parallel()
	s := start(t, frozen, perMinute(10))
	old, id := s.newKey(map[string]any{"name": "CRM", "scopes": []string{"cards:read", "locations:read"}, "location_ids": s.LocationIDs[1:], "expires_at": "2027-01-01T00:00:00Z"})
	for range 4 {
		old.get("/me").want(200)
	}
	r := s.control("POST", "/keys/"+id+"/rotate", map[string]any{"grace_hours": 2})
	next := s.with(r.str("key"))
	if r.str("id") == id || next.key == old.key {
		t.Fatalf("no new key: %s", r.body)
	}
	if r.str("expires_at") != "2027-01-01T00:00:00.000Z" || r.str("name") != "CRM" {
		t.Errorf("%s", r.body)
	}

	// Both work, with the same rights and a bucket each.
	before, after := old.get("/me").want(200), next.get("/me").want(200)
	for _, field := range []string{"api_key.scopes", "api_key.location_ids", "shop", "entitlements"} {
		if a, b := jsonText(t, before.at(field)), jsonText(t, after.at(field)); a != b {
			t.Errorf("%s: %s, the successor's is %s", field, a, b)
		}
	}
	if got := jsonText(t, after.at("api_key.location_ids")); got != jsonText(t, s.LocationIDs[1:]) {
		t.Errorf("location_ids %s", got)
	}
	if after.str("api_key.id") != r.str("id") {
		t.Errorf("api_key.id %q", after.str("api_key.id"))
	}
	if a, b := before.header.Get("RateLimit-Remaining"), after.header.Get("RateLimit-Remaining"); a != "5" || b != "9" {
		t.Errorf("remaining: old %s, new %s", a, b)
	}
	next.get("/cards").want(200)
	next.get("/programs").want(403, "unauthorized")

	// One rotation at a time; the successor can be rotated in its turn.
	s.fetch("POST", s.Origin+"/dev/keys/"+id+"/rotate", nil, nil).want(409, "conflict")

	// The overlap ends by the clock.
	s.control("POST", "/clock", map[string]any{"advance": "1h59m59.999s"})
	old.get("/me").want(200)
	s.control("POST", "/clock", map[string]any{"advance": "1ms"})
	old.get("/me").want(401, "unauthenticated")
	next.get("/me").want(200)
	s.fetch("POST", s.Origin+"/dev/keys/"+id+"/rotate", nil, nil).want(409, "conflict")

	// The default overlap is a day; 0 retires the old key at once.
	third := s.control("POST", "/keys/"+r.str("id")+"/rotate", map[string]any{})
	s.control("POST", "/clock", map[string]any{"advance": "23h59m"})
	next.get("/me").want(200)
	s.control("POST", "/clock", map[string]any{"advance": "1m"})
	next.get("/me").want(401, "unauthenticated")
	fourth := s.control("POST", "/keys/"+third.str("id")+"/rotate", map[string]any{"grace_hours": 0})
	s.with(third.str("key")).get("/me").want(401, "unauthenticated")
	s.with(fourth.str("key")).get("/me").want(200)
}

func TestRevokingOneOfTwoLeavesTheOther(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, first := range []bool{true, false} {
		old, id := s.newKey(map[string]any{})
		r := s.control("POST", "/keys/"+id+"/rotate", map[string]any{})
		next := s.with(r.str("key"))
		end, stay, ended := next, old, r.str("id")
		if first {
			end, stay, ended = old, next, id
		}
		s.control("POST", "/keys/"+ended+"/revoke", map[string]any{})
		end.get("/me").want(401, "unauthenticated")
		stay.get("/me").want(200)
		s.control("POST", "/keys/"+ended+"/revoke", map[string]any{}) // again: no error
		s.fetch("POST", s.Origin+"/dev/keys/"+ended+"/rotate", nil, nil).want(409, "conflict")
	}
}

// TestKeysInOverlapDoNotCount: ten usable keys per shop (spec Limits).
func TestKeysInOverlapDoNotCount(t *testing.T) {
	t.Parallel()
	s := start(t)
	o := s.newShop() // has one
	body := []byte(`{"shop_id":"` + o.ShopID + `"}`)
	var ids []string
	for range 9 {
		_, id := o.newKey(map[string]any{"shop_id": o.ShopID})
		ids = append(ids, id)
	}
	s.fetch("POST", s.Origin+"/dev/keys", body, nil).want(422, "unprocessable_entity")
	s.control("POST", "/keys/"+ids[0]+"/rotate", map[string]any{}) // at the maximum
	s.fetch("POST", s.Origin+"/dev/keys", body, nil).want(422, "unprocessable_entity")
	s.control("POST", "/keys/"+ids[1]+"/revoke", map[string]any{})
	s.fetch("POST", s.Origin+"/dev/keys", body, nil).want(201)
}
