package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// TestFingerprint checks that method, path and body are the fingerprint of a
// request.
func TestFingerprint(t *testing.T) {
	s := start(t)
	th := newThings(s)
	other := s.Post("/programs/"+th.program+"/cards", nil).NewID()
	path := "/cards/" + th.card
	send := func(method, path string, body any, headers ...string) *servertest.Reply {
		return s.Call(method, path, body, append(headers, "Idempotency-Key", "k")...)
	}
	first := send("PATCH", path, `{"holder_name":"Ada"}`).Want(200).First()
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"PATCH", path, `{"holder_name":"Bea"}`},
		{"PATCH", path, `{"holder_name":"Ada" }`},
		{"PATCH", path, `{}`},
		{"PATCH", path, nil},
		{"PATCH", path, `{`},
		{"PATCH", "/cards/" + other, `{"holder_name":"Ada"}`},
		{"PATCH", "/cards/none", `{"holder_name":"Ada"}`},
		{"POST", path + "/reissue", `{"holder_name":"Ada"}`},
		{"DELETE", "/programs/" + th.program + "/prizes/" + th.prize, nil},
	} {
		send(c.method, c.path, c.body).Want(409, "idempotency_conflict").First()
	}
	send("PATCH", path, `{"holder_name":"Ada"}`).Replays(first) // a conflict is not remembered
	// The query and other headers are not part of the fingerprint.
	send("PATCH", path+"?x=1", `{"holder_name":"Ada"}`, "X-Anything", "1").Replays(first)
	// Reads ignore the header.
	send("GET", path, nil).Want(200).First()
	s.Get("/cards", "Idempotency-Key", "").Want(200).First()
	s.Get("/cards", "Idempotency-Key", strings.Repeat("x", 300)).Want(200).First()

	// An absent body equals an empty one.
	empty := s.Post(path+"/install-link", nil, "Idempotency-Key", "e").Want(200)
	s.Post(path+"/install-link", "", "Idempotency-Key", "e").Want(200).Replays(empty)
	// DELETE ignores its body, which therefore cannot conflict.
	prize := "/programs/" + th.program + "/prizes/" + th.prize
	deleted := s.Call("DELETE", prize, `{"a":1}`, "Idempotency-Key", "d").Want(204).First()
	s.Call("DELETE", prize, nil, "Idempotency-Key", "d").Want(204).Replays(deleted)
	s.Call("DELETE", prize, nil).Want(404, "not_found")
}

// TestRefusalsThatAreRemembered checks that a refusal by the operation itself is
// replayed, even if the operation would succeed now.
func TestRefusalsThatAreRemembered(t *testing.T) {
	s := start(t)
	th := newThings(s)
	cards := "/programs/" + th.program + "/cards"
	s.Post(cards, `{"external_ref":"m-1"}`).Want(201)

	missing := s.Post("/programs/none/publish", nil, "Idempotency-Key", "404").Want(404, "not_found").First()
	s.Post("/programs/none/publish", nil, "Idempotency-Key", "404").Want(404, "not_found").Replays(missing)

	double := s.Post(cards, `{"external_ref":"m-1"}`, "Idempotency-Key", "409").Want(409, "conflict").First()
	s.Post("/programs/"+th.program+"/unpublish", nil).Want(200)
	unpublished := s.Post(cards, `{}`, "Idempotency-Key", "422").Want(422, "unprocessable_entity").First()
	s.Post(cards, `{"external_ref":"m-1"}`, "Idempotency-Key", "409").Want(409, "conflict").Replays(double)
	s.Post("/programs/"+th.program+"/publish", nil).Want(200)

	before := s.Count("/cards")
	again := s.Post(cards, `{}`, "Idempotency-Key", "422").Want(422, "unprocessable_entity").Replays(unpublished)
	if again.Str("error.request_id") != again.Header.Get("X-Request-Id") {
		t.Errorf("request_id %q, X-Request-Id %q", again.Str("error.request_id"), again.Header.Get("X-Request-Id"))
	}
	if after := s.Count("/cards"); after != before {
		t.Errorf("%d cards, were %d", after, before)
	}
}

// TestRefusalsThatAreNotRemembered checks that an idempotency key can be used again after a refusal
// with 400, 403, 413 or 415. For those before the body is read see TestEveryOperationRefuses, for 429
// TestRateLimitedIsNotRemembered.
func TestRefusalsThatAreNotRemembered(t *testing.T) {
	s := start(t)
	th := newThings(s)
	card := "/cards/" + th.card
	key := func(k string) []string { return []string{"Idempotency-Key", k} }

	s.Patch(card, `{"holder_name":""}`, key("400")...).Want(400, "validation_failed").First()
	s.Patch(card, `{"holder_name":"Ada"}`, key("400")...).Want(200).First()

	// Here the operation itself refuses, since the key is restricted to the first location.
	k := s.With(s.RestrictedAPIKey)
	k.Post("/locations/"+s.LocationIDs[1]+"/disable", nil, key("403")...).Want(403, "unauthorized").First()
	k.Post("/locations/"+s.LocationIDs[0]+"/disable", nil, key("403")...).Want(200).First()
	k.Post("/locations/"+s.LocationIDs[0]+"/enable", nil).Want(200)

	s.Patch(card, strings.Repeat(" ", 1<<20+1), key("413")...).Want(413, "bad_request").First()
	s.Patch(card, `{"holder_name":"Bea"}`, key("413")...).Want(200).First()

	h := http.Header{"Authorization": {"Bearer " + s.Key}, "Content-Type": {"text/plain"}, "Idempotency-Key": {"415"}}
	s.Fetch("PATCH", s.URL+card, []byte(`{"holder_name":"Cleo"}`), h).Want(415, "bad_request").First()
	s.Patch(card, `{"holder_name":"Cleo"}`, key("415")...).Want(200).First()

	// A 400 by the operation is not remembered either.
	bare := s.Post("/programs/"+th.program+"/cards", nil).NewID()
	s.Post("/cards/"+bare+"/install-link", `{"send_email":true}`, key("mail")...).Want(400, "validation_failed").First()
	s.Patch("/cards/"+bare, `{"holder_email":"ada@example.com"}`).Want(200)
	s.Post("/cards/"+bare+"/install-link", `{"send_email":true}`, key("mail")...).Want(200).First()
}

// TestReplaysWhatIsRefusedNow checks that an answer is replayed although the operation would refuse the call now, its
// fields are no longer valid, or both.
func TestReplaysWhatIsRefusedNow(t *testing.T) {
	s := start(t, servertest.Frozen)
	cards := "/programs/" + newThings(s).program + "/cards"
	taken, expiring := `{"external_ref":"m-1"}`, `{"external_ref":"m-2","expires_at":"`+soon+`"}`
	issue := func(body, key string) *servertest.Reply { return s.Post(cards, body, "Idempotency-Key", key) }
	first := issue(taken, "taken").Want(201).First()
	second := issue(expiring, "expiring").Want(201).First()
	issue(taken, "taken").Want(201).Replays(first)
	s.Advance("4h")
	before := s.Count("/cards")
	issue(expiring, "new").Want(400, "validation_failed").First()
	issue(expiring, "expiring").Want(201).Replays(second)
	s.Control("PATCH", "/shops/"+s.ShopID, fields{"max_cards": 1})
	issue(`{}`, "full").Want(422, "unprocessable_entity").First()
	issue(expiring, "expiring").Want(201).Replays(second)
	issue(taken, "taken").Want(201).Replays(first)
	if after := s.Count("/cards"); after != before {
		t.Errorf("%d cards, were %d", after, before)
	}
	s.Advance("24h") // after which answers are forgotten
	issue(taken, "taken").Want(422, "unprocessable_entity").First()
}

// TestIdempotencyScope checks that an API key shares its idempotency keys with
// its successors only.
func TestIdempotencyScope(t *testing.T) {
	s := start(t, manyKeys)
	path := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	old, id := s.NewKey(fields{})
	first := old.Post(path, nil, "Idempotency-Key", "k").Want(201).First()
	stranger, _ := s.NewKey(fields{})
	stranger.Post(path, `{"holder_name":"Ada"}`, "Idempotency-Key", "k").Want(201).First()

	second := s.Control("POST", "/keys/"+id+"/rotate", nil)
	next := s.With(second.Str("key"))
	next.Post(path, nil, "Idempotency-Key", "k").Want(201).Replays(first)
	next.Post(path, `{"holder_name":"Ada"}`, "Idempotency-Key", "k").Want(409, "idempotency_conflict")
	made := next.Post(path, nil, "Idempotency-Key", "k2").Want(201).First()
	old.Post(path, nil, "Idempotency-Key", "k2").Want(201).Replays(made)
	third := s.Control("POST", "/keys/"+second.Str("id")+"/rotate", nil)
	s.With(third.Str("key")).Post(path, nil, "Idempotency-Key", "k").Want(201).Replays(first)
}

// TestConcurrentDuplicates sends thirty requests with the same idempotency key at the same time. It
// checks that one has an effect, and that the others are replays or, with different bodies, conflicts.
func TestConcurrentDuplicates(t *testing.T) {
	s := start(t)
	path := "/programs/" + s.ProgramIDs["private"] + "/cards"
	for _, different := range []bool{false, true} {
		before := s.Count("/cards")
		answers := servertest.Simultaneously(30, func(i int) *servertest.Reply {
			body := fields{"holder_name": "Ada"}
			if different {
				body["holder_name"] = fmt.Sprint("Ada ", i)
			}
			return s.Post(path, body, "Idempotency-Key", fmt.Sprint(different))
		})
		want := map[string]int{"201": 30}
		if different {
			want = map[string]int{"201": 1, "409 idempotency_conflict": 29}
		}
		if got := servertest.Outcomes(answers); !maps.Equal(got, want) {
			t.Errorf("different bodies %v: %v, want %v", different, got, want)
		}
		made, bodies := 0, map[string]bool{}
		for _, r := range answers {
			if r.Status == 201 {
				bodies[string(r.Body)] = true
				if r.Header.Get("Idempotent-Replayed") == "" {
					made++
				}
			}
		}
		if made != 1 || len(bodies) != 1 {
			t.Errorf("%d are no replays, with %d different bodies", made, len(bodies))
		}
		if n := s.Count("/cards") - before; n != 1 {
			t.Errorf("%d new cards, want 1", n)
		}
	}
}

// TestEmptyPatchReplays checks that the answer to an empty PATCH is replayed after a later change.
func TestEmptyPatchReplays(t *testing.T) {
	s := start(t)
	th := newThings(s)
	for _, r := range servertest.Sample(writingRoutes()) {
		if r.Method != "PATCH" {
			continue
		}
		path := th.fill(t, r)
		first := s.Patch(path, `{}`, "Idempotency-Key", r.ID).Want(200).First()
		if b, ok := sampleBodies[r.ID]; ok {
			s.Patch(path, b).Want(200)
		}
		s.Patch(path, `{}`, "Idempotency-Key", r.ID).Want(200).Replays(first) // the answer from before the change
	}
}
