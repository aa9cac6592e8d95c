package dev_test

import (
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
)

const repeated, tooSoon = "repeated_without_idempotency_key", "retried_before_retry_after"

func TestHintRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, bob := fields{"holder_name": "Ada"}, fields{"holder_name": "Bob"}
	step := func(what, want string, got *reply) {
		t.Helper()
		if codes := r.codes(); codes != want {
			t.Errorf("%s (%d): hints %q, want %q", what, got.status, codes, want)
		}
	}
	step("the first", "", r.rest("POST", r.cards(), ada))
	step("the second", repeated, r.rest("POST", r.cards(), ada))
	step("another body", "", r.rest("POST", r.cards(), bob))
	step("another path", "", r.rest("POST", r.cards()+"?a=b", ada))
	step("another caller", "", r.with(r.RestrictedAPIKey).rest("POST", r.cards(), ada))
	step("with a key", "", r.rest("POST", r.cards(), ada, "Idempotency-Key", "k"))
	step("no POST", "", r.rest("GET", "/me", nil))
	step("no POST again", "", r.rest("GET", "/me", nil))
	r.advance(10 * time.Minute)
	step("ten minutes later", repeated, r.rest("POST", r.cards(), ada))
	r.advance(10*time.Minute + time.Millisecond)
	step("later than that", "", r.rest("POST", r.cards(), ada))
	step("refused", "", r.rest("POST", r.cards(), fields{"holder": 1}).want(400))
	step("refused again", "", r.rest("POST", r.cards(), fields{"holder": 1}).want(400))

	r.fault(fields{"status": 0, "method": "POST"})
	eve := fields{"holder_name": "Eve"}
	step("cut", "", r.rest("POST", r.cards(), eve))
	step("retried after the cut", repeated, r.rest("POST", r.cards(), eve))
	listed := r.journal("?limit=1&kind=till").Hints
	if len(listed) != 3 || listed[2].Seq != r.last().Seq || listed[2].Kind != "rest" || listed[2].DeliveryID != nil || listed[2].Message != r.last().Hints[0].Message {
		t.Errorf("%+v", listed)
	}
	r.control("DELETE", "/requests", nil).want(204)
	step("after a deletion", "", r.rest("POST", r.cards(), eve))
	if n := len(r.journal("").Hints); n != 0 {
		t.Errorf("%d hints", n)
	}
}

// with is a client of the same server with another key.
func (r *rig) with(key string) *rig {
	c, ready := *r, *r.Ready
	ready.APIKey = key
	c.Ready = &ready
	return &c
}

func TestHintTooSoon(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *app.Config) { c.Limits.APIKeyRateLimitPerMinute = new(1) })
	step := func(what, want string, status int, got *reply) {
		t.Helper()
		got.want(status)
		if codes := r.codes(); codes != want {
			t.Errorf("%s: hints %q, want %q", what, codes, want)
		}
	}
	other := r.with(r.RestrictedAPIKey)
	step("the first", "", 200, r.rest("GET", "/me", nil))
	step("the second", "", 429, r.rest("GET", "/cards", nil))
	step("anywhere on the face", tooSoon, 429, r.rest("GET", "/me", nil))
	step("the other face", "", 200, r.till("GET", "/me", nil))
	step("another caller", "", 200, other.rest("GET", "/me", nil))
	r.advance(59 * time.Second)
	step("a second too soon", tooSoon, 429, r.rest("GET", "/me", nil))
	r.advance(time.Second)
	step("in time", "", 200, r.rest("GET", "/me", nil))

	step503 := func(f fields) {
		t.Helper()
		f["method"] = "GET"
		r.fault(f)
		status := f["status"].(int)
		step("a fault", "", status, r.till("GET", "/me", nil))
		step("elsewhere", "", 404, r.till("GET", "/cards/x", nil))
		step("there again", tooSoon, 200, r.till("GET", "/me", nil))
		r.advance(5 * time.Second)
		step("there in time", "", 200, r.till("GET", "/me", nil))
	}
	step503(fields{"status": 503, "headers": fields{"Retry-After": "5"}})
	step503(fields{"status": 500, "headers": fields{"Retry-After": "Sun, 01 Mar 2026 09:01:10 GMT"}}) // 5 s from now
	r.fault(fields{"status": 500})
	step("no Retry-After", "", 500, r.till("GET", "/me", nil))
	step("there again", "", 200, r.till("GET", "/me", nil))
	r.fault(fields{"status": 429, "headers": fields{"Retry-After": "99999999999999999999"}})
	step("no number", "", 429, r.till("GET", "/me", nil))
	step("there again", "", 200, r.till("GET", "/me", nil))
}

func TestDeliveriesInTheJournal(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *app.Config) { c.Limits.WebhookDeliveryTimeoutMS = 1000 })
	to := r.receiver(fields{"delay_ms": 60000})
	hook := r.hook(to.URL+"?token=hidden", "card.added")
	r.rest("POST", r.cards(), fields{}).want(201)
	r.settle()
	r.control("PUT", "/receiver/"+to.ID, fields{"status": 500}).want(200)
	r.advance(6 * time.Second)
	r.control("PUT", "/receiver/"+to.ID, fields{}).want(200)
	r.advance(11 * time.Second)

	j := r.journal("?kind=delivery")
	if len(j.Data) != 3 || len(j.Hints) != 1 || j.Hints[0].Code != "webhook_timed_out" || j.Hints[0].Seq != j.Data[0].Seq || *j.Hints[0].DeliveryID != j.Data[0].DeliveryID {
		t.Fatalf("%+v", j)
	}
	for i, e := range j.Data {
		if e.Kind != "delivery" || e.WebhookID != hook.ID || e.URL != to.URL+"?***" || e.Event != "card.added" || e.Attempt != i+1 || e.EventID != j.Data[0].EventID || e.DeliveryID != j.Data[0].DeliveryID {
			t.Errorf("attempt %d: %+v", i+1, e)
		}
		if last := i == 2; e.Success != last || (e.Error == nil) != last || (e.NextAttemptAt == nil) != last {
			t.Errorf("attempt %d: %+v", i+1, e)
		}
	}
	first := j.Data[0]
	if first.Status != nil || len(first.Hints) != 1 || *first.Error != "no whole answer within 1000 ms" || first.DurationMS < 1000 || *j.Data[1].Status != 500 || *j.Data[2].Status != 200 {
		t.Errorf("%+v", j.Data)
	}
	if at, err := time.Parse(time.RFC3339, *first.NextAttemptAt); err != nil || at.Before(time.Date(2026, 3, 1, 9, 0, 5, 0, time.UTC)) || at.After(time.Date(2026, 3, 1, 9, 0, 6, 0, time.UTC)) {
		t.Errorf("the next attempt at %s", *first.NextAttemptAt)
	}
	log := into[struct{ Items []struct{ ID string } }](r.rest("GET", hook.path+"/deliveries", nil).want(200)).Items
	if len(log) != 1 || log[0].ID != first.DeliveryID {
		t.Errorf("the log has %v, the journal %s", log, first.DeliveryID)
	}
	for _, e := range r.journal("").Data {
		if e.Kind == "delivery" || strings.HasPrefix(e.Path, "/dev") {
			t.Errorf("among the requests: %+v", e)
		}
	}
	r.control("DELETE", "/requests", nil).want(204)
	if n := len(r.journal("?kind=delivery").Data); n != 0 {
		t.Errorf("%d deliveries after the deletion", n)
	}
}
