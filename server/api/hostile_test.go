package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"punchcard/server/api"
	"punchcard/server/servertest"
)

// strangeIDs are escaped texts that are not the id of any resource. The tests of the store have more.
var strangeIDs = []string{
	"none", "%00", "%FF", "%25", "%2F", "%E8%AA%9E", "%27%20OR%201=1%20--", "CRD_00000000000000000000000000", "x%3Fb",
	strings.Repeat("x", 10_000),
}

// TestStrangeIDs checks that a path with any other text in place of one of its ids is answered 404. The
// other texts include ids of other kinds and of a deleted program, and ids with a character more or less.
func TestStrangeIDs(t *testing.T) {
	s := start(t)
	th := newThings(s)
	gone := s.NewProgram("access", false, nil)
	s.Control("DELETE", "/programs/"+gone, nil)
	state := snapshot(s, th.program)
	n := 0
	for _, r := range servertest.Sample(api.Routes()) {
		good := strings.Split(th.fill(t, r), "/")
		for i, p := range strings.Split(r.Path, "/") {
			if !strings.HasPrefix(p, ":") {
				continue
			}
			id := good[i]
			others := []string{gone, th.location, th.card, id + "0"}
			for range 2 { // all of them in turn: what no id looks like is no id on every path
				others = append(others, strangeIDs[n%len(strangeIDs)])
				n++
			}
			for _, bad := range others {
				if bad == id {
					continue
				}
				parts := slices.Clone(good)
				parts[i] = bad
				s.Call(r.Method, strings.Join(parts, "/"), sampleBodies[r.ID]).WantOutcome(missing)
			}
		}
	}
	if snapshot(s, th.program) != state {
		t.Error("something changed")
	}
}

// TestSlashesInIDs checks that an escaped slash is part of an id and reaches no
// other operation.
func TestSlashesInIDs(t *testing.T) {
	s := start(t)
	th := newThings(s)
	for _, path := range []string{"/programs/" + th.program + "%2Fprizes", "/programs/" + th.program + "%2fprizes",
		"/cards/%2F" + th.card, "/cards/" + th.card + "%2F",
		"/cards/%2F", "/cards/" + th.card + "%2F.."} {
		got := s.Get(path).Want(404, "not_found")
		if got.Str("error.message") == "No such path." || s.Patch(path, `{}`).Str("error.message") == "No such path." {
			t.Errorf("%s is a path of the API: %s", path, got.Body)
		}
		s.With("").Get(path).Want(401)
		s.Post(path, nil).Want(405)
	}
	for _, path := range []string{
		"%2Fme", "/%2Fme", "/programs%2F" + th.program, "/programs/" + th.program + "%2Fprizes/" + th.prize,
		"/programs/" + th.program + "/prizes%2F" + th.prize,
	} {
		for _, k := range []*servertest.Server{s, s.With("")} {
			if got := k.Get(path).Want(404, "not_found"); got.Str("error.message") != "No such path." {
				t.Errorf("%s: %s", path, got.Body)
			}
		}
	}
	s.Post("/programs/"+th.program+"%2Funpublish", nil).Want(405)
	s.Get("/programs/" + th.program).WantOK(fields{"active": true})
	// Escaping another character does not change the path.
	s.Get("/cards/" + strings.Replace(th.card, "_", "%5F", 1)).Want(200)
	if got := s.Fetch("GET", s.URL+"/m%65", nil, http.Header{"Authorization": {"Bearer " + s.Key}}); got.Status != 200 {
		t.Errorf("/m%%65: %d", got.Status)
	}
}

func TestUnknownPaths(t *testing.T) {
	s := start(t)
	th := newThings(s)
	for _, path := range []string{"", "/", "/nothing", "/ME", "/me/", "//me", "/./me", "/me/.", "/x/../me", "/cards/",
		"/cards/" + th.card + "/", "/cards//" + th.card, "/cards//reissue", "/cards/" + th.card + "//reissue",
		"/cards/" + th.card + "/Reissue", "/cards/" + th.card + "/stamps", "/programs//cards",
		"/programs/" + th.program + "/prizes/" + th.prize + "/x", "/programs/" + th.program + "/delete", "/keys",
		"/me%00", "/me;a=b", "/me.json", "/openapi.json", "/transactions/1"} {
		for _, method := range []string{"GET", "POST"} {
			s.Call(method, path, nil).WantOutcome(missing)
		}
		s.With("").Get(path).WantOutcome(missing) // the route is checked before the key
	}
	for _, path := range []string{
		"/api", "/api/public/v2/me", "/api/public/v1", "/API/public/v1/me", "/api//public/v1/me", "/favicon.ico", "/dev",
		"/pricing",
	} {
		if got := s.Fetch("GET", s.Origin+path, nil, nil); got.Status != 404 || got.Str("error.code") != "not_found" ||
			got.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
}

// TestOtherMethods checks that a method that a path does not have is answered 405 with exactly the
// methods of the path, with a key and, for PUT, without one.
func TestOtherMethods(t *testing.T) {
	s := start(t)
	th := newThings(s)
	allowed := map[string][]string{}
	for _, r := range api.Routes() {
		path := th.fill(t, r)
		allowed[path] = append(allowed[path], r.Method)
	}
	for path, methods := range allowed {
		if slices.Contains(methods, "GET") {
			methods = append(methods, "HEAD")
		}
		slices.Sort(methods)
		for _, method := range strings.Fields("GET HEAD POST PUT PATCH DELETE OPTIONS BREW get") {
			if slices.Contains(methods, method) {
				continue
			}
			k := s
			if method == "PUT" {
				k = s.With("")
			}
			got := k.Call(method, path, nil)
			if allow := got.Header.Values("Allow"); got.Status != 405 || !slices.Equal(allow, []string{strings.Join(methods, ", ")}) {
				t.Errorf("%s %s: %d, Allow %q, want %q", method, path, got.Status, allow, methods)
			}
			if method != "HEAD" {
				got.Want(405, "bad_request")
			}
		}
	}
}

// TestRequestID checks that the request id never comes from the caller and is unique.
func TestRequestID(t *testing.T) {
	s := start(t)
	seen := map[string]bool{}
	check := func(r *servertest.Reply) {
		t.Helper()
		ids := r.Header.Values("X-Request-Id")
		if len(ids) != 1 || !strings.HasPrefix(ids[0], "req_") || len(ids[0]) != 30 || seen[ids[0]] {
			t.Fatalf("X-Request-Id %q", ids)
		}
		seen[ids[0]] = true
		if r.Status >= 400 && r.Str("error.request_id") != ids[0] {
			t.Errorf("request_id %q, X-Request-Id %q", r.Str("error.request_id"), ids[0])
		}
		if strings.Contains(string(r.Body), "req_mine") || r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%v %s", r.Header, r.Body)
		}
	}
	h := []string{"X-Request-Id", "req_mine00000000000000000000000", "Request-Id", "req_mine", "X-Correlation-Id", "req_mine"}
	for range 3 {
		check(s.Get("/me", h...))
		check(s.Get("/cards/none", h...))
		check(s.Get("/nothing", h...))
		check(s.Call("PUT", "/me", nil, h...))
		check(s.With("").Get("/me", h...))
		check(s.Post("/programs", `{`, h...))
	}
	h2 := http.Header{"X-Request-Id": {"req_mine"}}
	if id := s.Fetch("GET", s.Origin+"/docs", nil, h2).Want(200).Header.Get("X-Request-Id"); !strings.HasPrefix(id, "req_") || seen[id] {
		t.Errorf("/docs: X-Request-Id %q", id)
	}
}
