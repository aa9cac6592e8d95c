package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/api"
	"punchcard/server/dev"
	"punchcard/server/dev/seed"
	"punchcard/server/holder"
	"punchcard/server/kernel"
	"punchcard/server/till"
	"punchcard/store"
	"punchcard/webhook"
)

// instance is all that stands on one store. A fixture that is reset gets a new
// one, so that nothing of the old has to be remembered for clearing.
type instance struct {
	http.Handler
	Store *store.Store
	Ready *seed.Ready // nil with serve

	refuse func(http.ResponseWriter, error)
	kernel *kernel.Kernel

	hooks *webhook.Sender // nil: webhooks are held
	mail  Mail            // nil: there is none, or it is held
	once  sync.Once
	ctx   context.Context // of all it does by itself, and of what waits in real time; ends with quiet
	end   context.CancelFunc
	wg    sync.WaitGroup
	dir   string // of a throw-away database
}

// The route tables are the same for all instances and are only read.
var restRoutes, tillRoutes = sync.OnceValue(api.Routes), sync.OnceValue(till.Routes)

// begin makes an instance of the configuration. start is what its file holds,
// where a reset has put that there.
func (a *App) begin(start *image) (*instance, error) {
	i := &instance{}
	i.ctx, i.end = context.WithCancel(context.Background())
	if err := i.begin(a, start); err != nil {
		return nil, errors.Join(err, i.abandon())
	}
	return i, nil
}

func (i *instance) begin(a *App, start *image) error {
	c := a.conf
	opts := store.Options{Serve: true, PublicURL: c.PublicURL, Limits: c.Store(), MaxGroup: c.MaxGroup, Log: c.Log, QueueMail: c.Mail != nil}
	if c.Metrics != nil {
		opts.Observe = c.Metrics.Group
	}
	var mail *dev.Mailbox
	var before string
	if c.Dev != nil {
		mail = &dev.Mailbox{}
		opts.Mail = mail.Put
		var err error
		if c.DB == "" {
			if i.dir, err = os.MkdirTemp("", "punchcard-dev-"); err != nil {
				return err
			}
			c.DB, opts.Ephemeral, opts.Small = filepath.Join(i.dir, "punchcard.db"), true, c.Dev.Small
			if start, err = c.Dev.write(c.DB); err != nil {
				return err
			}
		}
		if start == nil {
			if c.Dev.Deterministic {
				before = past(c.DB)
			}
			if start, err = c.Dev.fill(c.DB); err != nil {
				return err
			}
		}
		c.Dev.options(&opts, before)
	}
	st, err := store.Open(c.DB, opts)
	if err != nil {
		return err
	}
	i.Store = st
	// What ended while no server ran goes now. It also tells whether the file
	// takes writes at all: SQLite opens one that does not for reading.
	if !opts.Ephemeral {
		if err := i.forget(); err != nil {
			return fmt.Errorf("%s: %w", c.DB, err)
		}
	}
	guard := c.guard()
	var journal *dev.Journal
	var observe func(*store.Attempt, store.Outcome)
	if c.Dev != nil {
		journal = dev.NewJournal(c.Dev.Clock.Now, st.IDs)
		if !c.Dev.Bare {
			observe = journal.Delivered
		}
	}
	var watch func(method, route string) func(int)
	if c.Metrics != nil {
		observe, watch = c.Metrics.Attempt, c.Metrics.Request
	}
	if !c.HoldWebhooks {
		var idle time.Duration
		if c.Dev != nil && c.Dev.Small {
			idle = 50 * time.Millisecond
		}
		i.hooks = webhook.New(webhook.Config{Store: st, Observe: observe, Deterministic: c.Dev != nil && c.Dev.Deterministic, Idle: idle, Guard: guard, Timeout: time.Duration(c.Limits.WebhookDeliveryTimeoutMS) * time.Millisecond,
			BackoffBase: c.Limits.WebhookBackoffBase, CustomHeaders: c.CustomHeaders, UserAgent: "punchcard-webhook/" + Version, Log: c.Log})
		i.hooks.Start()
	}
	if c.Mail != nil && c.Dev == nil && !c.HoldWebhooks {
		var observe func(string)
		if c.Metrics != nil {
			observe = c.Metrics.Mail
		}
		i.mail = c.Mail
		i.mail.Start(st, c.Log, observe)
	}
	k := kernel.NewKernel(st, kernel.Config{RatePerMinute: c.rate(), IdempotencyKeyMaxLength: c.Limits.IdempotencyKeyMaxLength,
		IdempotencyWait: 30 * time.Second, Fields: c.Limits.Fields(), Log: c.Log, RequestSeed: c.requestSeed(), Observe: watch, AccessLog: c.AccessLog, TrustedProxies: c.TrustedProxies, Targets: targets(guard)})
	i.refuse, i.kernel = k.Refuse, k
	router := k.Router()
	routes := restRoutes()
	k.Mount(router, api.Prefix, routes, k.Keys())
	k.Mount(router, till.Prefix, tillRoutes(), kernel.NewTills(st))
	(&holder.Pages{Store: st, Kernel: k}).Mount(router)
	k.MountPublic(router, kernel.Public{
		Document: func() []byte { return api.Document(routes, c.Limits.Fields(), c.PublicURL+api.Prefix) },
		Docs:     func() []byte { return api.Docs(routes, c.Limits.Fields(), c.PublicURL+api.Prefix) },
		Till:     func() []byte { return till.Document(c.Limits.Fields(), c.PublicURL+till.Prefix) },
		Pricing:  a.pricing,
	})
	i.Handler = kernel.Paths(router)
	if c.Dev == nil {
		if id, _, err := st.Identify(store.Hash(seed.APIKey)); err == nil && id != nil && id.Ended(st.Now()) == "" {
			c.Log.Warn("the database was made by dev: its demo keys are public knowledge and open it to anyone", "db", c.DB)
		}
	} else {
		if start != nil {
			i.Ready = start.ready.At(a.Origin)
		} else if i.Ready, err = seed.Demo(st, a.Origin); err != nil {
			return err
		}
		faults, receivers := dev.NewFaults(i.ctx, k), dev.NewReceivers(i.ctx, k, c.Dev.Clock.Now, a.Origin)
		receivers.Rand = c.Dev.rand(before)
		(&dev.Control{Store: st, Kernel: k, Clock: c.Dev.Clock, Mail: mail, Ready: i.Ready, Settle: i.settle, Due: i.due, Context: i.ctx,
			Journal: journal, Faults: faults, Receivers: receivers}).Mount(router)
		if !c.Dev.Bare {
			i.Handler = journal.Wrap(faults.Wrap(i.Handler))
		}
		router.POST(resetPath, kernel.Plain(k, http.StatusOK, func(*http.Request, httprouter.Params, struct{}) (*seed.Ready, error) {
			err := a.Reset()
			return i.Ready, err
		}))
	}
	i.wg.Add(1)
	go i.keepHouse(c.Log)
	if c.Backups != nil {
		i.wg.Go(func() { c.Backups.run(i.ctx, st, c.Log) })
	}
	return nil
}

// requestSeed is where the numbers of request ids begin.
func (c *Config) requestSeed() uint64 {
	if c.Dev != nil && c.Dev.Deterministic {
		return 0
	}
	var seed [8]byte
	rand.Read(seed[:])
	return kernel.Seed(seed)
}

// quiet ends what the instance does by itself: it waits until ctx is done for
// the deliveries and the mail under way, and then breaks them off. Requests are
// still answered.
func (i *instance) quiet(ctx context.Context) {
	i.once.Do(func() {
		i.end()
		if i.mail != nil {
			i.wg.Go(func() { i.mail.Stop(ctx) })
		}
		if i.hooks != nil {
			i.hooks.Stop(ctx)
		}
		i.wg.Wait()
	})
}

// close ends the instance, in which no request may be left.
func (i *instance) close() error {
	i.quiet(context.Background())
	return i.abandon()
}

// abandon lets go of what a beginning has taken so far.
func (i *instance) abandon() (err error) {
	i.end()
	if i.Store != nil {
		err = i.Store.Close()
	}
	if i.dir != "" {
		err = errors.Join(err, os.RemoveAll(i.dir))
	}
	return err
}
