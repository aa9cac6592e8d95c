package webhook_test

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/webhook"
)

// receiverCase is a receiver with a certain behaviour, and what the log must have
// about the first delivery to it.
type receiverCase struct {
	name string
	url  string
	hook hook

	want string        // the outcome; without a text after the colon it is a success
	over bool          // there is no second attempt
	min  time.Duration // until the second attempt is due
	max  time.Duration // the same; 0: both as after the first backoff
	at   time.Time     // when the second attempt is due
}

// deliverFirst sends a delivery to each receiver and to a healthy one, and checks the log of each.
func deliverFirst(s *server, list []*receiverCase) {
	s.T.Helper()
	healthy := listen(s.t)
	for _, c := range list {
		c.hook = s.hook(c.url)
	}
	well := s.hook(healthy.url)
	card := s.issue()
	if got := healthy.next(); got.Card != card {
		s.T.Errorf("the healthy receiver got %s", got.Body)
	}
	s.settle()
	for _, c := range list {
		s.t.Run(c.name, func(t *testing.T) { c.checkFirst(t, s) })
	}
	if d := well.only(); d.outcome() != "200 after 1: " || d.DeliveredAt == nil {
		s.T.Errorf("the healthy receiver: %s", d.outcome())
	}
	healthy.none("the healthy one has its delivery")
}

// checkFirst checks the log of the first attempt.
func (c *receiverCase) checkFirst(t *testing.T, s *server) {
	d := c.hook.only()
	clean(t, d.outcome())
	if got := d.outcome(); got != c.want {
		t.Errorf("%s, want %s", got, c.want)
	}
	success := strings.HasSuffix(c.want, ": ")
	if (d.DeliveredAt != nil) != success || (d.LastError == nil) != success || success && !d.DeliveredAt.Equal(frozenAt) {
		t.Errorf("delivered at %v, error %v", d.DeliveredAt, d.LastError)
	}
	at, waits := c.hook.due()
	if waits != !(success || c.over) {
		t.Fatalf("another attempt waits: %v", waits)
	}
	if !waits {
		return
	}
	if c.max == 0 {
		c.min, c.max = 5*time.Second, 5500*time.Millisecond
	}
	if wait := at.Sub(frozenAt); wait < c.min || wait > c.max {
		t.Errorf("the second attempt is due after %v, want %v to %v", wait, c.min, c.max)
	}
}

// deliverAgain checks the time of each second attempt, in the order in which they are
// due.
func deliverAgain(s *server, list []*receiverCase) {
	s.T.Helper()
	var waiting []*receiverCase
	for _, c := range list {
		at, ok := c.hook.due()
		if c.at = at; ok {
			waiting = append(waiting, c)
		}
	}
	slices.SortFunc(waiting, func(a, b *receiverCase) int { return a.at.Compare(b.at) })
	for _, c := range waiting {
		s.t.Run(c.name+" again", func(t *testing.T) { c.checkSecond(t, s) })
	}
}

// checkSecond checks that the second attempt is made when it is due.
func (c *receiverCase) checkSecond(t *testing.T, s *server) {
	if wait := c.at.Sub(s.clock.Now()); wait > 0 {
		s.clock.Advance(wait - time.Millisecond)
		s.settle()
		if n := c.hook.only().Attempts; n != 1 {
			t.Fatalf("%d attempts a millisecond before the second is due", n)
		}
		s.clock.Advance(time.Millisecond)
	}
	s.settle()
	if d := c.hook.only(); d.Attempts != 2 {
		t.Errorf("%s at the instant of the second attempt", d.outcome())
	}
}

// answerer starts a receiver with a handler and returns its URL.
func answerer(t *testing.T, f http.HandlerFunc) string { return listen(t, f).url }

// rawURL starts a receiver that acts on each connection and returns its URL.
func rawURL(t *testing.T, act func(net.Conn)) string { return listenRaw(t, nil, act).url }

// retryLater returns a handler that answers with a Retry-After header.
func retryLater(code int, after string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", after)
		w.WriteHeader(code)
	}
}

// TestReceiverAnswers checks the log and the retry for each answer of a receiver.
func TestReceiverAnswers(t *testing.T) {
	s := start(t)
	elsewhere := listen(t)
	redirect := func(code int) string {
		return answerer(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.url, code) })
	}
	later := func(code int, after string) string { return answerer(t, retryLater(code, after)) }
	const ok = "200 after 1: "
	list := []*receiverCase{
		{name: "204", url: answerer(t, status(204)), want: "204 after 1: "},
		{name: "301", url: redirect(301), want: "301 after 1: the receiver answered 301; redirects are not followed"},
		{name: "304", url: answerer(t, status(304)), want: "304 after 1: the receiver answered 304; redirects are not followed"},
		{name: "400", url: answerer(t, status(400)), want: "400 after 1: the receiver answered 400"},
		{name: "410", url: answerer(t, status(410)), want: "410 after 1: the receiver answered 410", over: true},
		{name: "500", url: answerer(t, status(500)), want: "500 after 1: the receiver answered 500"},
		{
			name: "429 in seconds",
			url:  later(429, "120"),
			want: "429 after 1: the receiver answered 429",
			min:  2 * time.Minute,
			max:  2 * time.Minute,
		},
		{name: "429 shorter than the backoff", url: later(429, "1"), want: "429 after 1: the receiver answered 429"},
		{
			name: "503 with a date",
			url:  later(503, time.Now().Add(30*time.Minute).UTC().Format(http.TimeFormat)),
			want: "503 after 1: the receiver answered 503",
			min:  28 * time.Minute,
			max:  30 * time.Minute,
		},
		{
			name: "302 with Retry-After",
			url:  later(302, "60"),
			want: "302 after 1: the receiver answered 302; redirects are not followed",
			min:  time.Minute,
			max:  time.Minute,
		},
		{name: "200 with Retry-After", url: later(200, "60"), want: ok},
		{name: "HTTP/1.0", url: listenRaw(t, nil, answerText("HTTP/1.0 200 OK\r\n\r\nfine")).url, want: ok},
		{name: "many 103", url: answerer(t, func(w http.ResponseWriter, _ *http.Request) {
			for range 200 {
				w.Header().Set("Link", "</style.css>; rel=preload")
				w.WriteHeader(103)
			}
			w.WriteHeader(200)
		}), want: ok},
	}
	deliverFirst(s, list)
	for _, c := range list {
		if w := c.hook.get(); c.name == "410" && (w.Active || w.ConsecutiveFailures != 1) ||
			c.name != "410" && (!w.Active || w.ConsecutiveFailures != 0) {
			t.Errorf("%s: active %v, %d failures", c.name, w.Active, w.ConsecutiveFailures)
		}
	}
	deliverAgain(s, list)
	elsewhere.none("redirects are not followed")
}

// Parts of errors in the log.
const (
	reset     = "the receiver reset the connection"
	cut       = "the receiver closed the connection"
	halfway   = " in the middle of its answer"
	malformed = "the answer is not valid HTTP"
)

// TestReceiverConnections checks the log and the retry for receivers whose name, connection, TLS
// or answer is faulty, beside healthy ones over TLS and HTTP/2.
func TestReceiverConnections(t *testing.T) {
	zeros() // compressed beforehand, since it would take time of the attempt
	trusted := newAuthority(t)
	dns := webhook.ServeDNS(t, map[string][2][]string{"moved.secret.test.": {nil, {"10.0.0.1"}}})
	s := start(t, trusted.trusted, func(c *app.Config) { c.Guard.Resolver = dns })
	h2 := trusted.serveHTTP2(t)
	aborting := trusted.serveHTTP2(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	var endless atomic.Int64
	list := append(slices.Concat(tlsCases(t, trusted), unreachableCases(t), answerCases(t), endlessCases(t, &endless)),
		&receiverCase{name: "HTTP/2", url: h2.url, want: "200 after 1: "},
		&receiverCase{name: "HTTP/2, aborted", url: aborting.url, want: "200 after 1: " + reset + halfway})
	deliverFirst(s, list)
	deliverAgain(s, list)
	for _, got := range h2.requests() {
		if got.Proto != "HTTP/2.0" {
			t.Errorf("the HTTP/2 receiver was spoken to in %s", got.Proto)
		}
	}
	// The sender reads 64 KiB, and the operating system buffers some more on both
	// sides.
	if n := endless.Load(); n < 64<<10 || n > 16<<20 {
		t.Errorf("the endless receiver wrote %d bytes, want 64 KiB to 16 MiB", n)
	}
}

// serveHTTP2 starts a receiver that speaks HTTP/2.
func (a *authority) serveHTTP2(t *testing.T, f ...http.HandlerFunc) *receiver {
	r := newReceiver(t, f...)
	r.srv.EnableHTTP2, r.srv.TLS = true, a.server("localhost", time.Now().Add(time.Hour))
	r.srv.StartTLS()
	return r.at(r.srv.URL)
}
