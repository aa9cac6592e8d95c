package punchtest_test

import (
	"errors"
	"testing"
	"time"

	"punchcard/server/punchtest"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	issue := func(key string) *punchtest.Response {
		return s.Do("POST", "/programs/"+s.Programs["standard"]+"/cards", s.APIKey, `{"external_ref": "`+key+`"}`, "Idempotency-Key", key)
	}
	cards := func() int {
		var page struct{ Data []punchtest.Card }
		s.Do("GET", "/cards", s.APIKey, nil).Decode(&page)
		return len(page.Data)
	}

	// A fault before the operation has no effect and leaves the key unused.
	id := s.Fault(punchtest.Fault{Method: "POST", Path: "/programs/*/cards", Status: 503, Headers: map[string]string{"Retry-After": "7"}})
	err := refusal(t, issue("one").Want(503).Err())
	if err.Code != "internal_error" || err.Header.Get("Retry-After") != "7" || cards() != 0 {
		t.Errorf("the fault is %+v; there are %d cards", err, cards())
	}
	if r := s.Requests()[0]; r.Fault != id || r.Response.Status != 503 || r.RequestID != err.RequestID || r.Sent.Headers["Idempotency-Key"] != "one" {
		t.Errorf("the journal has %+v", r)
	}
	issue("one").Want(201)

	// After a fault behind the operation the card exists, and a retry gets the lost answer.
	s.Fault(punchtest.Fault{Path: "/api/public/v1/**", Status: 502, Code: "bad_gateway", When: punchtest.After, Count: 2})
	for range 2 {
		if err := refusal(t, issue("two").Want(502).Err()); err.Code != "bad_gateway" {
			t.Errorf("the error is %v", err)
		}
	}
	if again := issue("two").Want(201); again.Header.Get("Idempotent-Replayed") != "true" || cards() != 2 {
		t.Errorf("the retry was not a replay; there are %d cards", cards())
	}

	// Connections are cut, also of the till API.
	s.Fault(punchtest.Fault{Status: punchtest.Cut, When: punchtest.After})
	var refused *punchtest.Error
	if cut := issue("three"); cut.Status != 0 || cut.Err() == nil || errors.As(cut.Err(), &refused) {
		t.Errorf("a connection that is cut: %d, %v", cut.Status, cut.Err())
	}
	if n := cards(); n != 3 {
		t.Errorf("there are %d cards, want 3", n)
	}
	s.Fault(punchtest.Fault{Path: "/cards/*/stamps", Status: punchtest.Cut})
	card := s.Issue(s.Programs["standard"], punchtest.CardFields{}).ID
	if _, err := s.Till(s.Locations[0]).Try().Stamp(card, 1); err == nil || s.Card(card).StampsCount != 0 {
		t.Errorf("the stamp gave %v; there are %d", err, s.Card(card).StampsCount)
	}

	// Delayed requests are served.
	s.Fault(punchtest.Fault{Method: "GET", Path: "/me", Delay: 30 * time.Millisecond})
	start := time.Now()
	s.Do("GET", "/me", s.APIKey, nil).Want(200)
	if took := time.Since(start); took < 30*time.Millisecond {
		t.Errorf("the delay took %v", took)
	}
	s.Fault(punchtest.Fault{Status: 500, Count: 100})
	s.ClearFaults()
	s.ClearRequests()
	s.Do("GET", "/me", s.APIKey, nil).Want(200)
	if all := s.Requests(); len(all) != 1 {
		t.Errorf("%d requests, want 1", len(all))
	}
}

func TestFaultWithoutEffect(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	r.run(func(t testing.TB) { punchtest.Start(t).Fault(punchtest.Fault{Path: "/cards/*"}) })
	if !r.failed {
		t.Error("a fault without an effect was accepted")
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 28, 22, 0, 0, 123456789, time.FixedZone("", 3600))
	s := punchtest.Start(t, punchtest.Clock(at))
	if now := s.Clock.Now(); !now.Equal(at.Truncate(time.Millisecond)) || now.Location() != time.UTC {
		t.Errorf("the clock shows %v", now)
	}
	card := s.Issue(s.Programs["standard"], punchtest.CardFields{ExpiresAt: at.Add(time.Hour)})
	key := s.NewKey(punchtest.KeyFields{ExpiresAt: at.Add(2 * time.Hour)})
	s.Clock.Advance(time.Hour - time.Millisecond)
	if got := s.Card(card.ID); got.Status != "invited" || !got.ExpiresAt.Equal(card.ExpiresAt) {
		t.Errorf("before it expires: %+v", got)
	}
	s.Clock.Advance(time.Millisecond)
	if got := s.Card(card.ID); got.Status != "expired" {
		t.Errorf("when it expires: %+v", got)
	}
	s.Do("GET", "/me", key, nil).Want(200)
	s.Clock.Set(at.Add(2 * time.Hour))
	s.Do("GET", "/me", key, nil).Want(401)

	r := &recorder{TB: t}
	r.run(func(t testing.TB) { s.For(t).Clock.Set(at) })
	if !r.failed {
		t.Error("the clock accepted an earlier time")
	}

	running := punchtest.Start(t)
	before := running.Clock.Now()
	running.Clock.Advance(time.Hour)
	if now := running.Clock.Now(); now.Sub(before) < time.Hour || now.Sub(before) > 2*time.Hour {
		t.Errorf("the clock changed from %v to %v", before, now)
	}
}
