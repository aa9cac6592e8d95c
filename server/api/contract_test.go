package api_test

import (
	"fmt"
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
	t.Parallel()
	s := start(t, servertest.Frozen, perMinute(100_000))
	for _, c := range servertest.Sample(slices.Concat(contractOfRequests, contractOfBodies, contractOfFields, contractOfLists, contractOfIdempotency)) {
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
	{"GET, PATCH and actions answer 200, POST that creates 201, test and redeliver 202, DELETE 204 without a body", func(s *servertest.Server, th things) {
		program := "/programs/" + th.program
		s.Get(program).Want(200)
		s.Patch(program, `{}`).Want(200)
		s.Post(program+"/suspend", nil).Want(200)
		s.Post(program+"/unsuspend", nil).Want(200)
		s.Post("/cards/"+th.card+"/reissue", nil).Want(200)
		prize := s.Post(program+"/prizes", sampleBodies["createPrize"]).Want(201).Str("id")
		s.Post(program+"/cards", nil).Want(201)
		s.Post(program+"/webhooks/"+th.webhook+"/test", nil).Want(202)
		failDelivery(s, th.delivery)
		s.Post(program+"/webhooks/"+th.webhook+"/deliveries/"+th.delivery+"/redeliver", nil).Want(202)
		if r := s.Call("DELETE", program+"/prizes/"+prize, nil).Want(204); len(r.Body) > 0 {
			s.T.Errorf("a body: %s", r.Body)
		}
	}},
	{"an unknown path is 404, another method 405 with Allow and the code bad_request", func(s *servertest.Server, th things) {
		s.Get("/nowhere").Want(404, "not_found")
		wantHeader(s.Call("PUT", "/cards/"+th.card, nil).Want(405, "bad_request"), "Allow", "GET, HEAD, PATCH")
	}},
	{"the request id is the server's own and never the caller's", func(s *servertest.Server, _ things) {
		for _, r := range []*servertest.Reply{s.Get("/me", "X-Request-Id", "mine"), s.With("").Get("/me", "X-Request-Id", "mine"), s.Get("/nowhere", "X-Request-Id", "mine")} {
			wantHeader(r, "X-Request-Id", "req_[0-9a-z]{26}")
		}
	}},
	{"every authenticated answer has the rate headers", func(s *servertest.Server, _ things) {
		for _, r := range []*servertest.Reply{s.Get("/me"), s.Get("/cards/none"), s.Post("/programs", `{`), s.Call("HEAD", "/cards", nil)} {
			for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
				wantHeader(r, name, `\d+`)
			}
		}
	}},
	{"every answer has Cache-Control: no-store", func(s *servertest.Server, _ things) {
		for _, r := range []*servertest.Reply{s.Get("/me"), s.With("").Get("/me"), s.Get("/nowhere"), s.Post("/programs", `{`), s.Call("HEAD", "/cards", nil)} {
			wantHeader(r, "Cache-Control", "no-store")
		}
	}},
	{"every GET route answers HEAD with the same status and headers and no body", func(s *servertest.Server, th things) {
		for _, path := range []string{"/me", "/cards", "/cards/" + th.card, "/cards/none", "/cards?limit=0", "/programs/" + th.program + "/stats"} {
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
	{"timestamps are UTC with three decimals, and any RFC 3339 date-time with an offset comes in", func(s *servertest.Server, th things) {
		for in, out := range map[string]string{"2030-01-02T03:04:05+01:00": "2030-01-02T02:04:05.000Z", "2030-01-02t03:04:05.6789z": "2030-01-02T03:04:05.678Z"} {
			s.Patch("/cards/"+th.card, fields{"expires_at": in}).Want(200).Shows(fields{"expires_at": out})
		}
		s.Patch("/cards/"+th.card, `{"expires_at":"2030-01-02T03:04:05"}`).Invalid("expires_at invalid_format")
	}},
	{"rows of one instant have the same created_at and keep commit order", func(s *servertest.Server, th things) {
		var ids []string
		for range 3 {
			ids = append([]string{s.Issue(th.program, nil)}, ids...)
		}
		r := s.Get("/cards?limit=3&program_id=" + th.program).Want(200)
		if !slices.Equal(r.IDs(), ids) || r.Str("data.0.created_at") != r.Str("data.2.created_at") {
			s.T.Errorf("%s, want %q", r.Body, ids)
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
			for _, kind := range []string{"", "application/json", "application/json; charset=utf-16", "text/plain", "multipart/form-data", "nonsense"} {
				send(s, "PATCH", "/cards/"+th.card, body, kind).Want(200)
				send(s, "POST", "/programs", body, kind).Invalid("name required", "type required")
			}
		}
		s.Fetch("PATCH", s.URL+"/cards/"+th.card, nil, http.Header{"Authorization": {"Bearer " + s.Key}, "Content-Type": {"text/plain"}}).Want(200)
	}},
	{"a charset other than UTF-8 is 415", func(s *servertest.Server, th things) {
		for _, kind := range []string{"application/json; charset=utf-8", "application/json;charset=UTF-8", `application/json; charset="Utf-8"`, "application/x+json; charset=utf-8"} {
			send(s, "PATCH", "/cards/"+th.card, `{"holder_name":"Zoë"}`, kind).Want(200)
		}
		for _, charset := range []string{"iso-8859-1", "utf-16", "us-ascii", "windows-1252", `""`} {
			send(s, "PATCH", "/cards/"+th.card, `{"holder_name":"Eve"}`, "application/json; charset="+charset).Want(415, "bad_request")
			send(s, "PATCH", "/cards/"+th.card, `{"holder_name":"Eve"}`, "application/merge-patch+json; charset="+charset).Want(415, "bad_request")
		}
	}},
	{"a body that is not one valid JSON object is validation_failed", func(s *servertest.Server, th things) {
		for _, body := range []string{`{`, `[]`, `null`, `"x"`, `1`, `{}{}`, `{} x`, `{"holder_name":"A","holder_name":"A"}`, "{\"holder_name\":\"\xff\"}", `{"holder_name":"\u0000"}`} {
			s.Patch("/cards/"+th.card, body).Want(400, "validation_failed")
		}
	}},
	{"bodies of GET and DELETE are ignored", func(s *servertest.Server, th things) {
		send(s, "GET", "/cards", `{`, "text/plain").Want(200)
		send(s, "DELETE", "/programs/"+th.program+"/prizes/"+th.prize, `[`, "text/plain").Want(204)
	}},
	{"an unknown body field is unknown_field", func(s *servertest.Server, th things) {
		s.Patch("/locations/"+th.location, `{"active":false}`).Invalid("active unknown_field")
		s.Patch("/cards/"+th.card, `{"a.b":null}`).Invalid("a.b unknown_field")
	}},
	{"in a POST null equals absence", func(s *servertest.Server, th things) {
		s.Post("/programs/"+th.program+"/cards", `{"holder_name":null,"holder_email":null,"external_ref":null,"expires_at":null,"send_email":null}`).Want(201)
		s.Post("/programs", `{"name":null,"type":null}`).Invalid("name required", "type required")
	}},
	{"in a PATCH null clears a nullable field and is invalid_type for another", func(s *servertest.Server, th things) {
		s.Patch("/cards/"+th.card, `{"holder_name":"Ada","external_ref":"`+th.card+`"}`).Want(200)
		s.Patch("/cards/"+th.card, `{"holder_name":null,"external_ref":null}`).Want(200).Shows(fields{"holder_name": nil, "external_ref": nil})
		s.Patch("/locations/"+th.location, `{"name":null,"lat":null}`).Invalid("name invalid_type", "lat invalid_type")
	}},
	{"null empties the lists and headers of a webhook, its token, descriptions and localisations", func(s *servertest.Server, th things) {
		hook := "/programs/" + th.program + "/webhooks/" + th.webhook
		s.Patch(hook, fields{"program_ids": []string{th.program}, "location_ids": []string{th.location}, "custom_headers": fields{"X-A": "1"}, "bearer_token": "t", "description": "d"}).Want(200)
		s.Patch(hook, `{"program_ids":null,"location_ids":null,"custom_headers":null,"bearer_token":null,"description":null}`).Want(200).
			Shows(fields{"program_ids": []string{}, "location_ids": []string{}, "custom_headers": fields{}, "has_bearer_token": false, "description": ""})
		s.Patch("/programs/"+th.program, `{"description":null,"name_localizations":null,"description_localizations":null}`).Want(200).Shows(fields{"description": ""})
	}},
	{"an absent field is left alone and {} changes nothing", func(s *servertest.Server, th things) {
		s.Patch("/cards/"+th.card, `{"holder_name":"Ada"}`).Want(200)
		s.Patch("/cards/"+th.card, `{"external_ref":"`+th.card+`"}`).Want(200).Shows(fields{"holder_name": "Ada"})
		before := s.Get("/programs/" + th.program).Want(200)
		s.Unchanged(func() {
			if r := s.Patch("/programs/"+th.program, `{}`).Want(200); string(r.Body) != string(before.Body) {
				s.T.Errorf("{} changed the program:\n%s\n%s", before.Body, r.Body)
			}
		})
	}},
}

var contractOfIdempotency = []contractCase{
	{"a key is 1 to 255 characters and sent once", func(s *servertest.Server, th things) {
		cards := "/programs/" + th.program + "/cards"
		s.Post(cards, nil, "Idempotency-Key", strings.Repeat("k", 255)).Want(201)
		s.Post(cards, nil, "Idempotency-Key", strings.Repeat("k", 256)).Invalid("Idempotency-Key too_long")
		s.Post(cards, nil, "Idempotency-Key", "").Invalid("Idempotency-Key too_short")
		s.Post(cards, nil, "Idempotency-Key", "a", "Idempotency-Key", "b").Invalid("Idempotency-Key invalid_value")
	}},
	{"a repeat replays status and body with Idempotent-Replayed, another body conflicts", func(s *servertest.Server, th things) {
		cards, key := "/programs/"+th.program+"/cards", th.card
		first := s.Post(cards, `{"holder_name":"Ada"}`, "Idempotency-Key", key).Want(201).First()
		s.Post(cards, `{"holder_name":"Ada"}`, "Idempotency-Key", key).Replays(first)
		s.Post(cards, `{"holder_name": "Ada"}`, "Idempotency-Key", key).Want(409, "idempotency_conflict")
	}},
	{"404, 409 and 422 are remembered; what is refused before the operation is not", func(s *servertest.Server, th things) {
		key := "refused " + th.card
		s.Post("/cards/"+th.card+"/reissue", `{"holder_name":""}`, "Idempotency-Key", key).Want(400)
		s.Fetch("POST", s.URL+"/cards/"+th.card+"/reissue", []byte(`{"a":1}`), http.Header{"Authorization": {"Bearer " + s.Key}, "Content-Type": {"text/plain"}, "Idempotency-Key": {key}}).Want(415)
		first := s.Post("/cards/none/reissue", nil, "Idempotency-Key", key).Want(404)
		s.Post("/cards/none/reissue", nil, "Idempotency-Key", key).Replays(first)
	}},
	{"DELETE accepts an Idempotency-Key", func(s *servertest.Server, th things) {
		path, key := "/programs/"+th.program+"/prizes/"+th.prize, fmt.Sprint("delete ", th.prize)
		first := s.Call("DELETE", path, nil, "Idempotency-Key", key).Want(204)
		if second := s.Call("DELETE", path, nil, "Idempotency-Key", key).Want(204); first.Header.Get("Idempotent-Replayed") != "" || second.Header.Get("Idempotent-Replayed") != "true" {
			s.T.Error("the deletion was not replayed")
		}
	}},
}
