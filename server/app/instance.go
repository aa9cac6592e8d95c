package app

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/api"
	"punchcard/server/dashboard"
	"punchcard/server/dev"
	"punchcard/server/dev/seed"
	"punchcard/server/holder"
	"punchcard/server/kernel"
	"punchcard/server/mcp"
	"punchcard/server/till"
	"punchcard/server/tillpage"
	"punchcard/server/wallet"
	"punchcard/server/wallet/apple"
	"punchcard/server/wallet/google"
	"punchcard/server/wallet/wallettest"
	"punchcard/store"
	"punchcard/webhook"
)

// instance is a store with everything that uses it. A reset gives a fixture a new
// instance, so that no part needs code to clear its state.
type instance struct {
	http.Handler
	Store *store.Store
	Ready *seed.Ready // nil with serve

	kernel *kernel.Kernel
	hosts  *kernel.Hosts // of the server and the shops
	mcp    *mcp.Face
	mail   dev.Mailbox // of a fixture
	phones *dev.Phones // of a fixture; nil with serve

	services     services
	webhooks     *webhook.Sender // one of the services; nil if webhooks are held
	pushes       *wallet.Sender  // likewise
	google       *wallet.Google  // nil if webhooks are held
	housekeeping *housekeeping   // one of the services
	backups      *backups        // one of the services; nil without backups
	ctx          context.Context // of requests that wait in real time; ends with the services
	cancel       context.CancelFunc
	dir          string // folder of a temporary database, or empty
}

// The route tables are the same for all instances and are only read.
var restRoutes, tillRoutes = sync.OnceValue(api.Routes), sync.OnceValue(till.Routes)

// fixtureAPIs are the APIs whose requests a fixture records and can let fail.
var fixtureAPIs = dev.APIs{REST: api.Prefix, Till: till.Prefix, MCP: mcp.Path}

// newInstance returns an instance whose services run. start is the image that a reset has
// written to its file, or that it writes to a temporary one; nil: the image of the start.
func (a *App) newInstance(start *image) (*instance, error) {
	i := &instance{}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	err := i.build(a, start)
	if err == nil {
		err = i.services.Start()
	}
	if err != nil {
		return nil, errors.Join(err, i.close())
	}
	return i, nil
}

// storeOptions returns the options of the store that do not depend on the fixture.
func (c *Config) storeOptions() store.Options {
	return store.Options{
		Context:   c.Context,
		Progress:  c.Progress,
		Serve:     true,
		PublicURL: c.PublicURL,
		Limits:    c.Store(),
		MaxGroup:  c.MaxGroup,
		Log:       c.Log,
		QueueMail: c.Mail != nil,
		NoCopy:    c.NoCopy,
	}
}

// build opens the store and builds everything that uses it.
func (i *instance) build(a *App, start *image) (err error) {
	c := a.conf
	opts := c.storeOptions()
	opts.Migrated = func(m store.Migration) {
		c.Log.Info(fmt.Sprintf("schema %d → %d", m.From, m.To), "db", c.DB, "copy", m.Copy)
	}
	if c.Metrics != nil {
		opts.Observe = c.Metrics.Group
	}
	var before string
	if c.Dev != nil {
		opts.Mail = i.mail.Put
		if start, before, err = i.prepareFixture(&c, &opts, start); err != nil {
			return err
		}
	}
	st, err := store.Open(c.DB, opts)
	if err != nil {
		return err
	}
	i.Store, i.hosts = st, a.hosts.WithShops(c.PublicURL, st.ShopURL)
	i.housekeeping = newHousekeeping(st, c.Log)
	// Delete what expired while no server ran. This also fails if the file cannot be
	// written, which SQLite opens for reading.
	if !opts.Ephemeral {
		if err := i.housekeeping.pruneIdempotency(context.Background()); err != nil {
			return fmt.Errorf("%s: %w", c.DB, err)
		}
		i.housekeeping.pruneCopies()
	}
	targets := c.guard()
	var journal *dev.Journal
	var onAttempt func(*store.Attempt, store.Outcome)
	if c.Dev != nil {
		journal = dev.NewJournal(c.Dev.Clock.Now, st, fixtureAPIs)
		journal.Watch = c.Dev.Watch
		if !c.Dev.Bare {
			onAttempt = journal.Delivered
		}
	}
	var onRequest func(method, route string) func(int)
	if c.Metrics != nil {
		onAttempt, onRequest = c.Metrics.Attempt, c.Metrics.Request
	}
	if c.Dev != nil {
		i.phones = dev.NewPhones(i.ctx, a.Origin, c.Dev.rand(before))
	}
	if c.Dev != nil && !opts.Ephemeral && c.GoogleWalletURL == "" {
		if err := st.SystemWrite(context.Background(), (*store.Tx).ForgetGoogle); err != nil {
			return err
		}
	}
	i.makeServices(&c, targets, onAttempt)
	k := kernel.New(st, i.kernelConfig(a, targets, onRequest))
	i.kernel, i.housekeeping.uses = k, k.TakeUses
	router := k.Router()
	keys := api.NewGuard(st, c.rate())
	k.Mount(router, api.Prefix, restRoutes(), keys)
	k.Mount(router, till.Prefix, tillRoutes(), till.NewGuard(st, c.tillRate()).AcceptCookies(i.hosts))
	i.mountPages(a, &c, k, router)
	if c.Dev == nil {
		return i.checkServed(c)
	}
	return i.mountFixture(a, router, start, before, targets, keys, journal)
}

// kernelConfig returns the configuration of the kernel.
func (i *instance) kernelConfig(a *App, targets *webhook.Guard, onRequest func(method, route string) func(int)) kernel.Config {
	c := a.conf
	conf := kernel.Config{
		IdempotencyKeyMaxLength: c.Limits.IdempotencyKeyMaxLength,
		IdempotencyWait:         30 * time.Second,
		Fields:                  c.Limits.Fields(),
		PassIssuer:              c.PassIssuer,
		Fixture:                 c.Dev != nil,
		Log:                     c.Log,
		RequestSeed:             c.requestSeed(),
		Observe:                 onRequest,
		AccessLog:               c.AccessLog,
		TrustedProxies:          c.TrustedProxies,
		CheckTarget:             CheckTarget(targets),
		ErrorPage:               errorPage,
		TestMail:                i.testMail(&c),
	}
	if i.google != nil { // a nil pointer would be a GoogleWallet
		conf.Google = i.google
	}
	if i.backups != nil {
		conf.Backups = i.backups
	}
	return conf
}

// checkServed warns of a file that is open to anyone, and logs the set-up link of a file without
// an operator.
func (i *instance) checkServed(c Config) error {
	id, err := i.Store.Identify(store.Hash(seed.APIKey))
	if err == nil && id != nil && id.EndReason(i.Store.Now()) == "" {
		c.Log.Warn("the database was made by dev: its demo keys are public knowledge and open it to anyone", "db", c.DB)
	}
	if err := logSetupLink(i.Store, c.Log); err != nil {
		return fmt.Errorf("%s: %w", c.DB, err)
	}
	return nil
}

// mountPages adds the endpoint for assistants and all pages to the router, and sets the handler
// of the instance.
func (i *instance) mountPages(a *App, c *Config, k *kernel.Kernel, router *httprouter.Router) {
	i.mcp = mcp.New(mcp.Config{Kernel: k, PerMinute: c.Limits.MCPKeyRateLimitPerMinute,
		PerDay: c.Limits.MCPKeyDailyCallBudget, Version: Version})
	i.mcp.Mount(router)
	i.services = append(i.services, newLoop(i.countCalls))
	(&tillpage.Pages{Kernel: k, Hosts: i.hosts}).Mount(router)
	cards := holder.New(holder.Config{
		Kernel: k, Hosts: i.hosts, Context: i.ctx, Streams: c.Limits.HolderStreams,
		Passes: &wallet.Passes{Issuer: cmp.Or(c.PassIssuer, apple.WWDR())}, Pushes: i.pushes,
	})
	cards.Mount(router)
	pages := dashboard.New(dashboard.Config{
		Kernel: k, Hosts: i.hosts, InsecureCookies: c.InsecureCookies, Context: i.ctx,
		Status: func() dashboard.Status { return a.status(i) }, Fixture: c.Dev != nil, CustomHeaders: c.CustomHeaders,
		Clients: clients, Mails: c.Mail != nil || c.Dev != nil, Streams: c.Limits.DashboardStreams,
	})
	a.mountPublic(router, k, i.samples)
	i.Handler = k.RefuseEmptySegments(pages.Mount(router))
	if c.Dev == nil { // inside KeepEscapedSlashes, so that the rule sees the paths as the router does
		i.Handler = a.refuseForeign(i.Handler, func() *instance { return i })
	}
	i.Handler = kernel.KeepEscapedSlashes(i.Handler)
}

// callsInterval is how often the counts of the calls of MCP keys are written.
const callsInterval = time.Second

// countCalls writes the counts of the calls of MCP keys until ctx is done. The end of the
// instance writes them once more.
func (i *instance) countCalls(ctx context.Context) { every(ctx, callsInterval, i.flushCalls) }

func (i *instance) flushCalls() {
	if i.mcp == nil {
		return
	}
	if err := i.mcp.Flush(); err != nil {
		i.kernel.Log().Error("the calls of MCP keys were not written", "error", err)
	}
}

// prepareFixture sets the options of a fixture's store and fills its file if that
// is empty. It returns the image that the file was filled with, which is start after
// a reset, and a digest of what the file held before (see Dev.rand).
func (i *instance) prepareFixture(c *Config, opts *store.Options, start *image) (_ *image, before string, err error) {
	if c.DB == "" {
		if i.dir, err = tempFolder("punchcard-dev-"); err != nil {
			return nil, "", err
		}
		c.DB, opts.Ephemeral, opts.Small = filepath.Join(i.dir, "punchcard.db"), true, c.Dev.Small
		if start == nil {
			if start, err = loadImage(c.Dev); err != nil {
				return nil, "", err
			}
		}
		if err = start.write(c.DB); err != nil {
			return nil, "", err
		}
	}
	if start == nil {
		if c.Dev.Deterministic {
			before = fileDigest(c.DB)
		}
		if start, err = c.Dev.fill(c.DB); err != nil {
			return nil, "", err
		}
	}
	c.Dev.setOptions(opts, before)
	return start, before, nil
}

// makeServices creates the services of the configuration, in the order in which
// they start. onAttempt is called with each attempt to deliver a webhook.
func (i *instance) makeServices(c *Config, targets *webhook.Guard, onAttempt func(*store.Attempt, store.Outcome)) {
	if !c.HoldWebhooks {
		conf := webhook.Config{
			Store:         i.Store,
			Guard:         targets,
			Timeout:       time.Duration(c.Limits.WebhookDeliveryTimeoutMS) * time.Millisecond,
			BackoffBase:   c.Limits.WebhookBackoffBase,
			CustomHeaders: c.CustomHeaders,
			UserAgent:     "punchcard-webhook/" + Version,
			Log:           c.Log,
			Observe:       onAttempt,
		}
		if c.Dev != nil {
			conf.Deterministic = c.Dev.Deterministic
			if c.Dev.Small {
				conf.Idle = 50 * time.Millisecond
			}
		}
		i.webhooks = webhook.New(conf)
		i.google = &wallet.Google{
			Store:     i.Store,
			URL:       cmp.Or(c.GoogleWalletURL, google.DefaultURL),
			Transport: targets.Transport(16),
			Keys:      &google.Keys{URL: cmp.Or(c.GoogleKeysURL, google.DefaultKeysURL), Transport: targets.Transport(1)},
		}
		if i.phones != nil && c.GoogleWalletURL == "" {
			i.google.URL, i.google.Transport = wallettest.DemoGoogleURL, i.phones.GoogleTransport()
			if c.GoogleKeysURL == "" {
				i.google.Keys = &google.Keys{URL: wallettest.DemoGoogleURL + "/keys", Transport: i.google.Transport}
			}
		}
		i.pushes = wallet.NewSender(i.pushConfig(c, targets))
		i.services = append(i.services, i.webhooks, i.pushes)
	}
	if c.Mail != nil && c.Dev == nil && !c.HoldWebhooks {
		onMail := func(string) {}
		if c.Metrics != nil {
			onMail = c.Metrics.Mail
		}
		i.services = append(i.services, c.Mail(i.Store, c.Log, onMail))
	}
	h := i.housekeeping
	i.services = append(i.services, h, h.whenDue(i.Store.ImportsDue(), (*store.View).ImportsWait, h.runImports),
		h.whenDue(i.Store.CardRunsDue(), (*store.View).CardRunsWait, h.runCardRuns))
	if c.Backups != nil {
		i.backups = newBackups(c.Backups, i.Store, c.Log)
		i.services = append(i.services, i.backups)
	}
}

// pushConfig returns the configuration for bringing the copies of cards up to date.
func (i *instance) pushConfig(c *Config, targets *webhook.Guard) wallet.Config {
	conf := wallet.Config{
		Store:     i.Store,
		Transport: targets.Transport(16),
		Subject:   c.PushSubject,
		Google:    i.google,
		Backoff: func(attempts int) time.Duration {
			return webhook.Backoff(c.Limits.WebhookBackoffBase, attempts, rand.Float64())
		},
		ApplePush: func() (string, *x509.CertPool) { return cmp.Or(c.ApplePushURL, wallet.ApplePushURL), c.AppleRoots },
		Log:       c.Log,
	}
	if i.phones == nil {
		conf.Watch = true
	} else if c.ApplePushURL == "" {
		conf.ApplePush = i.phones.ApplePush
	}
	return conf
}

// testMail returns the function that sends a message at once, nil without a mail server.
// Under dev it puts the message into the mailbox of the fixture.
func (i *instance) testMail(c *Config) func(context.Context, store.Mail) error {
	if c.Dev == nil {
		return c.TestMail
	}
	return func(_ context.Context, m store.Mail) error {
		i.mail.Put(m)
		return nil
	}
}

// logSetupLink replaces the set-up link and logs it, unless there is an operator. No
// other line of the log has its token.
func logSetupLink(st *store.Store, log *slog.Logger) error {
	has, err := store.Read(st, (*store.View).HasOperator)
	if err != nil || has {
		return err
	}
	return st.SystemWrite(context.Background(), func(tx *store.Tx) error {
		l, ok, err := tx.NewSetupLink()
		if ok && err == nil {
			tx.AfterCommit(func() {
				log.Info("nobody runs this server yet: set it up in a browser", "link", l.URL, "until", l.ExpiresAt.String())
			})
		}
		return err
	})
}

// requestSeed returns the first number of request ids.
func (c *Config) requestSeed() uint64 {
	if c.Dev != nil && c.Dev.Deterministic {
		return 0
	}
	return rand.Uint64()
}

// stopServices stops the services and ends the requests that wait in real time.
// Requests are still answered afterwards.
func (i *instance) stopServices(ctx context.Context) {
	i.cancel()
	i.services.Stop(ctx)
	if i.phones != nil {
		i.phones.Close()
	}
}

// close stops the services and closes the store. No request may be in progress. The
// instance may be incomplete.
func (i *instance) close() (err error) {
	i.stopServices(context.Background())
	if i.Store != nil {
		if i.dir == "" { // else the file is deleted
			i.housekeeping.noteUses()
			i.flushCalls()
		}
		err = i.Store.Close()
	}
	if i.dir != "" {
		err = errors.Join(err, os.RemoveAll(i.dir))
	}
	return err
}

// clients returns how each client of assistants is set up, for the pages about them.
func clients(origin, key string) (all []dashboard.Client) {
	for _, c := range mcp.Clients(origin+mcp.Path, key) {
		all = append(all, dashboard.Client(c))
	}
	return all
}
