// Package punchtest runs punchcard inside a test: in process, a real server on
// a port of its own over a real SQLite file of its own, with a demo shop, a
// clock that the test moves, faults, and receivers for webhooks.
//
//	func TestSignUp(t *testing.T) {
//		s := punchtest.Start(t)
//		shop := myshop.New(s.URL, s.Key("cards:write"))
//		…
//	}
//
// A server starts in milliseconds and shares nothing with others, so each test can
// have its own and tests can run in parallel. It stops at the end of its test and
// leaves no files, goroutines or connections.
//
// The code under test gets [Server.URL] and a key, and talks to the server as it
// talks to a real one. The test does the rest: a [Till] stamps cards, the
// [ServerClock] moves time, a [Receiver] waits for webhooks without sleeping, a
// [Phone] shows a card as a wallet does, a [Fault] has requests fail, and
// [Server.Requests] tells what the code has sent.
//
// A helper that fails ends the test at the line that called it. A failed test logs
// the requests and deliveries. Helpers of a server from [New], which has no test,
// panic with the error instead.
//
// # Use from another module
//
// The module is named punchcard, which no proxy can serve. Replace it by the path of
// a checkout in go.mod, and run "go get -t ./..." once for what it needs in turn:
//
//	require punchcard v0.0.0
//	replace punchcard => ../punchcard
package punchtest

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"punchcard/server/app"
)

// Server is a running server with the demo shop: a coffee shop with two
// locations and a published program of each type. All methods but [Server.Close]
// may be called from several goroutines at once. Helpers end a failed test with
// FailNow, which must be called from the test's own goroutine.
type Server struct {
	Origin  string // http://127.0.0.1:PORT
	URL     string // of the REST API: Origin + /api/public/v1
	TillURL string // of the till API: Origin + /till/v1

	// The demo shop. Ids and keys are the same in every server, and after a
	// reset.
	Shop             string            // id
	Programs         map[string]string // ids by type: standard, private, discount, access, prepaid
	Locations        []string          // ids of the two locations; with a [Seed] of all locations of its first shop
	Refs             map[string]string // of a [Seed]: ids by the refs of the file
	APIKey           string            // with every scope
	RestrictedAPIKey string            // with every scope, at Locations[0] only
	MCPKey           string            // which the REST API refuses
	TillToken        string            // of a device at Locations[0]

	Clock *ServerClock // the server's clock

	*core
	t reporter
}

// core is the part of a Server that all its copies for subtests share.
type core struct {
	app       *app.App
	clock     *app.Clock
	transport *http.Transport
	client    *http.Client

	mu    sync.Mutex
	tills map[string]device // by location; a reset revokes them
}

// reporter is the part of a testing.TB that helpers need.
type reporter interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}

// Start starts a server for a test or benchmark and stops it at its end. If the
// test has failed by then, it logs the requests that the server answered.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	s, err := New(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() || panicking() {
			t.Log(s.journal())
		}
		if err := s.Close(); err != nil {
			t.Errorf("punchtest: %v", err)
		}
	})
	return s.For(t)
}

// panicking reports whether the goroutine panics. Cleanups run before the package
// testing marks a test that panicked as failed.
func panicking() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for {
		f, more := frames.Next()
		if f.Function == "runtime.gopanic" || !more {
			return f.Function == "runtime.gopanic"
		}
	}
}

// New starts a server without a test, for examples, TestMain and programs. The
// caller must close it.
func New(options ...Option) (*Server, error) {
	c, err := configure(options)
	if err != nil {
		return nil, err
	}
	a, err := app.Start(c)
	if err != nil {
		return nil, err
	}
	// The transport ignores proxies of the environment, since the server is on this
	// machine. Its buffers are small, since a test binary has hundreds of servers.
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 2, ReadBufferSize: 2 << 10, WriteBufferSize: 2 << 10,
		IdleConnTimeout: 50 * time.Millisecond} // an idle connection holds about 40 kB at its two ends
	s := &Server{Origin: a.Origin, URL: a.Ready.BaseURL, TillURL: a.Origin + "/till/v1", Shop: a.Ready.ShopID,
		Programs: maps.Clone(a.Ready.ProgramIDs), Locations: slices.Clone(a.Ready.LocationIDs), Refs: maps.Clone(a.Ready.Refs),
		APIKey: a.Ready.APIKey, RestrictedAPIKey: a.Ready.RestrictedAPIKey, MCPKey: a.Ready.MCPKey, TillToken: a.Ready.TillToken,
		core: &core{
			app:       a,
			clock:     c.Dev.Clock,
			transport: transport,
			client:    &http.Client{Transport: transport},
			tills:     map[string]device{},
		}}
	return s.view(noTest{}), nil
}

// For returns the same server for a subtest: its helpers fail t and not the test
// that started the server.
func (s *Server) For(t testing.TB) *Server { return s.view(t) }

// view returns a copy of the server that reports to t.
func (s *Server) view(t reporter) *Server {
	v := *s
	v.t = t
	v.Clock = &ServerClock{&v}
	return &v
}

// closeTimeout is how long Close waits for requests in flight. It then closes their
// connections.
const closeTimeout = 2 * time.Second

// Close stops the server and removes its file. A server from [Start] is closed at
// the end of the test. A second call does nothing.
func (s *Server) Close() error {
	s.transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.app.Stop(ctx)
	s.transport.CloseIdleConnections()
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // a client hangs, which is no error of the server
	}
	return err
}

// Reset gives the server the state of its start, in a millisecond or two: it has the
// demo shop, its keys and the time of the start, and no other cards, shops, keys,
// tills, webhooks, faults, mail, receivers or recorded requests. Tills and receivers
// must be asked for again with [Server.Till] and [Server.Receiver]. Requests that
// come meanwhile wait for the new state.
func (s *Server) Reset() {
	s.t.Helper()
	s.mu.Lock() // a till that is created meanwhile belongs to the new state
	defer s.mu.Unlock()
	if err := s.app.Reset(); err != nil {
		s.t.Fatal(err)
	}
	clear(s.tills)
}

// noTest is the reporter of a server that has no test.
type noTest struct{}

func (noTest) Helper()                  {}
func (noTest) Context() context.Context { return context.Background() }
func (noTest) Fatal(args ...any)        { panic(args[0]) }

// ok returns a function that returns v, or fails the test if err is not nil.
func ok[T any](v T, err error) func(reporter) T {
	return func(t reporter) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// ServerClock is the clock of a server. Expiry of cards, keys and links, idempotency
// windows, rate limits and webhook retries use it. Time-outs and delays of requests
// are real time.
type ServerClock struct{ s *Server }

// Now returns the time of the clock, in UTC and whole milliseconds.
func (c *ServerClock) Now() time.Time { return c.s.clock.Now().UTC().Truncate(time.Millisecond) }

// Advance advances the clock by d, which must not be negative. It stops at each
// instant at which a webhook is due and attempts that, so that everything that
// becomes due has happened when it returns.
func (c *ServerClock) Advance(d time.Duration) {
	c.s.t.Helper()
	c.s.operate(http.MethodPost, "/clock", map[string]string{"advance": d.String()}, nil)
}

// Set advances the clock to t, which must not be in its past, as
// [ServerClock.Advance] does.
func (c *ServerClock) Set(t time.Time) {
	c.s.t.Helper()
	c.s.operate(http.MethodPost, "/clock", map[string]time.Time{"now": t}, nil)
}
