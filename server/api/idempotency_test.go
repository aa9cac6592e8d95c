package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/app"
)

const replayed = "Idempotent-Replayed"

// fresh checks that an answer is no replay, again that it is one.
func (r *reply) fresh() *reply {
	r.t.Helper()
	if v := r.header.Values(replayed); v != nil {
		r.t.Fatalf("%s %q on a first answer: %s", replayed, v, r.body)
	}
	return r
}

func (r *reply) again(first *reply) *reply {
	r.t.Helper()
	if v := r.header.Values(replayed); len(v) != 1 || v[0] != "true" {
		r.t.Fatalf("%s %q on a replay: %d %s", replayed, v, r.status, r.body)
	}
	if a, b := first.anonymous(), r.anonymous(); a != b {
		r.t.Fatalf("the replay differs:\n%s\n%s", a, b)
	}
	if r.header.Get("X-Request-Id") == first.header.Get("X-Request-Id") {
		r.t.Fatal("a replay has a request id of its own")
	}
	return r
}

func (s *server) count(path string) int {
	s.t.Helper()
	data, _ := s.get(path + "?limit=100").want(200).at("data").([]any)
	return len(data)
}

// TestEveryWriteReplays: each operation's success, byte for byte, once.
func TestEveryWriteReplays(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, r := range writingRoutes() {
		th := s.things()
		s.prepare(r, th)
		first := s.do(r, th, "Idempotency-Key", r.ID).want(r.Status).fresh()
		world := s.world(th.program)
		again := s.do(r, th, "Idempotency-Key", r.ID).want(r.Status).again(first)
		if string(first.body) != string(again.body) {
			t.Errorf("%s: not the same bytes", r.ID)
		}
		if s.world(th.program) != world {
			t.Errorf("%s: the replay changed something", r.ID)
		}
		if strings.Contains(string(first.body), "install_url") != strings.Contains(string(again.body), "<svg") {
			t.Errorf("%s: the picture is missing: %s", r.ID, again.body)
		}
		s.restore(th)
	}
}

// TestFingerprint: method, path and body bytes make the request.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := s.things()
	other := s.post("/programs/"+th.program+"/cards", nil).want(201).str("id")
	path := "/cards/" + th.card
	send := func(method, path string, body any, headers ...string) *reply {
		return s.call(method, path, body, append(headers, "Idempotency-Key", "k")...)
	}
	first := send("PATCH", path, `{"holder_name":"Ada"}`).want(200).fresh()
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
		send(c.method, c.path, c.body).want(409, "idempotency_conflict").fresh()
	}
	send("PATCH", path, `{"holder_name":"Ada"}`).again(first) // a conflict is not remembered
	// The query and other headers are no part of it.
	send("PATCH", path+"?x=1", `{"holder_name":"Ada"}`, "X-Anything", "1").again(first)
	// Reads do not take the header.
	send("GET", path, nil).want(200).fresh()
	s.get("/cards", "Idempotency-Key", "").want(200).fresh()
	s.get("/cards", "Idempotency-Key", strings.Repeat("x", 300)).want(200).fresh()

	// A body that is not sent equals none that is empty.
	empty := s.post(path+"/install-link", nil, "Idempotency-Key", "e").want(200)
	s.post(path+"/install-link", "", "Idempotency-Key", "e").want(200).again(empty)
	// DELETE ignores its body, so that it cannot conflict by it.
	prize := "/programs/" + th.program + "/prizes/" + th.prize
	gone := s.call("DELETE", prize, `{"a":1}`, "Idempotency-Key", "d").want(204).fresh()
	s.call("DELETE", prize, nil, "Idempotency-Key", "d").want(204).again(gone)
	s.call("DELETE", prize, nil).want(404, "not_found")
}

// TestRefusalsThatAreRemembered: what the operation itself gave stays its
// answer, even once it would succeed.
func TestRefusalsThatAreRemembered(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := s.things()
	cards := "/programs/" + th.program + "/cards"
	s.post(cards, `{"external_ref":"m-1"}`).want(201)

	missing := s.post("/programs/none/publish", nil, "Idempotency-Key", "404").want(404, "not_found").fresh()
	s.post("/programs/none/publish", nil, "Idempotency-Key", "404").want(404, "not_found").again(missing)

	double := s.post(cards, `{"external_ref":"m-1"}`, "Idempotency-Key", "409").want(409, "conflict").fresh()
	s.post("/programs/"+th.program+"/unpublish", nil).want(200)
	unpublished := s.post(cards, `{}`, "Idempotency-Key", "422").want(422, "unprocessable_entity").fresh()
	s.post(cards, `{"external_ref":"m-1"}`, "Idempotency-Key", "409").want(409, "conflict").again(double)
	s.post("/programs/"+th.program+"/publish", nil).want(200)

	before := s.count("/cards")
	again := s.post(cards, `{}`, "Idempotency-Key", "422").want(422, "unprocessable_entity").again(unpublished)
	if again.str("error.request_id") != again.header.Get("X-Request-Id") {
		t.Errorf("request_id %q, X-Request-Id %q", again.str("error.request_id"), again.header.Get("X-Request-Id"))
	}
	if after := s.count("/cards"); after != before {
		t.Errorf("%d cards, were %d", after, before)
	}
}

// TestRefusalsThatAreNotRemembered: what the gate refuses leaves the key free.
// TestRateLimitedIsNotRemembered has 429.
func TestRefusalsThatAreNotRemembered(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := s.things()
	card := "/cards/" + th.card
	set := func(fields map[string]any) { s.control("PATCH", "/shops/"+s.ShopID, fields) }
	key := func(k string) []string { return []string{"Idempotency-Key", k} }
	post := func(k string) *reply { return s.post(card+"/install-link", nil, key(k)...) }

	s.patch(card, `{"holder_name":""}`, key("400")...).want(400, "validation_failed").fresh()
	s.patch(card, `{"holder_name":"Ada"}`, key("400")...).want(200).fresh()

	s.with("tsk_test_"+strings.Repeat("0", 43)).post(card+"/install-link", nil, key("401")...).want(401)
	set(map[string]any{"api_addon": false})
	post("401").want(401, "business_api_required").fresh()
	set(map[string]any{"api_addon": true, "subscription_state": "cancelled"})
	post("401").want(402, "subscription_suspended").fresh()
	set(map[string]any{"subscription_state": "active"})
	first := post("401").want(200).fresh()
	post("401").again(first)

	// The same family without, then with: 403 by the operation itself.
	k := s.with(s.RestrictedAPIKey)
	k.post("/locations/"+s.LocationIDs[1]+"/disable", nil, key("403")...).want(403, "unauthorized").fresh()
	k.post("/locations/"+s.LocationIDs[0]+"/disable", nil, key("403")...).want(200).fresh()
	k.post("/locations/"+s.LocationIDs[0]+"/enable", nil).want(200)

	s.patch(card, strings.Repeat(" ", 1<<20+1), key("413")...).want(413, "bad_request").fresh()
	s.patch(card, `{"holder_name":"Bea"}`, key("413")...).want(200).fresh()

	h := http.Header{"Authorization": {"Bearer " + s.key}, "Content-Type": {"text/plain"}, "Idempotency-Key": {"415"}}
	s.fetch("PATCH", s.base+card, []byte(`{"holder_name":"Cleo"}`), h).want(415, "bad_request").fresh()
	s.patch(card, `{"holder_name":"Cleo"}`, key("415")...).want(200).fresh()

	// 400s that the operation finds are none of its answers either.
	bare := s.post("/programs/"+th.program+"/cards", nil).want(201).str("id")
	s.post("/cards/"+bare+"/install-link", `{"send_email":true}`, key("mail")...).want(400, "validation_failed").fresh()
	s.patch("/cards/"+bare, `{"holder_email":"ada@example.com"}`).want(200)
	s.post("/cards/"+bare+"/install-link", `{"send_email":true}`, key("mail")...).want(200).fresh()
}

func TestIdempotencyKeyForms(t *testing.T) {
	t.Parallel()
	s := start(t)
	path := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	for _, c := range []struct {
		name, code string
		values     []string
	}{
		{"empty", "too_short", []string{""}},
		{"white space only", "too_short", []string{"  "}},
		{"256 characters", "too_long", []string{strings.Repeat("k", 256)}},
		{"256 characters that are not ASCII", "too_long", []string{strings.Repeat("é", 256)}},
		{"sent twice", "invalid_value", []string{"k", "k"}},
		{"sent twice, once empty", "invalid_value", []string{"", "k"}},
	} {
		h := []string{}
		for _, v := range c.values {
			h = append(h, "Idempotency-Key", v)
		}
		for _, r := range writingRoutes() {
			got := s.call(r.Method, nowhere.fill(t, r), nil, h...)
			if got.want(400, "validation_failed"); len(got.details()) != 1 || got.details()[0] != "Idempotency-Key "+c.code {
				t.Errorf("%s, %s: %q, want %s", r.ID, c.name, got.details(), c.code)
			}
		}
	}
	for _, key := range []string{"k", "K", strings.Repeat("k", 255), strings.Repeat("é", 255), "日本", "a b\tc", `"quoted"`, "%00", "' OR 1=1 --", "\xff\xfe"} {
		first := s.post(path, nil, "Idempotency-Key", key).want(201).fresh()
		s.post(path, nil, "idempotency-key", key).want(201).again(first)
	}
}

// TestIdempotencyScope: an API key and its successors share one room, all
// other keys have their own.
func TestIdempotencyScope(t *testing.T) {
	t.Parallel()
	s := start(t, manyKeys)
	path := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	old, id := s.newKey(map[string]any{})
	first := old.post(path, nil, "Idempotency-Key", "k").want(201).fresh()
	stranger, _ := s.newKey(map[string]any{})
	stranger.post(path, `{"holder_name":"Ada"}`, "Idempotency-Key", "k").want(201).fresh()

	second := s.control("POST", "/keys/"+id+"/rotate", map[string]any{})
	next := s.with(second.str("key"))
	next.post(path, nil, "Idempotency-Key", "k").want(201).again(first)
	next.post(path, `{"holder_name":"Ada"}`, "Idempotency-Key", "k").want(409, "idempotency_conflict")
	made := next.post(path, nil, "Idempotency-Key", "k2").want(201).fresh()
	old.post(path, nil, "Idempotency-Key", "k2").want(201).again(made)
	third := s.control("POST", "/keys/"+second.str("id")+"/rotate", map[string]any{})
	s.with(third.str("key")).post(path, nil, "Idempotency-Key", "k").want(201).again(first)
}

// TestIdempotencyWindow: 24 hours from the first request, whatever replays
// there were.
func TestIdempotencyWindow(t *testing.T) {
	t.Parallel()
	// The clock is moved from here, so that nothing clears away what is over.
	clock := app.NewClock(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
	s := start(t, func(c *app.Config) { c.Dev.Clock = clock })
	path := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	post := func() *reply { t.Helper(); return s.post(path, nil, "Idempotency-Key", "k").want(201) }
	first := post().fresh()
	clock.Advance(12 * time.Hour)
	post().again(first)
	clock.Advance(12*time.Hour - time.Millisecond)
	post().again(first)
	s.post(path, `{"holder_name":"Ada"}`, "Idempotency-Key", "k").want(409, "idempotency_conflict")
	clock.Advance(time.Millisecond)
	second := s.post(path, `{"holder_name":"Ada"}`, "Idempotency-Key", "k").want(201).fresh()
	if second.str("id") == first.str("id") {
		t.Error("the same card")
	}
	clock.Advance(23 * time.Hour)
	s.post(path, `{"holder_name":"Ada"}`, "Idempotency-Key", "k").again(second)
}

// TestConcurrentDuplicates: a hundred at once make one effect.
func TestConcurrentDuplicates(t *testing.T) {
	t.Parallel()
	s := start(t)
	path := "/programs/" + s.ProgramIDs["private"] + "/cards"
	for _, different := range []bool{false, true} {
		before := s.count("/cards")
		answers := make([]*reply, 100)
		var wg sync.WaitGroup
		for i := range answers {
			body := `{"holder_name":"Ada"}`
			if different {
				body = fmt.Sprintf(`{"holder_name":"Ada %d"}`, i)
			}
			wg.Go(func() { answers[i] = s.post(path, body, "Idempotency-Key", fmt.Sprint(different)) })
		}
		wg.Wait()
		var made, replays, conflicts int
		bodies := map[string]bool{}
		for _, r := range answers {
			switch {
			case r.status == 201 && r.header.Get(replayed) == "true":
				replays++
			case r.status == 201:
				made++
			default:
				r.want(409, "idempotency_conflict").fresh()
				conflicts++
				continue
			}
			bodies[string(r.body)] = true
		}
		if different && (made != 1 || replays != 0 || conflicts != 99) || !different && (made != 1 || replays != 99 || conflicts != 0) {
			t.Errorf("different bodies %v: %d made, %d replays, %d conflicts", different, made, replays, conflicts)
		}
		if len(bodies) != 1 {
			t.Errorf("%d different answers", len(bodies))
		}
		if n := s.count("/cards") - before; n != 1 {
			t.Errorf("%d cards made", n)
		}
	}
}

// TestPatchOfNothingReplays: a no-op is an answer like any other.
func TestPatchOfNothingReplays(t *testing.T) {
	t.Parallel()
	s := start(t)
	th := s.things()
	for _, r := range writingRoutes() {
		if r.Method != "PATCH" {
			continue
		}
		path := th.fill(t, r)
		first := s.patch(path, `{}`, "Idempotency-Key", r.ID).want(200).fresh()
		if b, ok := sampleBodies[r.ID]; ok {
			s.patch(path, b).want(200)
		}
		s.patch(path, `{}`, "Idempotency-Key", r.ID).want(200).again(first) // as it was then
	}
}
