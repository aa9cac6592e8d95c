package app

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"punchcard/server/kernel"
	"punchcard/store"
	"punchcard/webhook"
)

// App is a running server: a listener, and behind it what serves. Reset puts
// another in its place.
type App struct {
	Origin     string // http://host:port as listened on
	MetricsURL string // of the scrape; empty: none
	*instance         // guarded by gate

	conf    Config
	pricing []byte
	http    *http.Server
	scrapes *http.Server
	served  chan error

	failed *kernel.Error // the last reset did not succeed; guarded by gate
	gate   sync.RWMutex  // held for reading by requests, while the instance stays
	flight sync.Map      // *exchange of requests to a fixture
	unused sync.Map      // net.Conn of a fixture's clients that have sent nothing yet
	turn   chan struct{} // of one: a reset, or the end, at a time
	ending chan struct{} // closed at the end: a reset that waits for its turn is a request to be waited for
	ended  sync.Once
	behind sync.WaitGroup
}

// Time-outs of every connection. A client that sends its headers or body a
// byte at a time is cut off.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
)

// How many connections are taken at once, each of which costs some 20 KiB; more
// wait until one ends. Of HTTP/2 each may have so many requests under way.
const (
	maxConnections = 8192
	maxScrapers    = 64
	maxStreams     = 100
	keptFiles      = 256 // of what the system allows are for the database, webhooks and mail
)

// Start listens first, then opens the store and serves. Its errors are one
// line, fit for the operator.
func Start(c Config) (*App, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if err := c.Limits.Check(); err != nil {
		return nil, err
	}
	pricing, err := readPricing(c.PricingFile)
	if err != nil {
		return nil, err
	}
	if c.PublicURL != "" {
		if c.PublicURL, err = checkPublicURL(c.PublicURL); err != nil {
			return nil, err
		}
	}
	ln, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("--listen (PUNCHCARD_LISTEN): %w", err)
	}
	if c.MaxConnections == 0 {
		c.MaxConnections = max(1, min(maxConnections, openFiles()-keptFiles))
	}
	ln = bound(ln, c.MaxConnections)
	scheme := "http://"
	if c.TLSCert != "" || c.TLSKey != "" {
		own, err := newCertificate(c.TLSCert, c.TLSKey, c.Log)
		if err != nil {
			ln.Close()
			return nil, err
		}
		scheme, ln = "https://", tls.NewListener(ln, own.config())
	}
	a := &App{Origin: scheme + ln.Addr().String(), pricing: pricing, served: make(chan error, 2), turn: make(chan struct{}, 1), ending: make(chan struct{})}
	if c.PublicURL == "" {
		c.PublicURL = a.Origin
	}
	if c.ReadTimeout == 0 {
		c.ReadTimeout = readTimeout
	}
	if c.WriteTimeout == 0 {
		c.WriteTimeout = writeTimeout
	}
	a.conf = c
	var scrapes net.Listener
	if c.Metrics != nil {
		if scrapes, err = net.Listen("tcp", c.MetricsListen); err != nil {
			ln.Close()
			return nil, fmt.Errorf("--metrics-listen (PUNCHCARD_METRICS_LISTEN): %w", err)
		}
		scrapes = bound(scrapes, maxScrapers)
	}
	if a.instance, err = a.newInstance(nil); err != nil {
		ln.Close()
		if scrapes != nil {
			scrapes.Close()
		}
		return nil, err
	}
	if c.Metrics != nil {
		c.Metrics.Watch(a.Store, Version)
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", c.Metrics.Handler())
		a.scrapes = a.server(kernel.SecurityHeaders(mux))
		a.MetricsURL = "http://" + scrapes.Addr().String() + "/metrics"
		go func() { a.served <- a.scrapes.Serve(scrapes) }()
	}
	var handler http.Handler = a.instance
	if c.Dev != nil && !c.Dev.Bare {
		handler = http.HandlerFunc(a.serveDev)
	}
	a.http = a.server(handler)
	if c.Dev != nil {
		a.http.ConnState = a.noteUnused
	}
	go func() { a.served <- a.http.Serve(ln) }()
	return a, nil
}

// noteUnused keeps account of the connections on which no request has come.
func (a *App) noteUnused(c net.Conn, state http.ConnState) {
	if state != http.StateNew {
		a.unused.Delete(c)
		return
	}
	a.unused.Store(c, nil)
	select {
	case <-a.ending:
		c.Close()
	default:
	}
}

// closeUnused closes them. Shutdown would wait for five seconds whether one is
// about to be used; the transports of Go's clients leave such behind.
func (a *App) closeUnused() {
	a.unused.Range(func(c, _ any) bool {
		c.(net.Conn).Close()
		return true
	})
}

// server is an HTTP server with the limits of every socket. HTTP/2 ends a
// request late by a frame, which needs a client that reads: WriteByteTimeout is
// for one that does not.
func (a *App) server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: min(headerTimeout, a.conf.ReadTimeout), ReadTimeout: a.conf.ReadTimeout, WriteTimeout: a.conf.WriteTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: a.conf.WriteTimeout}, ErrorLog: log.New(io.Discard, "", 0)}
}

// targets has the guard look at a webhook's URL before it is saved.
func targets(g *webhook.Guard) func(context.Context, string) *store.Detail {
	return func(ctx context.Context, target string) *store.Detail {
		if p := g.CheckURL(ctx, target); p != nil {
			return &store.Detail{Field: "url", Code: p.Code, Message: p.Message}
		}
		return nil
	}
}

// Wait returns when the server stops serving by itself, which is an error.
func (a *App) Wait() <-chan error { return a.served }

// Stop takes no further requests, lets those in flight finish until ctx is
// done, and closes the store.
func (a *App) Stop(ctx context.Context) error {
	a.ended.Do(func() { close(a.ending) })
	a.turn <- struct{}{}
	defer func() { <-a.turn }()
	// Side by side: a request that takes its time must not use up that of the
	// deliveries. What requests queue meanwhile is sent after the next start.
	var both sync.WaitGroup
	both.Go(func() { a.instance.stopServices(ctx) })
	a.closeUnused()
	err := a.http.Shutdown(ctx)
	if err != nil && a.conf.Dev != nil {
		a.http.Close() // the process goes on, and nothing is to be left of the fixture
	}
	if a.scrapes != nil {
		err = errors.Join(err, a.scrapes.Shutdown(ctx))
	}
	both.Wait()
	err = errors.Join(err, a.instance.close())
	a.behind.Wait()
	return err
}

// readPricing reads the operator's pricing file; it must be JSON.
func readPricing(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("--pricing-file (PUNCHCARD_PRICING_FILE): %w", err)
	case len(b) > 1<<20 || !json.Valid(b):
		return nil, fmt.Errorf("--pricing-file (PUNCHCARD_PRICING_FILE): %s must be JSON of at most 1 MiB", path)
	}
	return b, nil
}
