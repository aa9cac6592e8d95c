package app

import (
	"context"
	"crypto/rand"
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

	"punchcard/server"
	"punchcard/server/api"
	"punchcard/server/dev"
	"punchcard/server/holder"
	"punchcard/server/till"
	"punchcard/store"
	"punchcard/webhook"
)

// App is a running server.
type App struct {
	Store  *store.Store
	Origin string // http://host:port as listened on
	Ready  *dev.Ready

	http   *http.Server
	hooks  *webhook.Sender // nil: webhooks are held
	served chan error
	stop   chan struct{}
	wg     sync.WaitGroup
	dir    string             // of a throw-away database
	end    context.CancelFunc // of what a fixture's requests wait for
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
	a := &App{Origin: "http://" + ln.Addr().String(), served: make(chan error, 1), stop: make(chan struct{})}
	if c.PublicURL == "" {
		c.PublicURL = a.Origin
	}
	if err := a.start(c, pricing, ln); err != nil {
		ln.Close()
		return nil, err
	}
	return a, nil
}

func (a *App) start(c Config, pricing []byte, ln net.Listener) error {
	opts := store.Options{Serve: true, PublicURL: c.PublicURL, Limits: c.Store(), MaxGroup: c.MaxGroup, Log: c.Log}
	var mail *dev.Mailbox
	if c.Dev != nil {
		mail = &dev.Mailbox{}
		opts.Now, opts.IDSecret, opts.Mail = c.Dev.Clock.Now, dev.IDSecret, mail.Put
		if c.DB == "" {
			dir, err := os.MkdirTemp("", "punchcard-dev-")
			if err != nil {
				return err
			}
			a.dir = dir
			c.DB, opts.Ephemeral = dir+"/punchcard.db", true
		}
	}
	st, err := store.Open(c.DB, opts)
	if err != nil {
		return errors.Join(err, a.Stop(context.Background()))
	}
	a.Store = st
	// What ended while no server ran goes now. It also tells whether the file
	// takes writes at all: SQLite opens one that does not for reading.
	if err := a.forget(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", c.DB, err), a.Stop(context.Background()))
	}
	guard := c.guard()
	var journal *dev.Journal
	var observe func(*store.Attempt, store.Outcome)
	if c.Dev != nil {
		journal = dev.NewJournal(c.Dev.Clock.Now, st.IDs)
		observe = journal.Delivered
	}
	if !c.HoldWebhooks {
		a.hooks = webhook.New(webhook.Config{Observe: observe, Store: st, Guard: guard, Timeout: time.Duration(c.Limits.WebhookDeliveryTimeoutMS) * time.Millisecond,
			BackoffBase: c.Limits.WebhookBackoffBase, CustomHeaders: c.CustomHeaders, UserAgent: "punchcard-webhook/" + Version, Log: c.Log})
		a.hooks.Start()
	}
	var seed [8]byte
	rand.Read(seed[:])
	kernel := server.NewKernel(st, server.Config{RatePerMinute: c.rate(), IdempotencyKeyMaxLength: c.Limits.IdempotencyKeyMaxLength,
		IdempotencyWait: 30 * time.Second, Fields: c.Limits.Fields(), Log: c.Log, RequestSeed: server.Seed(seed), Targets: targets(guard)})
	router := kernel.Router()
	handler := server.Paths(router)
	routes := api.Routes()
	kernel.Mount(router, api.Prefix, routes, kernel.Keys())
	kernel.Mount(router, till.Prefix, till.Routes(), server.NewTills(st))
	(&holder.Pages{Store: st, Kernel: kernel}).Mount(router)
	kernel.MountPublic(router, server.Public{
		Document: func() []byte { return api.Document(routes, c.Limits.Fields(), c.PublicURL+api.Prefix) },
		Docs:     func() []byte { return api.Docs(routes, c.Limits.Fields(), c.PublicURL+api.Prefix) },
		Till:     func() []byte { return till.Document(c.Limits.Fields(), c.PublicURL+till.Prefix) },
		Pricing:  pricing,
	})
	if c.Dev == nil {
		if id, _, err := st.Identify(store.Hash(dev.APIKey)); err == nil && id != nil && id.Ended(st.Now()) == "" {
			c.Log.Warn("the database was made by dev: its demo keys are public knowledge and open it to anyone", "db", c.DB)
		}
	}
	if c.Dev != nil {
		if a.Ready, err = dev.Seed(st, a.Origin); err != nil {
			return errors.Join(err, a.Stop(context.Background()))
		}
		ctx, end := context.WithCancel(context.Background())
		a.end = end
		faults, receivers := dev.NewFaults(ctx, kernel), dev.NewReceivers(ctx, kernel, c.Dev.Clock.Now, a.Origin)
		(&dev.Control{Store: st, Kernel: kernel, Clock: c.Dev.Clock, Mail: mail, Ready: a.Ready, Settle: a.settle, Due: a.due,
			Journal: journal, Faults: faults, Receivers: receivers}).Mount(router)
		handler = journal.Wrap(faults.Wrap(handler))
	}
	if c.ReadTimeout == 0 {
		c.ReadTimeout = readTimeout
	}
	a.http = &http.Server{Handler: handler, ReadHeaderTimeout: min(headerTimeout, c.ReadTimeout), ReadTimeout: c.ReadTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { a.served <- a.http.Serve(ln) }()
	a.wg.Add(1)
	go a.keepHouse(c.Log)
	return nil
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
	close(a.stop)
	if a.end != nil {
		a.end()
	}
	var err error
	// Side by side: a request that takes its time must not use up that of the
	// deliveries. What requests queue meanwhile is sent after the next start.
	var both sync.WaitGroup
	if a.hooks != nil {
		both.Go(func() { a.hooks.Stop(ctx) })
	}
	if a.http != nil {
		err = a.http.Shutdown(ctx)
	}
	both.Wait()
	a.wg.Wait()
	if a.Store != nil {
		err = errors.Join(err, a.Store.Close())
	}
	if a.dir != "" {
		err = errors.Join(err, os.RemoveAll(a.dir))
	}
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
