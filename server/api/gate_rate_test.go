package api_test

import (
	"fmt"
	"testing"
)

// pace is what an answer says of the rate limit: limit, remaining, reset and
// what to wait.
func (r *reply) pace() string {
	h := r.header
	return fmt.Sprintf("%s %s %s %s", h.Get("RateLimit-Limit"), h.Get("RateLimit-Remaining"), h.Get("RateLimit-Reset"), h.Get("Retry-After"))
}

// TestRateLimit: four requests a minute, so one more every 15 seconds.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	s := start(t, frozen, perMinute(4))
	k, _ := s.newKey(map[string]any{})
	step := func(status int, want string) {
		t.Helper()
		if got := k.get("/me").want(status); got.pace() != want {
			t.Errorf("pace %q, want %q", got.pace(), want)
		}
	}
	advance := func(d string) { t.Helper(); s.control("POST", "/clock", map[string]any{"advance": d}) }

	step(200, "4 3 15 ")
	step(200, "4 2 30 ")
	step(200, "4 1 45 ")
	step(200, "4 0 60 ")
	step(429, "4 0 60 15")
	step(429, "4 0 60 15") // a refusal costs nothing
	advance("14.999s")
	step(429, "4 0 46 1")
	advance("1ms")
	step(200, "4 0 60 ")
	advance("7.5s")
	step(429, "4 0 53 8")
	advance("8s") // Retry-After honoured
	step(200, "4 0 60 ")
	advance("29.5s") // 0.5 s were left over
	step(200, "4 1 45 ")
	step(200, "4 0 60 ")
	advance("1h") // it holds one minute's worth
	step(200, "4 3 15 ")

	s.get("/me").want(200) // another key has its own
	k.get("/cards/none").want(404)
	k.post("/programs", `{`).want(400)
	step(200, "4 0 60 ") // refusals after the count cost one each
	if got := k.get("/nothing").want(404); got.pace() != "   " {
		t.Errorf("pace of an unknown path %q", got.pace())
	}
	if got := k.call("PUT", "/cards", nil).want(405); got.pace() != "   " {
		t.Errorf("pace of a wrong method %q", got.pace())
	}
}

// TestRateLimitedIsNotRemembered: after the wait the same key runs for the
// first time; a replay costs a request like any other.
func TestRateLimitedIsNotRemembered(t *testing.T) {
	t.Parallel()
	s := start(t, frozen, perMinute(2))
	k, _ := s.newKey(map[string]any{})
	path := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	k.get("/me")
	k.get("/me")
	k.post(path, nil, "Idempotency-Key", "k").want(429, "rate_limited")
	s.control("POST", "/clock", map[string]any{"advance": "30s"})
	first := k.post(path, nil, "Idempotency-Key", "k").want(201)
	k.post(path, nil, "Idempotency-Key", "k").want(429, "rate_limited")
	s.control("POST", "/clock", map[string]any{"advance": "30s"})
	again := k.post(path, nil, "Idempotency-Key", "k").want(201)
	if first.header.Get("Idempotent-Replayed") != "" || again.header.Get("Idempotent-Replayed") != "true" || string(first.body) != string(again.body) {
		t.Errorf("first %v\nagain %v", first.header, again.header)
	}
	if again.pace() != "2 0 60 " {
		t.Errorf("pace of a replay %q", again.pace())
	}
}

// TestRateLimitHoldsWhileIdentitiesChange: a request that finds its key out of
// date is counted once, and a refusal stays one.
func TestRateLimitHoldsWhileIdentitiesChange(t *testing.T) {
	t.Parallel()
	s := start(t, frozen, perMinute(3))
	k, _ := s.newKey(map[string]any{})
	for i := range 6 {
		s.control("POST", "/locations", map[string]any{}) // moves the auth epoch
		want := []int{200, 200, 200, 429, 429, 429}[i]
		if got := k.get("/me"); got.status != want || want == 200 && got.pace() != fmt.Sprintf("3 %d %d ", 2-i, 20*(i+1)) {
			t.Errorf("request %d: %d, want %d; pace %q", i+1, got.status, want, got.pace())
		}
	}
}

func TestNoRateLimit(t *testing.T) {
	t.Parallel()
	s := start(t, frozen, perMinute(0))
	for range 400 {
		if got := s.get("/me").want(200); got.pace() != "2147483647 2147483647 0 " {
			t.Fatalf("pace %q", got.pace())
		}
	}
}
