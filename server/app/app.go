package app

import (
	"cmp"
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
	"strings"
	"sync"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/wallet/wallettest"
	"punchcard/store"
	"punchcard/webhook"
)

// App is a running server: listeners, and an instance that answers their requests.
// Reset replaces the instance of a fixture.
type App struct {
	Origin     string // http://host:port as listened on, with 127.0.0.1 for a wildcard address
	MetricsURL string // of the Prometheus metrics; empty without them
	*instance         // guarded by gate

	conf    Config
	hosts   *kernel.Hosts
	pricing []byte
	http    *http.Server
	metrics *http.Server // nil without metrics
	plain   *http.Server // leads to https; nil without it
	certs   certificates // nil over plain http
	watch   Service      // watches certs; nil over plain http
	served  chan error   // errors of the servers
	started time.Time
	errors  *lastErrors // of the log
	each    *addressLimit

	// The rest is used with a fixture only.
	resetErr *kernel.Error      // of the last reset; guarded by gate
	gate     sync.RWMutex       // held for reading by requests and for writing while the instance is replaced
	inFlight sync.Map           // requests that are being answered: *request
	unused   sync.Map           // connections that have sent nothing yet: net.Conn
	resets   chan struct{}      // holds one element while a Reset or Stop runs
	stopping context.Context    // done from Stop on, so that no Reset begins any more
	stop     context.CancelFunc // ends stopping
	closing  sync.WaitGroup     // of instances that were replaced
}

// Limits of every connection. A client that sends its headers or its body too
// slowly is cut off.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10 // bytes
)

// Limits of connections, each of which takes about 20 KiB. More connections wait
// until one ends.
const (
	maxConnections = 8192
	maxScrapers    = 64  // connections for metrics
	maxStreams     = 100 // requests at once on one connection of HTTP/2
	reservedFiles  = 256 // open files that are left for the database, webhooks and mail
)

// defaultListen is the address without --listen and --tls-auto.
const defaultListen = "127.0.0.1:8080"

// Start listens, opens the store and serves. Its errors are one line for the
// operator.
func Start(c Config) (*App, error) {
	last := &lastErrors{}
	c.Log = last.remember(cmp.Or(c.Log, slog.New(slog.DiscardHandler)))
	if c.Dev != nil {
		if c.Dev.Clock == nil {
			c.Dev.Clock = c.Dev.newClock()
		}
		c.PassIssuer = cmp.Or(c.PassIssuer, wallettest.Demo().Issuer)
	}
	if err := c.Limits.Check(); err != nil {
		return nil, err
	}
	pricing, err := readPricing(c.PricingFile)
	if err != nil {
		return nil, err
	}
	if c.Dev != nil && c.DB != "" {
		if c.DB, err = store.CheckPath(c.DB, false); err != nil {
			return nil, err
		}
	}
	c.recallPublicURL()
	if err := c.setTLSAuto(); err != nil {
		return nil, err
	}
	c.Listen = cmp.Or(c.Listen, defaultListen)
	if c.PublicURL != "" {
		if c.PublicURL, err = CheckPublicURL(c.PublicURL, PublicURLFlag); err != nil {
			return nil, err
		}
	}
	hosts, err := c.hosts()
	if err != nil {
		return nil, err
	}
	certs, err := newCertificates(&c)
	if err != nil {
		return nil, err
	}
	ln, err := c.listen()
	if err != nil {
		return nil, err
	}
	scheme, main := "http://", ln.main
	if certs != nil {
		scheme, main = "https://", tls.NewListener(main, certs.config())
	}
	a := &App{
		Origin:  reachable(scheme + main.Addr().String()),
		hosts:   hosts,
		pricing: pricing,
		certs:   certs,
		started: time.Now(),
		errors:  last,
		each:    ln.each,
		served:  make(chan error, 3),
		resets:  make(chan struct{}, 1),
	}
	a.stopping, a.stop = context.WithCancel(context.Background())
	c.PublicURL = cmp.Or(c.PublicURL, a.Origin)
	c.ReadTimeout = cmp.Or(c.ReadTimeout, readTimeout)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, writeTimeout)
	a.conf = c
	if a.instance, err = a.newInstance(nil); err != nil {
		ln.close()
		return nil, err
	}
	if own, ok := certs.(*acmeCertificates); ok {
		own.shops = a.Store
	}
	if c.Metrics != nil {
		c.Metrics.Watch(a.Store, BuildVersion(), ln.each.refused.Load)
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", c.Metrics.Handler())
		a.metrics = a.server(kernel.SecurityHeaders(mux))
		a.MetricsURL = "http://" + ln.metrics.Addr().String() + "/metrics"
		go func() { a.served <- a.metrics.Serve(ln.metrics) }()
	}
	a.http = a.server(a.handler())
	if c.Dev != nil {
		a.http.ConnState = a.trackUnused
	}
	go func() { a.served <- a.http.Serve(main) }()
	a.serveCertificates(ln.plain)
	return a, nil
}

// recallPublicURL sets the public URL that the file remembers where none was given.
func (c *Config) recallPublicURL() {
	if c.Dev != nil || c.PublicURL != "" {
		return
	}
	url := store.RememberedURL(cmp.Or(c.Context, context.Background()), c.DB)
	// One with plain http is of a trial, before --tls-auto was given.
	if len(c.TLSAuto) == 0 || strings.HasPrefix(url, "https://") {
		c.PublicURL = url
	}
}

// trackUnused keeps the set of connections on which no request has come. It is the
// ConnState hook of a fixture's server.
func (a *App) trackUnused(c net.Conn, state http.ConnState) {
	if state != http.StateNew {
		a.unused.Delete(c)
		return
	}
	a.unused.Store(c, nil)
	if a.stopping.Err() != nil {
		c.Close()
	}
}

// server returns an HTTP server with the limits of every connection. Over HTTP/2 a
// time-out is sent to the client as a frame; WriteByteTimeout cuts off a client
// that does not read it.
func (a *App) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:                      readRest(h),
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            min(headerTimeout, a.conf.ReadTimeout),
		ReadTimeout:                  a.conf.ReadTimeout,
		WriteTimeout:                 a.conf.WriteTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeader,
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: a.conf.WriteTimeout},
		ErrorLog:                     log.New(io.Discard, "", 0),
	}
}

// maxRest is how much is read of a body that the handler left unread, in bytes, as in net/http.
const maxRest = 256 << 10

// readRest returns a handler that reads what is left of the body of a request with "Connection:
// close". net/http does so only for other requests, and closes this connection at once. A client
// that still sends then sees a reset instead of the answer. MaxBytesReader makes net/http wait half
// a second for a client that sends more.
func readRest(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := r.Body
		h.ServeHTTP(w, r)
		if r.Close && r.Header.Get("Expect") == "" {
			io.Copy(io.Discard, http.MaxBytesReader(w, body, maxRest))
		}
	})
}

// CheckTarget returns the function by which the guard checks the URL of a webhook
// before it is saved.
func CheckTarget(g *webhook.Guard) func(context.Context, string) *store.Detail {
	return func(ctx context.Context, target string) *store.Detail {
		if p := g.CheckURL(ctx, target); p != nil {
			return &store.Detail{Field: "url", Code: p.Code, Message: p.Message}
		}
		return nil
	}
}

// Routes returns the method and pattern of all routes, such as "GET /i/:token", but for
// those of the control API. Tests go through them.
func (a *App) Routes() []string { return a.kernel.Routes() }

// Wait returns a channel that receives an error if the server stops serving by
// itself.
func (a *App) Wait() <-chan error { return a.served }

// Stop accepts no more requests, waits until ctx is done for those in flight, and
// closes the store.
func (a *App) Stop(ctx context.Context) error {
	a.stop()
	a.resets <- struct{}{}
	defer func() { <-a.resets }()
	// Requests and services stop at the same time, so that a slow request does not
	// use up the time that deliveries have. What requests queue meanwhile is sent
	// after the next start.
	var services sync.WaitGroup
	services.Go(func() { a.instance.stopServices(ctx) })
	if a.watch != nil {
		services.Go(func() { a.watch.Stop(ctx) })
	}
	// Shutdown would wait for five seconds for connections on which no request has
	// come. Go's http.Transport leaves such connections.
	a.unused.Range(func(c, _ any) bool {
		c.(net.Conn).Close()
		return true
	})
	err := a.http.Shutdown(ctx)
	if err != nil && a.conf.Dev != nil {
		a.http.Close() // the process goes on, so leave nothing of the fixture
	}
	for _, beside := range []*http.Server{a.metrics, a.plain} {
		if beside != nil {
			err = errors.Join(err, beside.Shutdown(ctx))
		}
	}
	services.Wait()
	err = errors.Join(err, a.instance.close())
	a.closing.Wait()
	return err
}

// readPricing reads the operator's pricing file, which must be JSON.
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
