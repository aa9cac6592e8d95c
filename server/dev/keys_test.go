package dev_test

import (
	"testing"

	"punchcard/server/app"
)

// TestKeyLimit checks that a key's own rate limit holds at once, for that key alone, and until
// a reset.
func TestKeyLimit(t *testing.T) {
	limit := 3
	r := start(t, func(c *app.Config) { c.Limits.APIKeyRateLimitPerMinute = &limit })
	made := r.Control("POST", "/keys", nil)
	key, path := made.Str("key"), "/keys/"+made.Str("id")
	with := r.With(key)
	with.Get("/me").Want(200)
	r.Control("PATCH", path, fields{"rate_limit_per_minute": 1}).
		Shows(fields{"id": made.Str("id"), "rate_limit_per_minute": 1})
	with.Get("/me").Want(200)
	refused := with.Get("/me").Want(429, "rate_limited")
	if h := refused.Header; h.Get("RateLimit-Limit") != "1" || h.Get("Retry-After") != "60" {
		t.Errorf("%v", h)
	}
	if h := r.Get("/me").Want(200).Header; h.Get("RateLimit-Limit") != "3" {
		t.Errorf("another key: %v", h)
	}
	r.Control("PATCH", path, fields{"rate_limit_per_minute": 0})
	for range 5 {
		with.Get("/me").Want(200)
	}
	rotated := r.Control("POST", path+"/rotate", nil)
	if h := r.With(rotated.Str("key")).Get("/me").Want(200).Header; h.Get("RateLimit-Limit") != "3" {
		t.Errorf("the successor: %v", h)
	}

	callControl(r, "PATCH", path, nil).Invalid("rate_limit_per_minute required")
	for limit, code := range map[any]string{-1: "too_small", 1_000_001: "too_large", "1": "invalid_type"} {
		callControl(r, "PATCH", path, fields{"rate_limit_per_minute": limit}).Invalid("rate_limit_per_minute " + code)
	}
	callControl(r, "PATCH", path, fields{"rate_limit_per_minute": 1, "name": "x"}).Invalid("name unknown_field")
	for _, id := range []string{"key_00000000000000000000000000", r.ShopID, "x"} {
		callControl(r, "PATCH", "/keys/"+id, fields{"rate_limit_per_minute": 1}).Want(404, "not_found")
	}
	r.Control("POST", "/reset", nil)
	if h := r.Get("/me").Want(200).Header; h.Get("RateLimit-Limit") != "3" {
		t.Errorf("after a reset: %v", h)
	}
}

// TestResetEndsLockOut checks that a reset also ends the lock-out of a PIN, which is only in memory.
func TestResetEndsLockOut(t *testing.T) {
	s := start(t)
	for range 2 {
		till := s.NewDevice(s.Control("POST", "/locations", fields{"staff_pin": "2468"}).Str("id"))
		for range 5 {
			till.Post("/cards/none/uses", nil, "X-Staff-Pin", "0000").Want(401, "invalid_credentials")
		}
		till.Post("/cards/none/uses", nil, "X-Staff-Pin", "0000").Want(429, "rate_limited")
		s.Control("POST", "/reset", nil)
	}
}
