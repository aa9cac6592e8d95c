package dev_test

import (
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

const repeated, tooSoon = "repeated_without_idempotency_key", "retried_before_retry_after"

// TestHintRepeated checks which POST requests get the hint that they repeat an earlier one without an
// idempotency key.
func TestHintRepeated(t *testing.T) {
	r := start(t)
	ada, bob := fields{"holder_name": "Ada"}, fields{"holder_name": "Bob"}
	step := func(what, want string, got *reply) {
		t.Helper()
		if codes := hintCodes(r); codes != want {
			t.Errorf("%s (%d): hints %q, want %q", what, got.Status, codes, want)
		}
	}
	step("the first", "", r.Post(cardsPath(r), ada))
	step("the second", repeated, r.Post(cardsPath(r), ada))
	step("another body", "", r.Post(cardsPath(r), bob))
	step("another path", "", r.Post(cardsPath(r)+"?a=b", ada))
	step("another caller", "", r.With(r.RestrictedAPIKey).Post(cardsPath(r), ada))
	step("with a key", "", callREST(r, "POST", cardsPath(r), ada, "Idempotency-Key", "k"))
	step("no POST", "", r.Get("/me"))
	step("no POST again", "", r.Get("/me"))
	advance(r, 10*time.Minute)
	step("ten minutes later", repeated, r.Post(cardsPath(r), ada))
	advance(r, 10*time.Minute+time.Millisecond)
	step("later than that", "", r.Post(cardsPath(r), ada))
	step("refused", "", r.Post(cardsPath(r), fields{"holder": 1}).Want(400))
	step("refused again", "", r.Post(cardsPath(r), fields{"holder": 1}).Want(400))

	newFault(r, fields{"status": 0, "method": "POST"})
	eve := fields{"holder_name": "Eve"}
	step("cut", "", callREST(r, "POST", cardsPath(r), eve))
	step("retried after the cut", repeated, r.Post(cardsPath(r), eve))
	listed := readJournal(r, "?limit=1&kind=till").Hints
	if len(listed) != 3 || listed[2].Seq != lastEntry(r).Seq || listed[2].Kind != "rest" || listed[2].DeliveryID != nil ||
		listed[2].Message != lastEntry(r).Hints[0].Message {
		t.Errorf("%+v", listed)
	}
	stamps := "/cards/" + r.Issue(r.ProgramIDs["standard"], nil) + "/stamps"
	once := fields{"client_reference": "0b6f7c0e-5d0a-4d51-9d4b-3f0f5a2f7c11"}
	step("at a till", "", callTill(r, "POST", stamps, once).Want(201))
	step("again with its reference", "", callTill(r, "POST", stamps, once).Want(201))
	r.Control("DELETE", "/requests", nil)
	step("after a deletion", "", r.Post(cardsPath(r), eve))
	if n := len(readJournal(r, "").Hints); n != 0 {
		t.Errorf("%d hints", n)
	}
}

// TestHintTooSoon checks which requests get the hint that they come before the end of a Retry-After:
// of a rate limit, for a caller on a face, and of a fault, for a path.
func TestHintTooSoon(t *testing.T) {
	r := start(t, func(c *app.Config) { c.Limits.APIKeyRateLimitPerMinute = new(1) })
	step := func(what, want string, status int, got *reply) {
		t.Helper()
		got.Want(status)
		if codes := hintCodes(r); codes != want {
			t.Errorf("%s: hints %q, want %q", what, codes, want)
		}
	}
	other := r.With(r.RestrictedAPIKey)
	step("the first", "", 200, r.Get("/me"))
	step("the second", "", 429, r.Get("/cards"))
	step("anywhere on the face", tooSoon, 429, r.Get("/me"))
	step("the other face", "", 200, callTill(r, "GET", "/me", nil))
	step("another caller", "", 200, other.Get("/me"))
	advance(r, 59*time.Second)
	step("a second too soon", tooSoon, 429, r.Get("/me"))
	advance(r, time.Second)
	step("in time", "", 200, r.Get("/me"))

	// stepFault makes a fault with a Retry-After of 5 s.
	stepFault := func(f fields) {
		t.Helper()
		f["method"] = "GET"
		newFault(r, f)
		status := f["status"].(int)
		step("a fault", "", status, callTill(r, "GET", "/me", nil))
		step("elsewhere", "", 404, callTill(r, "GET", "/cards/x", nil))
		step("there again", tooSoon, 200, callTill(r, "GET", "/me", nil))
		advance(r, 5*time.Second)
		step("there in time", "", 200, callTill(r, "GET", "/me", nil))
	}
	stepFault(fields{"status": 503, "headers": fields{"Retry-After": "5"}})
	stepFault(fields{"status": 500, "headers": fields{"Retry-After": "Sun, 01 Mar 2026 09:01:10 GMT"}}) // 5 s from now
	newFault(r, fields{"status": 500})
	step("no Retry-After", "", 500, callTill(r, "GET", "/me", nil))
	step("there again", "", 200, callTill(r, "GET", "/me", nil))
	newFault(r, fields{"status": 429, "headers": fields{"Retry-After": "99999999999999999999"}})
	step("no number", "", 429, callTill(r, "GET", "/me", nil))
	step("there again", "", 200, callTill(r, "GET", "/me", nil))
}

func TestDeliveriesInTheJournal(t *testing.T) {
	r := start(t, func(c *app.Config) { c.Limits.WebhookDeliveryTimeoutMS = 1000 })
	to := newReceiver(r, fields{"delay_ms": 60000})
	hook := newHook(r, to.URL+"?token=hidden", "card.added")
	r.Post(cardsPath(r), fields{}).Want(201)
	settle(r)
	r.Control("PUT", "/receiver/"+to.ID, fields{"status": 500})
	advance(r, 6*time.Second)
	r.Control("PUT", "/receiver/"+to.ID, fields{})
	advance(r, 11*time.Second)

	j := readJournal(r, "?kind=delivery")
	if len(j.Data) != 3 || len(j.Hints) != 1 || j.Hints[0].Code != "webhook_timed_out" || j.Hints[0].Seq != j.Data[0].Seq ||
		*j.Hints[0].DeliveryID != j.Data[0].DeliveryID {
		t.Fatalf("%+v", j)
	}
	for i, e := range j.Data {
		if e.Kind != "delivery" || e.WebhookID != hook.ID || e.URL != to.URL+"?***" || e.Event != "card.added" || e.Attempt != i+1 ||
			e.EventID != j.Data[0].EventID ||
			e.DeliveryID != j.Data[0].DeliveryID {
			t.Errorf("attempt %d: %+v", i+1, e)
		}
		if last := i == 2; e.Success != last || (e.Error == nil) != last || (e.NextAttemptAt == nil) != last {
			t.Errorf("attempt %d: %+v", i+1, e)
		}
	}
	first := j.Data[0]
	if first.Status != nil || len(first.Hints) != 1 || *first.Error != "the receiver did not answer within 1 s" ||
		first.DurationMS < 1000 ||
		*j.Data[1].Status != 500 ||
		*j.Data[2].Status != 200 {
		t.Errorf("%+v", j.Data)
	}
	if at, err := time.Parse(time.RFC3339, *first.NextAttemptAt); err != nil || at.Before(time.Date(2026, 3, 1, 9, 0, 5, 0, time.UTC)) ||
		at.After(time.Date(2026, 3, 1, 9, 0, 6, 0, time.UTC)) {
		t.Errorf("the next attempt at %s", *first.NextAttemptAt)
	}
	log := servertest.Decode[struct{ Items []struct{ ID string } }](r.Get(hook.path + "/deliveries").Want(200)).Items
	if len(log) != 1 || log[0].ID != first.DeliveryID {
		t.Errorf("the log has %v, the journal has %s", log, first.DeliveryID)
	}
	for _, e := range readJournal(r, "").Data {
		if e.Kind == "delivery" || strings.HasPrefix(e.Path, "/dev") {
			t.Errorf("among the requests: %+v", e)
		}
	}
	r.Control("DELETE", "/requests", nil)
	wantEntries(r, "?kind=delivery", 0)
}
