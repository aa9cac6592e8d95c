package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/store"
)

// longTimeout makes the timeout of attempts longer than any test.
func longTimeout(c *app.Config) { c.Limits.WebhookDeliveryTimeoutMS = 600000 }

// withoutOutcome counts the deliveries without a recorded attempt.
func (s *server) withoutOutcome() string {
	s.T.Helper()
	return s.Value("SELECT count(*) FROM deliveries WHERE attempts=0 AND outcome IS NULL")
}

// TestHangingReceiver checks that a receiver that hangs does not delay the shop's
// other three.
func TestHangingReceiver(t *testing.T) {
	s := start(t, longTimeout)
	hanging := listen(t)
	hanging.answers(hanging.hang)
	s.hook(hanging.url)
	others := make([]*receiver, 3)
	for i := range others {
		others[i] = listen(t)
		s.hook(others[i].url)
	}
	s.burst(20)
	hanging.next()
	for _, r := range others {
		for range 20 {
			r.next()
		}
	}
	for range 5 {
		s.issue()
		for _, r := range others {
			r.next()
		}
	}
	if n := s.Values("SELECT count(*) FROM deliveries d JOIN webhooks w ON w.id=d.webhook_id WHERE w.url=? AND d.attempts>0",
		hanging.url); n[0] != "0" {
		t.Errorf("%s attempts at the hanging receiver have ended", n[0])
	}
}

// TestManyHangingReceivers checks that many hanging receivers do not delay one that answers, since
// their attempts release the prompt slots after promptLimit.
func TestManyHangingReceivers(t *testing.T) {
	s := start(t, longTimeout, func(c *app.Config) { c.Limits.WebhookMaxPerShop = 1000 })
	hanging, prompt := listen(t), listen(t)
	hanging.answers(hanging.hang)
	servertest.Write(s.T, s.App.Store, func(tx *store.Tx) error {
		tx.CheckedTarget = hanging.url
		hook := store.WebhookFields{
			URL: set(hanging.url), Events: set([]string{"card.added"}), ProgramIDs: set([]string{s.ProgramIDs["private"]}),
		}
		for range 300 {
			if _, err := tx.CreateWebhook(store.Access{Shop: s.Shop()}, s.program(), hook); err != nil {
				return err
			}
		}
		return nil
	})
	s.hook(prompt.url, fields{"program_ids": []string{s.program()}})
	for range 2 {
		s.Issue(s.ProgramIDs["private"], nil)
	}
	for range 256 { // all prompt slots
		hanging.next()
	}
	for range 5 {
		s.issue()
		prompt.next()
	}
	if n := s.Values("SELECT count(*) FROM deliveries d JOIN webhooks w ON w.id=d.webhook_id WHERE w.url=? AND d.attempts>0",
		hanging.url); n[0] != "0" {
		t.Errorf("%s attempts at hanging receivers have ended", n[0])
	}
}

// TestNoDuplicateWhileInFlight checks that a delivery is not sent a second time while
// an attempt is in flight, however often its lane is woken.
func TestNoDuplicateWhileInFlight(t *testing.T) {
	s := start(t, longTimeout)
	r := listen(t)
	release := make(chan struct{})
	r.answers(func(w http.ResponseWriter, req *http.Request) {
		select {
		case <-release:
		case <-r.closed:
		}
	})
	s.hook(r.url)
	s.burst(4)
	for range 4 {
		r.next()
	}
	r.answers(status(200))
	for range 20 {
		s.issue()
		r.next()
	}
	if n := s.Value("SELECT count(*)>=4 FROM deliveries WHERE attempts=0"); n != "1" {
		t.Error("fewer than the first four have no outcome")
	}
	close(release)
	s.settle()
	r.once(24)
}

// once checks that there are n requests, each of another event.
func (r *receiver) once(n int) {
	r.t.Helper()
	times := map[string]int{}
	for _, got := range r.requests() {
		times[got.EventID]++
	}
	if len(times) != n {
		r.t.Errorf("%d events arrived, want %d", len(times), n)
	}
	for id, k := range times {
		if k != 1 {
			r.t.Errorf("%s arrived %d times", id, k)
		}
	}
}

// TestOutcomeThatCannotBeWritten checks that the write of an outcome is retried until
// it succeeds, and that the request is not repeated.
func TestOutcomeThatCannotBeWritten(t *testing.T) {
	failed := make(chan string, 100)
	s := start(t, longTimeout, func(c *app.Config) { c.Log = logTo(failed) })
	r := listen(t)
	s.hook(r.url)
	s.SQL("CREATE TRIGGER refuse BEFORE UPDATE ON deliveries BEGIN SELECT RAISE(ABORT, 'refused'); END")
	s.issue()
	r.next()
	for !strings.Contains(servertest.Await(t, failed, "the failure's line"), "outcomes of deliveries cannot be written") {
	}
	for range 10 {
		s.issue()
		r.next()
	}
	r.once(11)
	s.SQL("DROP TRIGGER refuse")
	if got := s.settle(); fmt.Sprint(got) != "{11 0 0}" {
		t.Errorf("%+v", got)
	}
	r.once(11)
	if n := s.withoutOutcome(); n != "0" {
		t.Errorf("%s outcomes are not written", n)
	}
}

// TestHeldWebhooks checks that held deliveries are queued, and sent when they are no longer held.
func TestHeldWebhooks(t *testing.T) {
	s := start(t, keepFile(t), func(c *app.Config) { c.HoldWebhooks = true })
	r := listen(t)
	s.hook(r.url)
	cards := s.burst(3)
	s.advance(1000000000)
	if got := s.settle(); got.Pending != 3 || got.Delivered+got.Failed != 0 {
		t.Errorf("%+v", got)
	}
	r.none("held")
	s.Stop()
	s.conf.HoldWebhooks = false
	s.run()
	for range cards {
		r.next()
	}
	s.settle()
	r.once(3)
}

// TestNoneWaitsForAnAnswer checks that no request of a lane waits for the answer to
// that of another card, over HTTP/1 and HTTP/2.
func TestNoneWaitsForAnAnswer(t *testing.T) {
	trusted := newAuthority(t)
	s := start(t, longTimeout, trusted.trusted)
	plain, secure, h2 := newReceiver(t), newReceiver(t), newReceiver(t)
	plain.srv.Start()
	for _, r := range []*receiver{secure, h2} {
		r.srv.EnableHTTP2, r.srv.TLS = r == h2, trusted.server("localhost", time.Now().Add(time.Hour))
		r.srv.StartTLS()
	}
	for _, r := range []*receiver{plain, secure, h2} {
		r.at(r.srv.URL)
		r.answers(r.hang)
		s.hook(r.url)
	}
	s.burst(6)
	for r, proto := range map[*receiver]string{plain: "HTTP/1.1", secure: "HTTP/1.1", h2: "HTTP/2.0"} {
		for range 6 {
			if got := r.next(); got.Proto != proto {
				t.Errorf("spoken to in %s, want %s", got.Proto, proto)
			}
		}
	}
	if n := s.withoutOutcome(); n != "18" {
		t.Errorf("%s wait for an answer, want all 18", n)
	}
}
