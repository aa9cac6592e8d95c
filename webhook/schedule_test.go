package webhook_test

import (
	"slices"
	"testing"
	"time"

	"punchcard/server/app"
)

// checkWait checks that a wait is as long as least, or up to a tenth longer.
func checkWait(t *testing.T, wait, min time.Duration) {
	t.Helper()
	if wait < min || wait > min+min/10 {
		t.Errorf("the next attempt is due after %v, want %v and up to a tenth more", wait, min)
	}
}

// next advances the clock to the next attempt and returns its request. It checks that there is
// none a millisecond before, and only one then.
func (h hook) next(r *receiver) request {
	h.s.T.Helper()
	h.s.advance(h.wait() - time.Millisecond)
	r.none("a millisecond early")
	h.s.advance(time.Millisecond)
	got := r.next()
	r.none("one attempt at a time")
	return got
}

// TestScheduleOfAttempts checks the waits between five attempts, and that a sixth is never made. For those that a
// receiver asks for see TestReceiverAnswers.
func TestScheduleOfAttempts(t *testing.T) {
	s := start(t)
	r := listen(t, status(500))
	h := s.hook(r.url)
	s.issue()
	s.settle()
	first := r.next()
	for i, min := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second} {
		if d := h.only(); d.Attempts != i+1 || d.DeliveredAt != nil {
			t.Errorf("after attempt %d: %s", i+1, d.outcome())
		}
		checkWait(t, h.wait(), min)
		if again := h.next(r); string(again.Body) != string(first.Body) || again.EventID != first.EventID {
			t.Errorf("attempt %d has %s", i+2, again.Body)
		}
	}
	if _, ok := h.due(); ok {
		t.Error("a sixth attempt is due")
	}
	s.advance(24 * time.Hour)
	r.none("after five attempts")
	if got := s.Values("SELECT concat_ws(' ', outcome, attempts) FROM deliveries"); !slices.Equal(got, []string{"failed 5"}) {
		t.Errorf("the row is %q", got)
	}
	if w := h.get(); w.ConsecutiveFailures != 1 || !w.Active {
		t.Errorf("%+v", w)
	}
}

// TestFifteenFailuresDisable checks that 15 consecutive deliveries without success
// disable a webhook. A success resets the count; tests do not count.
func TestFifteenFailuresDisable(t *testing.T) {
	s := start(t)
	r := listen(t, status(500))
	h := s.hook(r.url)
	is := func(when string, failures int, active bool) {
		t.Helper()
		if w := h.get(); w.ConsecutiveFailures != failures || w.Active != active {
			t.Fatalf("%s: %d failures, active %v; want %d, %v", when, w.ConsecutiveFailures, w.Active, failures, active)
		}
	}
	ping := func() {
		t.Helper()
		s.Call("POST", h.path()+"/test", nil).Want(202)
		s.settle()
	}
	s.burst(14)
	s.advance(42 * time.Second) // the fourth attempts are over, and no fifth one is due
	is("four attempts of fourteen", 0, true)
	s.advance(time.Hour)
	is("fourteen", 14, true)
	ping()
	is("a test that failed", 14, true)
	r.answers(status(200))
	ping()
	is("a test that succeeded", 14, true)
	s.issue()
	s.settle()
	is("a success", 0, true)
	r.answers(status(500))
	s.burst(14)
	s.advance(time.Hour)
	is("fourteen again", 14, true)
	s.issue()
	s.advance(42 * time.Second)
	is("four attempts of the fifteenth", 14, true)
	s.advance(time.Minute)
	is("fifteen", 15, false)
	for len(r.got) > 0 {
		<-r.got
	}
	entries := len(h.log())
	s.issue()
	s.advance(time.Hour)
	r.none("while inactive")
	if n := len(h.log()); n != entries {
		t.Errorf("%d entries were queued while inactive", n-entries)
	}
	if got := s.Values("SELECT detail FROM audit WHERE action='webhook.disable'"); !slices.Equal(
		got,
		[]string{`{"consecutive_failures":15}`},
	) {
		t.Errorf("audit %q", got)
	}
	h.patch(fields{"active": true})
	is("enabled", 0, true)
}

// TestPendingWaitsWhileInactive checks that pending deliveries of a webhook that a 410 has disabled
// are sent when it is enabled again.
func TestPendingWaitsWhileInactive(t *testing.T) {
	s := start(t)
	r := listen(t, status(500))
	h := s.hook(r.url)
	card := s.issue()
	s.settle()
	r.next()
	r.answers(status(410))
	s.issue()
	s.settle()
	r.next()
	if w := h.get(); w.Active {
		t.Fatalf("%+v", w)
	}
	if _, ok := h.due(); ok {
		t.Error("something is due")
	}
	s.advance(time.Hour)
	s.issue()
	s.settle()
	r.none("while inactive")
	r.answers(status(200))
	h.patch(fields{"active": true})
	if got := r.next(); got.Card != card {
		t.Errorf("got %s", got.Body)
	}
	s.settle()
	r.none("what happened meanwhile is not queued")
	if w := h.get(); !w.Active || w.ConsecutiveFailures != 0 {
		t.Errorf("%+v", w)
	}
}

// TestLimitsOfFlags checks other numbers of attempts and of failures, and another first backoff.
func TestLimitsOfFlags(t *testing.T) {
	t.Parallel()
	limits := func(attempts, failures int) func(*app.Config) {
		return func(c *app.Config) {
			c.Limits.WebhookDeliveryAttempts = attempts
			c.Limits.WebhookMaxConsecutiveFailures = failures
			c.Limits.WebhookBackoffBase = time.Millisecond
		}
	}
	t.Run("from a millisecond", func(t *testing.T) {
		s := start(t, limits(4, 2))
		r := listen(t, status(500))
		h := s.hook(r.url)
		s.issue()
		s.settle()
		r.next()
		for _, wait := range []time.Duration{1, 2, 4} {
			if got := h.wait(); got != wait*time.Millisecond { // rounding removes the added tenth
				t.Errorf("due after %v, want %d ms", got, wait)
			}
			s.advance(h.wait())
			r.next()
		}
		if w, d := h.get(), h.only(); !w.Active || w.ConsecutiveFailures != 1 || d.Attempts != 4 {
			t.Errorf("%+v, %s", w, d.outcome())
		}
	})
	t.Run("a burst", func(t *testing.T) {
		s := start(t, limits(1, 3))
		r := listen(t, status(500))
		h := s.hook(r.url)
		s.burst(30)
		waiting := s.settle().Pending
		tried := len(r.requests())
		if w := h.get(); w.Active || w.ConsecutiveFailures != tried || tried < 3 || int(waiting) != 30-tried || waiting == 0 {
			t.Errorf("%d tried, %d wait, %+v", tried, waiting, w)
		}
		r.answers(status(200))
		h.patch(fields{"active": true})
		if left := s.settle(); left.Pending != 0 || len(r.requests()) != 30 {
			t.Errorf("%d requests, %+v", len(r.requests()), left)
		}
	})
}

// TestSuspendedShop checks that only subscription.state_changed is sent, and retried, while the shop is
// suspended, and that the state past_due and the end of the add-on hold nothing back. For each state see
// TestWhatIsDue in the store.
func TestSuspendedShop(t *testing.T) {
	s := start(t)
	r := listen(t, status(500))
	h := s.hook(r.url, fields{"events": []string{"*"}})
	set := func(more fields) { s.Control("PATCH", "/shops/"+s.ShopID, more) }
	enroll := func() { s.Control("POST", "/programs/"+s.program()+"/enroll", fields{}) }
	card := s.issue()
	s.settle()
	r.next()
	set(fields{"subscription_state": "suspended"})
	s.settle()
	suspended := r.next()
	r.answers(status(200))
	if again := h.next(r); again.EventID != suspended.EventID || again.Event != "subscription.state_changed" {
		t.Errorf("got %s", again.Body)
	}
	enroll()
	s.advance(time.Hour)
	r.none("while suspended")
	if got := s.settle(); got.Pending != 1 {
		t.Errorf("%+v", got)
	}
	set(fields{"subscription_state": "active"})
	s.settle()
	both := map[string]bool{}
	for range 2 { // on separate connections, so either may be read first
		got := r.next()
		both[got.Event+got.Card] = true
	}
	if !both["card.added"+card] || !both["subscription.state_changed"] {
		t.Errorf("got %v", both)
	}
	r.none("what happened meanwhile is not queued")
	set(fields{"subscription_state": "past_due", "api_addon": false})
	if got := r.next(); got.Event != "subscription.state_changed" {
		t.Errorf("past due: got %s", got.Body)
	}
	enroll()
	if got := r.next(); got.Event != "card.added" {
		t.Errorf("past due: got %s", got.Body)
	}
}

// TestDeletedWebhook checks that deleting the program of a webhook deletes its pending deliveries
// and its log. The tests of the store delete a webhook itself.
func TestDeletedWebhook(t *testing.T) {
	s := start(t)
	r := listen(t)
	h := s.hook(r.url)
	s.issue()
	s.settle()
	r.next()
	r.answers(status(500))
	s.issue()
	s.settle()
	r.next()
	s.Control("DELETE", "/programs/"+s.program(), nil)
	s.Call("GET", h.path()+"/deliveries", nil).Want(404)
	if _, ok := h.due(); ok {
		t.Error("something is due")
	}
	s.advance(time.Hour) // sweeps the log
	r.none("deleted")
	for _, table := range []string{"deliveries", "webhooks"} {
		if got := s.Values("SELECT count(*) FROM " + table); got[0] != "0" {
			t.Errorf("%s rows of %s are left", got[0], table)
		}
	}
}

// TestRetention checks that the log is deleted after its retention time.
func TestRetention(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Limits.WebhookDeliveryRetentionDays = 2 })
	r := listen(t)
	h := s.hook(r.url)
	s.issue()
	s.settle()
	first := r.next()
	s.advance(48 * time.Hour)
	h.only()
	s.advance(time.Millisecond)
	if list := h.log(); len(list) != 0 {
		t.Errorf("%d entries are left", len(list))
	}
	s.issue()
	if got := r.next(); got.EventID == first.EventID {
		t.Errorf("the event_id %s is used again", got.EventID)
	}
}
