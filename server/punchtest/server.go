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
// A server starts in milliseconds and shares nothing with any other, so each
// test has its own and all may run in parallel. It ends with its test, and
// leaves neither files nor goroutines nor connections.
//
// What a helper cannot do fails the test at the line that called it; a test
// that failed prints what went over the wire. Helpers of a server that was made
// with [New], which has no test, panic with the error instead.
//
// The module is named punchcard, which no proxy can serve: require
// "punchcard v0.0.0" and replace it by the path of a checkout.
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
// locations and a published program of each type. All but [Server.Close] may
// be called from any goroutine, as far as the test may fail in it: helpers end
// a test with FailNow, which belongs in the test's own goroutine.
type Server struct {
	Origin  string // http://127.0.0.1:PORT
	URL     string // of the REST API: Origin + /api/public/v1
	TillURL string // of the till API: Origin + /till/v1

	// The demo shop. Ids and keys are the same in every server, and after a
	// reset.
	Shop             string            // id
	Programs         map[string]string // ids by type: standard, private, discount, access, prepaid
	Locations        []string          // ids of two; of a seed all of its first shop
	Refs             map[string]string // of a [Seed]: ids by the refs of the file
	APIKey           string            // with every scope
	RestrictedAPIKey string            // with every scope, at Locations[0] only
	MCPKey           string            // which the REST API refuses
	TillToken        string            // of a device at Locations[0]

	Clock *ServerClock // the server's one clock

	*core
	t reporter
}

// core is what all views of one server share.
type core struct {
	app       *app.App
	clock     *app.Clock
	transport *http.Transport
	client    *http.Client

	mu    sync.Mutex
	tills map[string]string // device tokens by location; a reset ends them
}

// reporter is the part of a testing.TB that helpers need.
type reporter interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}

// Start starts a server for a test or benchmark and stops it when that ends,
// however it ends. When the test has failed by then, the requests that the
// server answered are in its log.
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

// panicking tells whether the goroutine is on its way out after a panic. Cleanups
// run before the testing package takes a test that panicked for failed.
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

// New starts a server without a test, for examples, TestMain, and programs of
// their own. The caller closes it.
func New(options ...Option) (*Server, error) {
	c, err := configure(options)
	if err != nil {
		return nil, err
	}
	a, err := app.Start(c)
	if err != nil {
		return nil, err
	}
	// No proxy of the environment: the server is on this machine. Buffers are
	// small because a test binary has hundreds of servers.
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 2, ReadBufferSize: 2 << 10, WriteBufferSize: 2 << 10,
		IdleConnTimeout: 50 * time.Millisecond} // each holds some 40 kB at its two ends
	s := &Server{Origin: a.Origin, URL: a.Ready.BaseURL, TillURL: a.Origin + "/till/v1", Shop: a.Ready.ShopID,
		Programs: maps.Clone(a.Ready.ProgramIDs), Locations: slices.Clone(a.Ready.LocationIDs), Refs: maps.Clone(a.Ready.Refs),
		APIKey: a.Ready.APIKey, RestrictedAPIKey: a.Ready.RestrictedAPIKey, MCPKey: a.Ready.MCPKey, TillToken: a.Ready.TillToken,
		core: &core{app: a, clock: c.Dev.Clock, transport: transport, client: &http.Client{Transport: transport}, tills: map[string]string{}}}
	return s.view(alone{}), nil
}

// For is the same server for a subtest: what fails then fails t, and not the
// test that started the server.
func (s *Server) For(t testing.TB) *Server { return s.view(t) }

func (s *Server) view(t reporter) *Server {
	v := *s
	v.t = t
	v.Clock = &ServerClock{&v}
	return &v
}

// patience is how long requests that are under way may take to end when their
// server closes; then their connections are cut.
const patience = 2 * time.Second

// Close stops the server and removes its file. [Start] does it by itself. A
// second call does nothing.
func (s *Server) Close() error {
	s.transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := s.app.Stop(ctx)
	s.transport.CloseIdleConnections()
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // a client that hangs is no fault of the server
	}
	return err
}

// Reset makes the server what it was at its start, in a millisecond or two: the
// demo shop, its keys and the clock are back; cards, further shops, keys, tills,
// webhooks, faults, mail, receivers and the record of requests are gone. A
// [Till] from before has to be asked for again, as has a [Receiver]. Requests
// that come meanwhile wait for the new state.
func (s *Server) Reset() {
	s.t.Helper()
	s.mu.Lock() // a till that is made meanwhile belongs to the new state
	defer s.mu.Unlock()
	if err := s.app.Reset(); err != nil {
		s.t.Fatal(err)
	}
	clear(s.tills)
}

// alone reports for a server that has no test.
type alone struct{}

func (alone) Helper()                  {}
func (alone) Context() context.Context { return context.Background() }
func (alone) Fatal(args ...any)        { panic(args[0]) }

// ok hands on what a call gave, or ends the test with its error.
func ok[T any](v T, err error) func(reporter) T {
	return func(t reporter) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
