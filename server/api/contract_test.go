package api_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// contractCase is a rule for requests, as a sentence, and the check that it holds.
// Each check has things of its own.
type contractCase struct {
	sentence string
	holds    func(s *servertest.Server, th things)
}

// TestContract checks the rules for requests that hold on every route, each by an
// example. Other tests check some of them on all routes.
func TestContract(t *testing.T) {
	s := start(t, servertest.Frozen, perMinute(100_000))
	for _, c := range servertest.Sample(slices.Concat(contractOfRequests, contractOfBodies, contractOfFields, contractOfLists,
		contractOfIdempotency)) {
		t.Run(c.sentence, func(t *testing.T) {
			s := s.On(t)
			c.holds(s, newThings(s))
		})
	}
}

// send makes a request with a body and its Content-Type, which is left out if it is empty.
func send(s *servertest.Server, method, path, body, contentType string) *servertest.Reply {
	s.T.Helper()
	if contentType == "" {
		return sendReader(s, method, path, strings.NewReader(body))
	}
	return sendReader(s, method, path, strings.NewReader(body), contentType)
}

// wantHeader checks that an answer has a header exactly once, with a value that matches a pattern.
func wantHeader(r *servertest.Reply, name, pattern string) {
	r.T.Helper()
	if v := r.Header.Values(name); len(v) != 1 || !regexp.MustCompile("^("+pattern+")$").MatchString(v[0]) {
		r.T.Errorf("%s: %s is %q, want %s", r.What, name, v, pattern)
	}
}

var contractOfRequests = []contractCase{
	{"every GET route answers HEAD with the same status and headers and no body", func(s *servertest.Server, th things) {
		for _, path := range []string{
			"/me", "/cards", "/cards/" + th.card, "/cards/none", "/cards?limit=0", "/programs/" + th.program + "/stats",
		} {
			sameHead(s, s.URL+path, s.Key)
		}
		for _, path := range []string{"/healthz", "/readyz", "/docs", "/openapi.json", "/till/openapi.json", "/nowhere", "/dev/clock"} {
			sameHead(s, s.Origin+path, "")
		}
		sameHead(s, s.Post("/cards/"+th.card+"/install-link", nil).Want(200).Str("install_url"), "")
		sameHead(s, s.URL+"/me", "")
		sameHead(s, s.Origin+"/till/v1/me", s.TillToken)
		if r := s.Call("HEAD", "/programs/"+th.program+"/publish", nil); r.Status != 405 || r.Header.Get("Allow") != "POST" {
			s.T.Errorf("HEAD of a POST route: %d, Allow %q", r.Status, r.Header.Get("Allow"))
		}
	}},
}

// sameHead checks that HEAD has the status and headers of GET, and no body. It asks for an
// uncompressed body, since http.Client adds gzip to a GET but not to a HEAD, and then removes
// the Content-Length.
func sameHead(s *servertest.Server, url, key string) {
	s.T.Helper()
	h := http.Header{"Accept-Encoding": {"identity"}}
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
	get, head := s.Fetch("GET", url, nil, h), s.Fetch("HEAD", url, nil, h)
	if head.Status != get.Status || len(head.Body) > 0 {
		s.T.Errorf("HEAD %s: %d, GET %d; body %q", url, head.Status, get.Status, head.Body)
	}
	wantHeader(get, "Content-Length", strconv.Itoa(len(get.Body)))
	names := http.Header{}
	maps.Copy(names, get.Header)
	maps.Copy(names, head.Header)
	for name := range names {
		a, b := get.Header.Values(name), head.Header.Values(name)
		own := slices.Contains([]string{"Date", "X-Request-Id", "Ratelimit-Remaining", "Ratelimit-Reset"}, name)
		if len(a) != len(b) || !own && !slices.Equal(a, b) {
			s.T.Errorf("%s: %s is %q for GET and %q for HEAD", url, name, a, b)
		}
	}
}

var contractOfBodies = []contractCase{
	{"a body is at most 1 MiB, else 413 bad_request", func(s *servertest.Server, th things) {
		s.Patch("/cards/"+th.card, strings.Repeat(" ", 1<<20)).Want(200)
		s.Patch("/cards/"+th.card, strings.Repeat(" ", 1<<20+1)).Want(413, "bad_request")
	}},
	{"Content-Type is absent or JSON, else 415 bad_request", func(s *servertest.Server, th things) {
		for _, kind := range []string{"", "application/json", "application/merge-patch+json", "Application/JSON"} {
			send(s, "PATCH", "/cards/"+th.card, `{"holder_name":"Ada"}`, kind).Want(200)
		}
		for _, kind := range []string{"text/plain", "text/json", "application/x-www-form-urlencoded", "nonsense"} {
			send(s, "PATCH", "/cards/"+th.card, `{"holder_name":"Eve"}`, kind).Want(415, "bad_request")
		}
	}},
	{"an absent, empty or blank body equals {} whatever its type", func(s *servertest.Server, th things) {
		for _, body := range []string{"", " ", "\t\r\n ", strings.Repeat(" ", 5000)} {
			for _, kind := range []string{
				"", "application/json", "application/json; charset=utf-16", "text/plain", "multipart/form-data", "nonsense",
			} {
				send(s, "PATCH", "/cards/"+th.card, body, kind).Want(200)
				send(s, "POST", "/programs", body, kind).Invalid("name required", "type required")
			}
		}
		s.Fetch("PATCH", s.URL+"/cards/"+th.card, nil, http.Header{
			"Authorization": {"Bearer " + s.Key},
			"Content-Type":  {"text/plain"},
		}).Want(200)
	}},
	{"a charset other than UTF-8 is 415", func(s *servertest.Server, th things) {
		for _, kind := range []string{
			"application/json; charset=utf-8", "application/json;charset=UTF-8", `application/json; charset="Utf-8"`,
			"application/x+json; charset=utf-8",
		} {
			send(s, "PATCH", "/cards/"+th.card, `{"holder_name":"Zoë"}`, kind).Want(200)
		}
		for _, charset := range []string{"iso-8859-1", "utf-16", "us-ascii", "windows-1252", `""`} {
			send(s, "PATCH", "/cards/"+th.card, `{"holder_name":"Eve"}`, "application/json; charset="+charset).Want(415, "bad_request")
			send(s, "PATCH", "/cards/"+th.card, `{"holder_name":"Eve"}`, "application/merge-patch+json; charset="+charset).
				Want(415, "bad_request")
		}
	}},
	{"a body that is not one valid JSON object is validation_failed", func(s *servertest.Server, th things) {
		for _, body := range brokenBodies {
			s.Patch("/cards/"+th.card, body).Want(400, "validation_failed")
		}
	}},
	{"bodies of GET and DELETE are ignored", func(s *servertest.Server, th things) {
		send(s, "GET", "/cards", `{`, "text/plain").Want(200)
		send(s, "DELETE", "/programs/"+th.program+"/prizes/"+th.prize, `[`, "text/plain").Want(204)
	}},
}

var contractOfIdempotency = []contractCase{
	{"a key is 1 to 255 characters and sent once", func(s *servertest.Server, th things) {
		cards := "/programs/" + th.program + "/cards"
		for _, key := range []string{"k", "K", "日本", "a b\tc", "\xff\xfe", strings.Repeat("é", 255)} {
			s.Post(cards, nil, "Idempotency-Key", key).Want(201).First()
		}
		s.Post(cards, nil, "Idempotency-Key", strings.Repeat("é", 256)).Invalid("Idempotency-Key too_long")
		s.Post(cards, nil, "Idempotency-Key", "").Invalid("Idempotency-Key too_short")
		s.Post(cards, nil, "Idempotency-Key", "a", "Idempotency-Key", "b").Invalid("Idempotency-Key invalid_value")
	}},
}
