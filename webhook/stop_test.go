package webhook_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"punchcard/server/servertest"
)

// watched is a context that reports when Stop starts to wait for its end, which is
// after Stop has prevented new attempts.
type watched struct {
	context.Context
	waiting chan struct{}
	left    *atomic.Int32 // services that have not called AfterFunc: the senders of webhooks and of pushes
}

func (w watched) Value(any) any { return nil } // so that contexts derived from it call AfterFunc

func (w watched) AfterFunc(f func()) func() bool {
	if w.left.Add(-1) == 0 {
		close(w.waiting)
	}
	return context.AfterFunc(w.Context, f)
}

// stopping begins to stop the server, and returns when the sender waits for its attempts. giveUp
// cancels the context of Stop, and done receives its result.
func (s *server) stopping() (giveUp context.CancelFunc, done <-chan error) {
	s.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.T.Cleanup(cancel)
	w := watched{ctx, make(chan struct{}), &atomic.Int32{}}
	w.left.Store(2)
	answer := make(chan error, 1)
	s.CloseIdleConnections()
	a := s.App
	go func() { answer <- a.Stop(w) }()
	servertest.Await(s.t, w.waiting, "the sender is told to stop")
	return cancel, answer
}

// TestStopWaits checks that Stop waits for attempts in progress, and that their outcomes are
// written.
func TestStopWaits(t *testing.T) {
	s := start(t, longTimeout, keepFile(t))
	r := listen(t)
	release := make(chan struct{})
	r.answers(func(http.ResponseWriter, *http.Request) {
		select {
		case <-release:
		case <-r.closed:
		}
	})
	s.hook(r.url)
	s.burst(3)
	for range 3 {
		r.next()
	}
	_, done := s.stopping()
	select {
	case err := <-done:
		t.Fatalf("stopped with attempts in progress: %v", err)
	default:
	}
	close(release)
	if err := servertest.Await(t, done, "the end of Stop"); err != nil {
		t.Error(err)
	}
	if got := s.Values("SELECT outcome FROM deliveries"); strings.Join(got, " ") != "delivered delivered delivered" {
		t.Errorf("%q", got)
	}
}

// TestStopCancelsAttempts checks that an attempt which Stop cancels is no failure, and is repeated
// after a restart.
func TestStopCancelsAttempts(t *testing.T) {
	s := start(t, longTimeout, keepFile(t))
	r := listen(t)
	cut := make(chan struct{}, 10)
	r.answers(func(_ http.ResponseWriter, req *http.Request) {
		select {
		case <-req.Context().Done():
			cut <- struct{}{}
		case <-r.closed:
		}
	})
	s.hook(r.url)
	s.burst(12) // more than a lane starts at once
	for range 8 {
		r.next()
	}
	giveUp, done := s.stopping()
	giveUp()
	servertest.Await(t, done, "the end of Stop")
	for range 8 {
		servertest.Await(t, cut, "the end of a request")
	}
	r.none("after Stop")
	if n := s.withoutOutcome(); n != "12" {
		t.Errorf("%s deliveries are unchanged, want 12", n)
	}
	before := map[string]bool{}
	for _, got := range r.requests() {
		before[got.EventID] = true
	}
	r.answers(status(200))
	s.run()
	for range 12 {
		delete(before, r.next().EventID)
	}
	if len(before) > 0 {
		t.Errorf("not repeated: %v", before)
	}
	if got := s.settle(); got.Pending != 0 {
		t.Errorf("%+v", got)
	}
}

// TestStopStartsNothing checks that attempts that wait for their turn are not started after Stop
// began.
func TestStopStartsNothing(t *testing.T) {
	s := start(t, longTimeout, keepFile(t))
	hold, reached, letGo := listenHeld(t)
	s.hook(hold.url)
	s.burst(5)
	servertest.Await(t, reached, "a connection")
	_, done := s.stopping()
	letGo()
	if err := servertest.Await(t, done, "the end of Stop"); err != nil {
		t.Error(err)
	}
	if n := hold.connections(); n != 1 || s.withoutOutcome() != "4" {
		t.Errorf("%d connections, %s deliveries unchanged; want 1 and 4", n, s.withoutOutcome())
	}
}

// TestStopLeavesNothing checks that Stop leaves no goroutine or connection.
func TestStopLeavesNothing(t *testing.T) {
	good, failing, hanging := listen(t), listen(t, status(500)), listen(t)
	hanging.answers(hanging.hang)
	silent := listenRaw(t, nil, waitForClose)
	before := goleak.IgnoreCurrent()
	s := startAlone(t, longTimeout, keepFile(t))
	for _, url := range []string{
		good.url, failing.url, hanging.url, strings.Replace(silent.url, "http:", "https:", 1), "http://localhost:1/",
	} {
		s.hook(url)
	}
	s.burst(20)
	for range 20 {
		good.next()
	}
	failing.next()
	hanging.next()
	giveUp, done := s.stopping()
	giveUp()
	servertest.Await(t, done, "the end of Stop")
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	// The receivers' connections end when the sender closes them.
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// TestStopCancelsSuspensionEvent checks that a delivery of subscription.state_changed that Stop
// cancelled is repeated after a restart, also if a later one has succeeded.
func TestStopCancelsSuspensionEvent(t *testing.T) {
	s := start(t, longTimeout, keepFile(t))
	r := listen(t)
	r.answers(r.hang)
	s.hook(r.url, fields{"events": []string{"*"}})
	to := func(state string) { s.Control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": state}) }
	to("suspended")
	suspended := r.next()
	r.answers(status(200))
	to("active")
	r.next()
	for late := time.After(servertest.Patience); s.Value("SELECT count(*) FROM deliveries WHERE outcome='delivered'") != "1"; {
		select {
		case <-late:
			t.Fatal("the second delivery has no outcome")
		default:
		}
	}
	giveUp, done := s.stopping()
	giveUp()
	servertest.Await(t, done, "the end of Stop")
	s.run()
	if got := s.settle(); got.Pending != 0 {
		t.Fatalf("%+v", got)
	}
	if again := r.next(); again.EventID != suspended.EventID {
		t.Errorf("got %s\nwant again %s", again.Body, suspended.Body)
	}
}
