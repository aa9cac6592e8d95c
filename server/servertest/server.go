// Package servertest starts a server for tests and calls it as its clients do.
//
// A Server listens on a real port and keeps a real SQLite file. It is also a
// Client of one of the server's APIs, which checks every answer against the
// OpenAPI document of that API. The file can be read and changed beside the
// running server, and the server's clock can be moved.
package servertest

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/api"
	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/till"
	"punchcard/store/password"
)

// Patience is the time limit of waits that normally end much sooner. A test that waits
// so long fails. It is long, since tests run on machines with other work.
const Patience = 2 * time.Minute

// A Server is a running server and a client of its REST API, or of its till API
// after Till.
type Server struct {
	*Client
	*seed.Ready // the demo shop; only the addresses if there is none
	App         *app.App
	stop        func()
	beside      *beside
	rest, till  *source // of the documents of the REST API and the till API
	control     *source // of the document of the control API
}

// init makes hashes cheap, since tests would spend most of their time on them.
func init() { password.Memory = 8 }

// Start serves the demo shop on a free port, as "punchcard dev" does, but without what WithJournal
// adds. Options change the Config. The server stops at the end of the test, and removes its file unless
// an option names one.
func Start(t testing.TB, options ...func(*app.Config)) *Server {
	t.Helper()
	c := app.Config{Listen: "127.0.0.1:0", Limits: app.DefaultLimits(), Log: slog.New(slog.DiscardHandler), Dev: &app.Dev{Bare: true}}
	for _, o := range options {
		o(&c)
	}
	if c.DB == "" && c.Dev == nil {
		c.DB = filepath.Join(t.TempDir(), "test.db")
	}
	a, err := app.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	ready := a.Ready
	if ready == nil {
		ready = &seed.Ready{BaseURL: a.Origin + api.Prefix, Origin: a.Origin}
	}
	client := NewClient(t, ready.BaseURL, ready.APIKey)
	var b beside
	t.Cleanup(b.close) // again: a test may use the file of a server that it has stopped
	s := &Server{Client: client, Ready: ready, App: a, beside: &b, stop: sync.OnceFunc(func() {
		client.CloseIdleConnections()
		b.close()
		ctx, cancel := context.WithTimeout(context.Background(), Patience)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			t.Error(err)
		}
	})}
	t.Cleanup(s.stop)
	s.rest, s.till, s.control = newSource(&c, ready.Origin, ""), newSource(&c, ready.Origin, "/till"), newSource(&c, ready.Origin, "/dev")
	s.source = s.rest
	return s
}

// Parallel lets a test run beside others. It does nothing for a subtest, for a test that runs so already, and
// for one that has set an environment variable.
func Parallel(t testing.TB) {
	if t, ok := t.(*testing.T); ok && !strings.Contains(t.Name(), "/") {
		defer func() { recover() }() // of the panic for such a test
		t.Parallel()
	}
}

// Stop stops the server before the end of the test.
func (s *Server) Stop() { s.stop() }

// WithJournal gives a server the journal, the faults and the resets that "punchcard dev" has.
func WithJournal(c *app.Config) { c.Dev.Bare = false }

// Frozen makes the server's clock stand still at a known instant, until Advance.
func Frozen(c *app.Config) {
	c.Dev.Clock = app.NewClock(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
}

// With returns a client of the same server with another key.
func (s *Server) With(key string) *Server {
	c := *s
	c.Client = s.Client.With(key)
	return &c
}

// On returns the same client that reports to t, a subtest.
func (s *Server) On(t testing.TB) *Server {
	c := *s
	c.Client = s.Client.On(t)
	return &c
}

// REST returns a client of the REST API: s itself if it is one already, else
// one with the demo key.
func (s *Server) REST() *Server {
	if s.URL == s.BaseURL {
		return s
	}
	c := s.With(s.APIKey)
	c.URL, c.source = s.BaseURL, s.rest
	return c
}

// Till returns a client of the till API with a device's token.
func (s *Server) Till(token string) *Server {
	c := s.With(token)
	c.URL, c.source = s.Origin+till.Prefix, s.till
	return c
}

// ControlAPI returns a client of the control API.
func (s *Server) ControlAPI() *Client {
	c := s.Client.With("")
	c.URL, c.source = s.Origin+"/dev", s.control
	return c
}

// Control calls the control API, which must answer with success.
func (s *Server) Control(method, path string, body any) *Reply {
	s.T.Helper()
	r := s.ControlAPI().Call(method, path, body)
	if r.Status >= 300 {
		s.T.Fatalf("%s: %d %s", r.What, r.Status, r.Body)
	}
	return r
}

// Advance moves the server's clock by a duration such as "36h".
func (s *Server) Advance(by string) {
	s.T.Helper()
	s.Control("POST", "/clock", Fields{"advance": by})
}

// Setup makes the tests of a package quicker. They run twice as many at once as there are
// processors, unless -parallel is given, since tests that start servers often wait for the
// disk and for processes. Garbage is collected less often, unless GOGC is set: tests have
// small heaps that live briefly.
func Setup() {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		f.Value.Set(fmt.Sprint(2 * runtime.GOMAXPROCS(0)))
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// Main runs a package's tests. A run of all tests fails unless each of the routes has
// answered with success at least once. This does not hold under the race detector, where
// only a sample of the answers is checked.
func Main(m *testing.M, routes []kernel.Route) {
	Setup()
	code := m.Run()
	if code == 0 && !racing && !slices.ContainsFunc(os.Args, func(a string) bool {
		return strings.HasPrefix(a, "-test.run") || strings.HasPrefix(a, "-test.skip") || strings.HasPrefix(a,
			"-test.bench=") || strings.HasPrefix(a, "-test.fuzz=")
	}) {
		for _, r := range routes {
			if _, ok := succeeded.Load(r.ID); !ok {
				fmt.Printf("FAIL: no test calls %s (%s %s) with success\n", r.ID, r.Method, r.Path)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// Simultaneously runs f n times, all of which begin together, and returns the
// results.
func Simultaneously[R any](n int, f func(int) R) []R {
	out, begin := make([]R, n), make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-begin
			out[i] = f(i)
		})
	}
	close(begin)
	wg.Wait()
	return out
}

// Sized returns the full size of a benchmark or, with go test -short, a small one
// that only shows that the benchmark works.
func Sized[T any](full, small T) T {
	if testing.Short() {
		return small
	}
	return full
}

// Sample returns all cases of a test or, with go test -short, every eighth. With -short
// tests run under the race detector, which looks for what goroutines share: it needs some
// cases of each kind, and takes ten times as long for each.
func Sample[T any](cases []T) (some []T) {
	if !testing.Short() {
		return cases
	}
	for i := 0; i < len(cases); i += 8 {
		some = append(some, cases[i])
	}
	return some
}

// Sampled reports whether a test makes its n-th case. With go test -short it is true for every
// seventh: see Sample. It is for cases that nested loops make; seven divides the number of
// rounds of none of them, so that the sample has each value of each loop.
func Sampled(n int) bool { return !testing.Short() || n%7 == 0 }

// Await receives from a channel, and ends the test if that takes longer than Patience.
func Await[T any](t testing.TB, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
		return v
	case <-time.After(Patience):
		t.Fatalf("timed out waiting for: %s", what)
	}
	return v
}
