package webhook_test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"

	"punchcard/server/servertest"
	"punchcard/webhook"
)

// holding makes a receiver hold its next answers until release is called with their
// status.
func (r *receiver) holding() (release func(code int)) {
	code := make(chan int)
	r.answers(func(w http.ResponseWriter, req *http.Request) {
		select {
		case c := <-code:
			w.WriteHeader(c)
		case <-r.closed:
		case <-req.Context().Done():
		}
	})
	return func(c int) {
		r.t.Helper()
		select {
		case code <- c:
		case <-r.closed:
		}
	}
}

// stamp stamps a card at the demo till.
func (s *server) stamp(card string, count int) {
	s.T.Helper()
	s.Till(s.TillToken).Post("/cards/"+card+"/stamps", fields{"count": count}).Want(201)
}

// sequence returns the X-Service-Sequence of a request.
func sequence(r request) int64 {
	n, _ := strconv.ParseInt(r.Header.Get(webhook.HeaderSequence), 10, 64)
	return n
}

// comeInOrder checks that these events come next, one after the other.
func (r *receiver) comeInOrder(after int64, events ...string) (last int64) {
	r.t.Helper()
	for _, want := range events {
		got := r.next()
		if n := sequence(got); got.Event != want || n <= after {
			r.t.Errorf("got %s with sequence %d after %d, want %s", got.Event, n, after, want)
		}
		after = sequence(got)
	}
	return after
}

// overflowed are the events of the first stamps of a card, when they overflow into another card.
var overflowed = []string{"card.activated", "card.added", "stamp.assigned", "stamp.assigned"}

// TestNextOfACardWaits checks that the events of a card, and of the card that overflowed from it,
// wait for the answer to the card's previous event, whatever it is, and that those of other cards
// do not.
func TestNextOfACardWaits(t *testing.T) {
	s := start(t, longTimeout)
	r := listen(t)
	release := r.holding()
	s.hook(r.url, fields{"events": []string{"*"}})
	card := s.issue()
	first := r.next()
	r.answers(status(200))
	s.stamp(card, 12)
	for range 40 {
		other := s.issue()
		if got := r.next(); got.Card != other {
			t.Fatalf("got %s %s, want the event of another card", got.Event, got.Card)
		}
	}
	release(500)
	if first.Event != "card.added" || sequence(first) != 1 {
		t.Errorf("the first was %s, %d", first.Event, sequence(first))
	}
	r.comeInOrder(1, overflowed...)
	if got := s.settle(); got.Pending != 1 {
		t.Errorf("%+v", got)
	}
}

// TestOrderAfterEnabling checks that the events of a card which waited when their
// webhook was disabled come in order when it is enabled again.
func TestOrderAfterEnabling(t *testing.T) {
	s := start(t, longTimeout)
	r := listen(t)
	release := r.holding()
	h := s.hook(r.url, fields{"events": []string{"*"}})
	card := s.issue()
	r.next()
	r.answers(status(200))
	s.stamp(card, 12)
	s.issue()
	r.next() // the lane has read what came before
	h.patch(fields{"active": false})
	release(200)
	if got := s.settle(); got.Pending != int64(len(overflowed)) {
		t.Errorf("%+v", got)
	}
	r.none("while inactive")
	h.patch(fields{"active": true})
	r.comeInOrder(1, overflowed...)
}

// TestOrderWhileSuspended checks that subscription.state_changed passes the events
// of a card that wait, and that these come in order when the shop is active again.
func TestOrderWhileSuspended(t *testing.T) {
	s := start(t, longTimeout)
	r := listen(t)
	release := r.holding()
	s.hook(r.url, fields{"events": []string{"*"}})
	to := func(state string) {
		s.Control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": state})
		if got := r.next(); got.Event != "subscription.state_changed" {
			t.Errorf("%s: got %s", state, got.Event)
		}
	}
	card := s.issue()
	r.next()
	r.answers(status(200))
	s.stamp(card, 12)
	to("suspended")
	release(200)
	s.settle()
	r.none("while suspended")
	s.Control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": "active"})
	var came []string
	for range len(overflowed) + 1 {
		if got := r.next(); got.Event != "subscription.state_changed" { // which is about no card
			came = append(came, got.Event)
		}
	}
	if !slices.Equal(came, overflowed) {
		t.Errorf("got %v, want %v", came, overflowed)
	}
}

// TestOrderAfterStop checks that the events of a card come in order after a restart
// that broke off the first of them.
func TestOrderAfterStop(t *testing.T) {
	s := start(t, longTimeout, keepFile(t))
	r := listen(t)
	r.answers(r.hang)
	s.hook(r.url, fields{"events": []string{"*"}})
	card := s.issue()
	first := r.next()
	s.stamp(card, 12)
	s.stamp(card, 3)
	giveUp, done := s.stopping()
	giveUp()
	servertest.Await(t, done, "the end of Stop")
	r.none("after Stop")
	r.answers(status(200))
	s.run()
	if again := r.next(); again.EventID != first.EventID {
		t.Errorf("got %s, want the one that was broken off", again.Body)
	}
	r.comeInOrder(1, append(slices.Clone(overflowed), "stamp.assigned")...)
}

// TestSequenceOfDeliveries checks that each attempt has the event's sequence, for
// all webhooks of the shop, redeliveries and tests included, and shows it in the log.
func TestSequenceOfDeliveries(t *testing.T) {
	s := start(t)
	failing, other := listen(t, status(500)), listen(t)
	h := s.hook(failing.url)
	s.hook(other.url, fields{"payload_version": "v1"})
	s.issue()
	s.settle()
	if a, b := sequence(failing.next()), sequence(other.next()); a != 1 || b != 1 {
		t.Errorf("the sequences are %d and %d", a, b)
	}
	if n := sequence(h.next(failing)); n != 1 {
		t.Errorf("the retry has %d", n)
	}
	failing.answers(status(200))
	if n := sequence(h.next(failing)); n != 1 || h.only().RequestHeaders[webhook.HeaderSequence] != "1" {
		t.Errorf("the third attempt has %d, the log %v", n, h.only().RequestHeaders)
	}
	s.Call("POST", h.path()+"/test", nil).Want(202)
	s.settle()
	if n := sequence(failing.next()); n != 2 {
		t.Errorf("the test has %d", n)
	}
	s.Call("POST", h.path()+"/deliveries/"+h.log()[0].ID+"/redeliver", nil).Want(202)
	s.settle()
	if n := sequence(failing.next()); n != 1 {
		t.Errorf("the redelivery has %d", n)
	}
}
