package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"punchcard/server/api"
)

// strangeIDs are texts that no resource has as its id.
var strangeIDs = []string{"none", "0", "-1", "1", "null", "undefined", "NaN", ".", "..", "...", "../me", "a/b", "a//b", "/", "a/", `a\b`, "%", "%2F", "%00", "\x00", "crd_\x00",
	"\xff", "é", "名前", "\u202e", "😀", "' OR 1=1 --", `"; DROP TABLE cards; --`, "crd_", "crd_00000000000000000000000000", "crd_zzzzzzzzzzzzzzzzzzzzzzzzzz", "CRD_00000000000000000000000000",
	"*", "?", "#", "a?b", "a#b", "a b", "+", "a=b&c", ";", ":id", "{id}", "<script>", strings.Repeat("x", 10_000)}

func isUTF8(s string) bool { return utf8.ValidString(s) }

// escaped writes an id so that every byte of it that means something in a URL
// is escaped, dots and slashes too.
func escaped(id string) string {
	var b strings.Builder
	for _, c := range []byte(id) {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// TestStrangeIDs: whatever stands where an id belongs is not found.
func TestStrangeIDs(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := s.things()
	world := s.world(th.program)
	for _, r := range api.Routes() {
		if !strings.Contains(r.Path, ":") {
			continue
		}
		ids := slices.Clone(strangeIDs)
		for _, id := range []string{th.location, th.program, th.prize, th.card, s.ShopID, s.get("/me").str("api_key.id")} {
			ids = append(ids, id+"\x00", id+"/", id+" ", strings.ToUpper(id), id[:len(id)-1], id+"0")
			if !strings.HasSuffix(strings.Split(r.Path, "/")[1], "s") || !strings.HasPrefix(id, map[string]string{"locations": "loc_", "programs": "prg_", "cards": "crd_"}[strings.Split(r.Path, "/")[1]]) {
				ids = append(ids, id) // of another kind
			}
		}
		for _, id := range ids {
			for _, form := range slices.Compact([]string{escaped(id), url.PathEscape(id)}) {
				if strings.Contains(form, "/") || form == "." || form == ".." {
					continue
				}
				bad := things{form, form, th.prize, form, th.webhook, th.delivery, form}
				if got := s.call(r.Method, bad.fill(t, r), sampleBodies[r.ID]); got.status != 404 || got.str("error.code") != "not_found" {
					t.Errorf("%s %.60q: %d %.300s", r.ID, form, got.status, got.body)
				}
				for name, bad := range map[string]things{":webhookId": {program: th.program, webhook: form, delivery: th.delivery}, ":deliveryId": {program: th.program, webhook: th.webhook, delivery: form}} {
					if !strings.Contains(r.Path, name) {
						continue
					}
					if got := s.call(r.Method, bad.fill(t, r), sampleBodies[r.ID]); got.status != 404 || got.str("error.code") != "not_found" {
						t.Errorf("%s %s %.60q: %d %.300s", r.ID, name, form, got.status, got.body)
					}
				}
				if strings.Contains(r.Path, ":prizeId") {
					bad = things{program: th.program, prize: form}
					if id == th.prize {
						continue
					}
					if got := s.call(r.Method, bad.fill(t, r), sampleBodies[r.ID]); got.status != 404 || got.str("error.code") != "not_found" {
						t.Errorf("%s prize %.60q: %d %.300s", r.ID, form, got.status, got.body)
					}
				}
			}
		}
	}
	if s.world(th.program) != world {
		t.Error("something changed")
	}
}

// TestSlashesOfIDs: an escaped slash is part of an id and parts no path, so
// that no other operation is reached by it.
func TestSlashesOfIDs(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := s.things()
	for _, path := range []string{"/programs/" + th.program + "%2Fprizes", "/programs/" + th.program + "%2fprizes", "/cards/%2F" + th.card, "/cards/" + th.card + "%2F",
		"/cards/%2F", "/cards/" + th.card + "%2F.."} {
		got := s.get(path).want(404, "not_found")
		if got.str("error.message") == "No such path." || s.patch(path, `{}`).str("error.message") == "No such path." {
			t.Errorf("%s is a path of the API: %s", path, got.body)
		}
		s.with("").get(path).want(401)
		s.post(path, nil).want(405)
	}
	for _, path := range []string{"%2Fme", "/%2Fme", "/programs%2F" + th.program, "/programs/" + th.program + "%2Fprizes/" + th.prize, "/programs/" + th.program + "/prizes%2F" + th.prize} {
		for _, k := range []*server{s, s.with("")} {
			if got := k.get(path).want(404, "not_found"); got.str("error.message") != "No such path." {
				t.Errorf("%s: %s", path, got.body)
			}
		}
	}
	for _, action := range []string{"unpublish", "suspend", "prizes", "cards"} {
		s.post("/programs/"+th.program+"%2F"+action, sampleBodies["createPrize"]).want(405)
	}
	s.call("DELETE", "/programs/"+th.program+"/prizes/x%2F"+th.prize, nil).want(404)
	if got := s.get("/programs/" + th.program).want(200); got.at("published_at") == nil || got.at("prizes.0.id") != th.prize || got.at("prizes.1") != nil {
		t.Errorf("%s", got.body)
	}
	// Other escapes are only another spelling.
	s.get("/cards/" + strings.Replace(th.card, "_", "%5F", 1)).want(200)
	if got := s.fetch("GET", s.base+"/m%65", nil, http.Header{"Authorization": {"Bearer " + s.key}}); got.status != 200 {
		t.Errorf("/m%%65: %d", got.status)
	}
}

func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := s.things()
	for _, path := range []string{"", "/", "/nothing", "/ME", "/Me", "/me/", "//me", "/./me", "/me/.", "/x/../me", "/cards/", "/Cards", "/cards/" + th.card + "/", "/cards//" + th.card,
		"//cards", "/cards//reissue", "/cards/" + th.card + "//reissue", "/cards/" + th.card + "/Reissue", "/cards/" + th.card + "/stamps", "/programs//cards", "/programs/" + th.program + "/",
		"/programs/" + th.program + "/prizes/", "/programs/" + th.program + "/prizes/" + th.prize + "/x", "/programs/" + th.program + "/delete", "/shops", "/keys", "/users", "/devices", "/mcp",
		"/me%00", "/me%20", "/me;a=b", "/me.json", "/%", "/openapi.json", "/transactions/1", "/webhooks"} {
		for _, k := range []*server{s, s.with("")} { // the route comes before the key
			for _, method := range []string{"GET", "POST", "DELETE"} {
				if path == "/%" {
					continue // no URL
				}
				if got := k.call(method, path, nil); got.status != 404 || got.str("error.code") != "not_found" {
					t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
				}
			}
		}
	}
	for _, path := range []string{"/", "/api", "/api/public/v2/me", "/api/public/v1", "/API/public/v1/me", "/api//public/v1/me", "/favicon.ico", "/dev", "/pricing"} {
		if got := s.fetch("GET", s.Origin+path, nil, nil); got.status != 404 || got.str("error.code") != "not_found" || got.header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// TestOtherMethods: 405 names exactly the methods that work, with no key
// needed.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := s.things()
	allowed := map[string][]string{}
	for _, r := range api.Routes() {
		path := th.fill(t, r)
		allowed[path] = append(allowed[path], r.Method)
	}
	for path, methods := range allowed {
		slices.Sort(methods)
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "get", "PROPFIND"} {
			if slices.Contains(methods, method) {
				continue
			}
			for _, k := range []*server{s, s.with("")} {
				got := k.call(method, path, nil)
				if allow := got.header.Values("Allow"); got.status != 405 || !slices.Equal(allow, []string{strings.Join(methods, ", ")}) {
					t.Errorf("%s %s: %d, Allow %q, want %q", method, path, got.status, allow, methods)
				}
				if method != "HEAD" {
					got.want(405, "bad_request")
				}
			}
		}
	}
}

// TestRequestIDIsOurs: never the caller's, and never twice.
func TestRequestIDIsOurs(t *testing.T) {
	t.Parallel()
	s := start(t)
	seen := map[string]bool{}
	check := func(r *reply) {
		t.Helper()
		ids := r.header.Values("X-Request-Id")
		if len(ids) != 1 || !strings.HasPrefix(ids[0], "req_") || len(ids[0]) != 30 || seen[ids[0]] {
			t.Fatalf("X-Request-Id %q", ids)
		}
		seen[ids[0]] = true
		if r.status >= 400 && r.str("error.request_id") != ids[0] {
			t.Errorf("request_id %q, X-Request-Id %q", r.str("error.request_id"), ids[0])
		}
		if strings.Contains(string(r.body), "req_mine") || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%v %s", r.header, r.body)
		}
	}
	h := []string{"X-Request-Id", "req_mine00000000000000000000000", "Request-Id", "req_mine", "X-Correlation-Id", "req_mine"}
	for range 3 {
		check(s.get("/me", h...))
		check(s.get("/cards/none", h...))
		check(s.get("/nothing", h...))
		check(s.call("PUT", "/me", nil, h...))
		check(s.with("").get("/me", h...))
		check(s.post("/programs", `{`, h...))
	}
	h2 := http.Header{"X-Request-Id": {"req_mine"}}
	for _, path := range []string{"/openapi.json", "/docs", "/healthz", "/readyz"} {
		got := s.fetch("GET", s.Origin+path, nil, h2).want(200)
		if id := got.header.Get("X-Request-Id"); !strings.HasPrefix(id, "req_") || id == "req_mine" || seen[id] {
			t.Errorf("%s: X-Request-Id %q", path, id)
		}
	}
}
