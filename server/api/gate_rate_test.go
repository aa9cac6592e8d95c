package api_test

import (
	"fmt"
	"testing"

	"punchcard/server/servertest"
)

// rateHeaders returns the headers about the rate limit: limit, remaining, reset and Retry-After.
func rateHeaders(r *servertest.Reply) string {
	h := r.Header
	return fmt.Sprintf("%s %s %s %s", h.Get("RateLimit-Limit"), h.Get("RateLimit-Remaining"), h.Get("RateLimit-Reset"),
		h.Get("Retry-After"))
}

// TestRateLimit checks a limit of four requests a minute, which allows one more every 15 seconds. For other times see
// TestLimiterIsExact in server/kernel.
func TestRateLimit(t *testing.T) {
	s := start(t, servertest.Frozen, perMinute(4))
	k, _ := s.NewKey(fields{})
	step := func(status int, want string) {
		t.Helper()
		if got := k.Get("/me").Want(status); rateHeaders(got) != want {
			t.Errorf("rate limit %q, want %q", rateHeaders(got), want)
		}
	}

	step(200, "4 3 15 ")
	step(200, "4 2 30 ")
	step(200, "4 1 45 ")
	step(200, "4 0 60 ")
	step(429, "4 0 60 15")
	step(429, "4 0 60 15") // a refusal does not count
	s.Advance("15s")
	step(200, "4 0 60 ")
	s.Advance("1h") // at most one minute's requests accumulate
	step(200, "4 3 15 ")

	s.Get("/me").Want(200) // another key has its own limit
	k.Get("/cards/none").Want(404)
	k.Post("/programs", `{`).Want(400)
	step(200, "4 0 60 ") // requests that are refused after this check count too
	if got := k.Get("/nothing").Want(404); rateHeaders(got) != "   " {
		t.Errorf("rate limit of an unknown path %q", rateHeaders(got))
	}
	if got := k.Call("PUT", "/cards", nil).Want(405); rateHeaders(got) != "   " {
		t.Errorf("rate limit of a wrong method %q", rateHeaders(got))
	}
}

// TestRateLimitedIsNotRemembered checks that a request that was answered 429 runs when it is repeated
// with its idempotency key after the wait, and that a replay counts as a request.
func TestRateLimitedIsNotRemembered(t *testing.T) {
	s := start(t, servertest.Frozen, perMinute(2))
	k, _ := s.NewKey(fields{})
	path := "/programs/" + s.ProgramIDs["standard"] + "/cards"
	k.Get("/me")
	k.Get("/me")
	k.Post(path, nil, "Idempotency-Key", "k").Want(429, "rate_limited")
	s.Advance("30s")
	first := k.Post(path, nil, "Idempotency-Key", "k").Want(201)
	k.Post(path, nil, "Idempotency-Key", "k").Want(429, "rate_limited")
	s.Advance("30s")
	again := k.Post(path, nil, "Idempotency-Key", "k").Want(201)
	if first.Header.Get("Idempotent-Replayed") != "" || again.Header.Get("Idempotent-Replayed") != "true" ||
		string(first.Body) != string(again.Body) {
		t.Errorf("first %v\nagain %v", first.Header, again.Header)
	}
	if rateHeaders(again) != "2 0 60 " {
		t.Errorf("rate limit of a replay %q", rateHeaders(again))
	}
}

// TestRateLimitWithStaleIdentity checks that a request whose cached identity is stale is counted
// once.
func TestRateLimitWithStaleIdentity(t *testing.T) {
	s := start(t, servertest.Frozen, perMinute(3))
	k, _ := s.NewKey(fields{})
	for i := range 6 {
		s.Control("POST", "/locations", nil) // changes the epoch
		want := []int{200, 200, 200, 429, 429, 429}[i]
		if got := k.Get("/me"); got.Status != want || want == 200 && rateHeaders(got) != fmt.Sprintf("3 %d %d ", 2-i, 20*(i+1)) {
			t.Errorf("request %d: %d, want %d; rate limit %q", i+1, got.Status, want, rateHeaders(got))
		}
	}
}
