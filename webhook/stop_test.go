package webhook_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"punchcard/server/servertest"
)

// A watched context tells when somebody begins to wait for its end: in Stop,
// once it lets nothing new begin.
type watched struct {
	context.Context
	waiting chan struct{}
}

func (w watched) Value(any) any { return nil } // else its end would be asked for unseen

func (w watched) AfterFunc(f func()) func() bool {
	close(w.waiting)
	return context.AfterFunc(w.Context, f)
}

// stopping begins to stop the server and returns when the sender is at it;
// done gives what Stop answered.
func (s *server) stopping() (giveUp context.CancelFunc, done <-chan error) {
	s.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.T.Cleanup(cancel)
	w := watched{ctx, make(chan struct{})}
	answer := make(chan error, 1)
	s.CloseIdleConnections()
	a := s.App
	go func() { answer <- a.Stop(w) }()
	await(s.t, w.waiting, "the sender is told to stop")
	return cancel, answer
}

func TestStopWaits(t *testing.T) {
	s := start(t, patient)
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
		t.Fatalf("stopped with attempts under way: %v", err)
	default:
	}
	close(release)
	if err := await(t, done, "the end of Stop"); err != nil {
		t.Error(err)
	}
	if got := s.rows("SELECT outcome FROM deliveries"); strings.Join(got, " ") != "delivered delivered delivered" {
		t.Errorf("%q", got)
	}
}

// What Stop breaks off is nobody's failure, and is made again after a restart.
func TestStopBreaksOff(t *testing.T) {
	s := start(t, patient)
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
	s.burst(12) // more than a lane begins at once
	for range 8 {
		r.next()
	}
	giveUp, done := s.stopping()
	giveUp()
	await(t, done, "the end of Stop")
	for range 8 {
		await(t, cut, "the end of a request")
	}
	r.none("after Stop")
	if n := s.untold(); n != "12" {
		t.Errorf("%s are as they were, want 12", n)
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
		t.Errorf("not made again: %v", before)
	}
	if got := s.settle(); got.Pending != 0 {
		t.Errorf("%+v", got)
	}
}

// What waits for its turn has not begun, and does not begin any more.
func TestStopBeginsNothing(t *testing.T) {
	s := start(t, patient)
	reached, release := make(chan struct{}, 16), make(chan struct{})
	hold := listenWild(t, nil, func(net.Conn) {
		reached <- struct{}{}
		<-release
	})
	letGo := sync.OnceFunc(func() { close(release) })
	t.Cleanup(letGo)
	s.hook(strings.Replace(hold.url, "http:", "https:", 1)) // hangs in the handshake
	s.burst(5)
	await(t, reached, "a connection")
	_, done := s.stopping()
	letGo()
	if err := await(t, done, "the end of Stop"); err != nil {
		t.Error(err)
	}
	hold.mu.Lock()
	defer hold.mu.Unlock()
	if hold.count != 1 || s.untold() != "4" {
		t.Errorf("%d connections, %s deliveries untouched; want 1 and 4", hold.count, s.untold())
	}
}

// Stop leaves nothing behind, whatever was going on.
func TestStopLeavesNothing(t *testing.T) {
	good, failing, hanging := listen(t), listen(t, status(500)), listen(t)
	hanging.answers(hanging.hang)
	silent := listenWild(t, nil, stay)
	before := goleak.IgnoreCurrent()
	s := start(t, patient)
	for _, url := range []string{good.url, failing.url, hanging.url, strings.Replace(silent.url, "http:", "https:", 1), "http://localhost:1/"} {
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
	await(t, done, "the end of Stop")
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	// The receivers' own connections end with their sender's.
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}

// What passes a suspension is made again after a restart like everything else,
// also where a later one was accepted meanwhile.
func TestStopBreaksOffWhatPassesASuspension(t *testing.T) {
	s := start(t, patient)
	r := listen(t)
	r.answers(r.hang)
	s.hook(r.url, fields{"events": []string{"*"}})
	to := func(state string) { s.Control("PATCH", "/shops/"+s.ShopID, fields{"subscription_state": state}) }
	to("suspended")
	suspended := r.next()
	r.answers(status(200))
	to("active")
	r.next()
	for late := time.After(servertest.Patience); s.rows("SELECT count(*) FROM deliveries WHERE outcome='delivered'")[0] != "1"; {
		select {
		case <-late:
			t.Fatal("the second is not accepted")
		default:
		}
	}
	giveUp, done := s.stopping()
	giveUp()
	await(t, done, "the end of Stop")
	s.run()
	if got := s.settle(); got.Pending != 0 {
		t.Fatalf("%+v", got)
	}
	if again := r.next(); again.EventID != suspended.EventID {
		t.Errorf("got %s\nwant again %s", again.Body, suspended.Body)
	}
}
