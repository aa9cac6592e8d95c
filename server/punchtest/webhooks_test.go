package punchtest_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"punchcard/server/punchtest"
	"punchcard/server/servertest/require"
)

func TestReceiver(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	r := s.Receiver()
	id, secret := s.Webhook(s.Programs["standard"], r.URL)
	if !strings.HasPrefix(id, "whk_") {
		t.Errorf("the webhook's id is %s", id)
	}
	till := s.Till(s.Locations[0])
	came := make(chan punchtest.Delivery)
	go func() { // waits before any delivery
		d, err := r.TryWait("stamp.assigned")
		if err != nil {
			t.Error(err)
		}
		came <- d
	}()
	card := till.Issue(s.Programs["standard"], punchtest.CardFields{HolderName: "Ada"}).ID
	till.Stamp(card, 2)
	d := <-came
	var envelope struct {
		EventID string `json:"event_id"`
		Event   string
		Data    struct {
			StampsCount int `json:"stamps_count"`
		}
	}
	if err := d.Decode(&envelope); err != nil || envelope.Event != "stamp.assigned" || d.Event != envelope.Event ||
		d.ID != envelope.EventID ||
		d.ID == "" ||
		d.At.IsZero() {
		t.Errorf("the delivery is %+v, its body %s, %v", d, d.Body, err)
	}
	if err := d.Verify(secret); err != nil {
		t.Error(err)
	}
	// Wait returns the oldest matching delivery that was not returned before.
	till.Stamp(card, 1)
	second := r.Wait("stamp.assigned")
	if second.ID == d.ID {
		t.Error("a delivery was returned twice")
	}
	if added := r.Wait(""); added.Event != "card.added" {
		t.Errorf("the other delivery is %s", added.Event)
	}
	if settled := s.Settle(); settled.Pending != 0 || settled.Delivered != 3 {
		t.Errorf("settled: %+v", settled)
	}
	if all := r.Deliveries(); len(all) != 3 {
		t.Errorf("%d deliveries, want 3", len(all))
	}
}

// TestWaitReturnsEachOnce checks that Wait returns no delivery twice when one of an
// earlier event arrives later.
func TestWaitReturnsEachOnce(t *testing.T) {
	t.Parallel()
	r := punchtest.Start(t).Receiver()
	for _, sent := range []struct{ id, sequence string }{{"evt_b", "7"}, {"evt_a", "3"}, {"evt_b", "7"}} {
		req := require.Must(http.NewRequestWithContext(
			t.Context(),
			"POST",
			r.URL,
			strings.NewReader(`{"event":"card.added","event_id":"`+sent.id+`"}`),
		))
		req.Header.Set("X-Service-Sequence", sent.sequence)
		resp := require.Must(http.DefaultClient.Do(req))
		resp.Body.Close()
		if d := r.Wait("card.added"); d.ID != sent.id {
			t.Errorf("got %s, want %s", d.ID, sent.id)
		}
	}
	var order []string
	for _, d := range r.Deliveries() {
		order = append(order, d.ID)
	}
	if got := strings.Join(order, " "); got != "evt_a evt_b evt_b" {
		t.Errorf("listed are %s", got)
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	r := s.Receiver()
	_, secret := s.Webhook(s.Programs["standard"], r.URL, "card.added")
	newCard(s)
	good := r.Wait("card.added")
	require.NoError(t, good.Verify(secret))
	with := func(name, value string) punchtest.Delivery {
		d := good
		d.Header = good.Header.Clone()
		d.Header.Set(name, value)
		return d
	}
	longer := good
	longer.Body = append([]byte(" "), good.Body...)
	for name, d := range map[string]punchtest.Delivery{
		"another body":      longer,
		"no signature":      with("X-Service-Signature", ""),
		"another signature": with("X-Service-Signature", good.Header.Get("X-Service-Signature")+"0"),
		"another id":        with("Webhook-Id", "evt_other"),
		"another time":      with("Webhook-Timestamp", "1"),
		"no second one":     with("Webhook-Signature", ""),
	} {
		if d.Verify(secret) == nil {
			t.Errorf("%s is verified", name)
		}
	}
	if good.Verify(secret+"A") == nil || good.Verify("") == nil {
		t.Error("the delivery is valid for another secret")
	}
}

// TestWaitTimesOut checks that a wait without a match fails the test and logs the other deliveries.
func TestWaitTimesOut(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	log := r.run(func(t testing.TB) {
		s := punchtest.Start(t)
		hook := s.Receiver()
		s.Webhook(s.Programs["standard"], hook.URL)
		newCard(s)
		hook.Wait("card.added")
		s.Till(s.Locations[0]).Stamp(s.Issue(s.Programs["private"], punchtest.CardFields{}).ID, 1)
		s.Settle()
		hook.Timeout = 50 * time.Millisecond
		hook.Wait("prize.redeemed")
	})
	for _, want := range []string{
		"no delivery of prize.redeemed within 50ms", "card.added evt_", "(handed out before)", "stamp.assigned evt_",
	} {
		if !r.failed || !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}

// TestWaitAcrossReset checks that a reset ends a wait before its time-out, and that the error of an
// old receiver tells why.
func TestWaitAcrossReset(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	r := s.Receiver()
	r.Timeout = time.Hour
	s.Webhook(s.Programs["standard"], r.URL)
	newCard(s)
	r.Wait("card.added")
	const waits = 5
	errs := make(chan error)
	for range waits {
		go func() {
			_, err := r.TryWait("stamp.assigned")
			errs <- err
		}()
	}
	s.Reset()
	for range waits {
		if err := <-errs; err == nil || !strings.Contains(err.Error(), "reset") {
			t.Errorf("the wait returned %v", err)
		}
	}
	if _, err := r.TryWait(""); err == nil || !strings.Contains(err.Error(), "reset") {
		t.Errorf("a wait after the reset returned %v", err)
	}
	again := s.Receiver()
	s.Webhook(s.Programs["standard"], again.URL)
	newCard(s)
	again.Wait("card.added")
}

// TestReceiverAnswers checks that a delivery is repeated when it is due after a refusal.
func TestReceiverAnswers(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t, punchtest.Clock(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)), punchtest.WebhookTimeout(50*time.Millisecond))
	r := s.Receiver()
	_, secret := s.Webhook(s.Programs["standard"], r.URL, "card.added")
	r.Answer(http.StatusInternalServerError, 0, nil)
	newCard(s)
	first := r.Wait("card.added")
	if settled := s.Settle(); settled.Failed != 1 || settled.Pending != 1 {
		t.Errorf("after a refusal: %+v", settled)
	}
	r.Answer(http.StatusOK, time.Second, nil) // longer than the time-out
	s.Clock.Advance(6 * time.Second)
	second := r.Wait("card.added")
	r.Answer(http.StatusServiceUnavailable, 0, map[string]string{"Retry-After": "600"})
	s.Clock.Advance(12 * time.Second)
	third := r.Wait("card.added")
	r.Answer(0, 0, nil) // closes the connection
	s.Clock.Advance(590 * time.Second)
	if all := r.Deliveries(); len(all) != 3 {
		t.Errorf("%d deliveries before Retry-After, want 3", len(all))
	}
	s.Clock.Advance(20 * time.Second)
	fourth := r.Wait("card.added")
	r.Answer(http.StatusNoContent, 0, nil)
	s.Clock.Advance(time.Minute)
	for _, d := range []punchtest.Delivery{first, second, third, fourth, r.Wait("card.added")} {
		if err := d.Verify(secret); err != nil || d.ID != first.ID || string(d.Body) != string(first.Body) {
			t.Errorf("an attempt differs: %s %s, %v", d.ID, d.Body, err)
		}
	}
	if settled := s.Settle(); settled.Pending != 0 {
		t.Errorf("at the end: %+v", settled)
	}
}

// TestReplay checks that a replay can be of one event, whose signature stays valid. ExampleReceiver_Replay
// has the order and the copies.
func TestReplay(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	kept, program := s.Receiver(), s.Receiver()
	_, secret := s.Webhook(s.Programs["standard"], kept.URL)
	s.Till(s.Locations[0]).Stamp(newCard(s), 1)
	s.Settle()
	only := kept.Replay(program.URL, punchtest.Replay{Event: "stamp.assigned"})
	if len(only) != 1 || only[0].Event != "stamp.assigned" || only[0].Status != 200 || only[0].Error != "" {
		t.Errorf("%+v", only)
	}
	if came := program.Deliveries(); len(came) != 1 || came[0].ID != only[0].ID || came[0].Verify(secret) != nil {
		t.Errorf("%+v", came)
	}
}
