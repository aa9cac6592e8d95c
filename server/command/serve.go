package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"punchcard/server/api"
	"punchcard/server/app"
	"punchcard/server/dev"
	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/metrics"
	"punchcard/server/openapi"
	"punchcard/server/operation"
	"punchcard/server/till"
	"punchcard/store"
	"punchcard/webhook"
)

// Server has the flags that serve and dev share.
type Server struct {
	Listen          string        `placeholder:"ADDRESS" help:"Address to listen on; port 0 selects a free port. Default: 127.0.0.1:8080, with --tls-auto :443."`
	PublicURL       string        `name:"public-url" placeholder:"URL" help:"Base URL of install links. Default: that which init was given for the file, else the first host of --tls-auto, else the address of --listen."`
	MCPAllowOrigin  []string      `name:"mcp-allow-origin" placeholder:"ORIGIN" help:"Origins of browsers, such as https://assistant.example, that may send requests to /mcp besides those of --public-url and loopback."`
	AllowHost       []string      `placeholder:"HOST" help:"Host names or addresses, without a port, that requests may name besides loopback and the host of --public-url, such as the name of a container; others get 403: under dev on every path, under serve on pages for people and /mcp."`
	PricingFile     string        `type:"path" placeholder:"FILE" help:"JSON file that GET /pricing returns; without it, GET /pricing is 404."`
	InstallLinkTTL  time.Duration `name:"install-link-ttl" default:"720h" help:"How long an install link is valid."`
	WebhookPreview  bool          `name:"webhook-preview-events" help:"Also send the events that the catalogue marks as not yet sent."`
	WebhookHeaders  bool          `name:"webhook-send-custom-headers" help:"Send the custom headers of webhooks."`
	WebhookHTTP     bool          `name:"webhook-allow-http" help:"Also allow webhook targets with plain http."`
	WebhookCIDR     []string      `name:"webhook-allow-cidr" placeholder:"CIDR" help:"Networks that webhooks may be sent to although they are not public, such as 10.1.0.0/16; metadata addresses stay refused."`
	WebhookHold     bool          `name:"webhook-hold" help:"Queue webhooks, mail and notices but send none: for a copy of a database that must not reach the real receivers."`
	ApplePushURL    string        `name:"apple-push-url" placeholder:"URL" help:"Service that wakes phones with passes, for tests. Default: that of Apple."`
	GoogleWalletURL string        `name:"google-wallet-url" placeholder:"URL" help:"API of Google Wallet, for tests. Default: that of Google."`
	GoogleKeysURL   string        `name:"google-keys-url" placeholder:"URL" help:"Keys that the callbacks of Google Wallet are signed with, for tests. Default: those of Google."`
	NoCopy          bool          `help:"Migrate a file of an older version without a copy of it beside the file."`
	ShutdownTimeout time.Duration `default:"20s" help:"How long to wait at shutdown for requests in flight."`
	ExitWithStdin   bool          `name:"exit-with-stdin" help:"Stop as on SIGTERM when standard input closes, so that a server does not outlive the program that started it with a pipe. At a terminal this has no effect; the null device and files are refused, since they are at their end already."`
	AccessLog       bool          `help:"Log a line for each request: route, status, time, client and key, but no content."`
	LogFormat       string        `enum:"text,json" default:"text" help:"Format of the log on stderr: text or json."`
	LogLevel        string        `enum:"debug,info,warn,error" default:"info" help:"Lowest level that is logged."`
	app.Limits      `group:"Limits:"`
}

// redactAttr hides an attribute of the log with the name of a column that is about people or is a secret.
func redactAttr(_ []string, a slog.Attr) slog.Attr {
	if !store.IsLogged(a.Key) {
		return slog.String(a.Key, "***")
	}
	return a
}

// config returns the configuration that the flags describe, with a log to stderr.
func (s Server) config(stderr io.Writer) (conf app.Config, err error) {
	if s.InstallLinkTTL < time.Minute || s.InstallLinkTTL > 10*365*24*time.Hour {
		return conf, fmt.Errorf("--install-link-ttl (PUNCHCARD_INSTALL_LINK_TTL): must be from 1m to 87600h")
	}
	if s.ShutdownTimeout < 0 {
		return conf, fmt.Errorf("--shutdown-timeout (PUNCHCARD_SHUTDOWN_TIMEOUT): must not be negative")
	}
	var level slog.Level
	level.UnmarshalText([]byte(s.LogLevel))
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: redactAttr}
	log := slog.New(slog.NewTextHandler(stderr, o))
	if s.LogFormat == "json" {
		log = slog.New(slog.NewJSONHandler(stderr, o))
	}
	guard := &webhook.Guard{AllowHTTP: s.WebhookHTTP}
	if guard.AllowCIDR, err = networks("--webhook-allow-cidr (PUNCHCARD_WEBHOOK_ALLOW_CIDR)", s.WebhookCIDR); err != nil {
		return conf, err
	}
	return app.Config{
		Guard:           guard,
		HoldWebhooks:    s.WebhookHold,
		ApplePushURL:    s.ApplePushURL,
		GoogleWalletURL: s.GoogleWalletURL,
		GoogleKeysURL:   s.GoogleKeysURL,
		CustomHeaders:   s.WebhookHeaders,
		Listen:          s.Listen,
		PublicURL:       s.PublicURL,
		AllowHosts:      s.AllowHost,
		MCPAllowOrigins: s.MCPAllowOrigin,
		PricingFile:     s.PricingFile,
		InstallLinkTTL:  s.InstallLinkTTL,
		PreviewEvents:   s.WebhookPreview,
		Limits:          s.Limits,
		Log:             log,
		AccessLog:       s.AccessLog,
		NoCopy:          s.NoCopy,
		Progress:        showProgress(log, false).report,
	}, nil
}

// networks parses the values of a flag.
func networks(flag string, texts []string) (list []netip.Prefix, err error) {
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil || p != p.Masked() || p.Addr().Is4In6() {
			return nil, fmt.Errorf("%s: must be networks such as 10.1.0.0/16 or fd00::/8, not %q", flag, text)
		}
		list = append(list, p)
	}
	return list, nil
}

// Serve is the command that serves a database file.
type Serve struct {
	DB string `default:"punchcard.db" type:"path" help:"The database file; created if it does not exist."`
	BackupFlags
	MailFlags
	MetricsListen   string   `placeholder:"ADDRESS" help:"Serve Prometheus metrics at /metrics on this address, which should not be a public one. Default: none."`
	TLSCert         string   `name:"tls-cert" type:"path" placeholder:"FILE" help:"Serve HTTPS with this PEM certificate chain, which is read again when it changes."`
	TLSKey          string   `name:"tls-key" type:"path" placeholder:"FILE" help:"PEM private key of --tls-cert."`
	TLSAuto         []string `name:"tls-auto" placeholder:"HOST" help:"Serve HTTPS with a certificate for this host, obtained and renewed by ACME; may be repeated. With it you accept the terms of the CA."`
	TLSCache        string   `name:"tls-cache" type:"path" placeholder:"DIR" help:"Folder for the certificates of --tls-auto and their keys. Default: tls beside the database."`
	ACMEURL         string   `name:"acme-url" placeholder:"URL" help:"Directory of the CA of --tls-auto. Default: that of Let's Encrypt."`
	HTTPListen      string   `name:"http-listen" placeholder:"ADDRESS" help:"With --tls-auto, address for plain http, where the challenges of the CA are answered and browsers are redirected to https. Default: :80, none with --listen."`
	TrustedProxy    []string `placeholder:"CIDR" help:"Networks of reverse proxies whose X-Forwarded-For is trusted, for the log and for the limits on guesses by address."`
	InsecureCookies bool     `help:"Let people sign in over plain http at an address that is not loopback. Anybody on the network path can then take over their sessions."`
	Server
}

// Run serves the file.
func (c *Serve) Run() error {
	conf, err := c.Server.config(os.Stderr)
	if err != nil {
		return err
	}
	conf.DB = c.DB
	if conf.Backups, err = c.backups(); err != nil {
		return err
	}
	if err = c.setMail(&conf); err != nil {
		return err
	}
	conf.TLSCert, conf.TLSKey, conf.InsecureCookies = c.TLSCert, c.TLSKey, c.InsecureCookies
	conf.TLSAuto, conf.TLSCache, conf.ACMEURL, conf.HTTPListen = c.TLSAuto, c.TLSCache, c.ACMEURL, c.HTTPListen
	if conf.TrustedProxies, err = networks("--trusted-proxy (PUNCHCARD_TRUSTED_PROXY)", c.TrustedProxy); err != nil {
		return err
	}
	if c.MetricsListen != "" {
		conf.MetricsListen, conf.Metrics = c.MetricsListen, metrics.New()
	}
	_, missing := os.Stat(c.DB)
	return c.run(conf, func(a *app.App) error {
		if errors.Is(missing, os.ErrNotExist) {
			conf.Log.Warn("there was no database, so a new one was made: see --db", "db", c.DB)
		}
		if a.Store.PublicURL() == a.Origin && len(c.TLSAuto) == 0 && !loopback(c.Listen) {
			conf.Log.Warn("links begin with an address that customers may not reach: see --public-url", "origin", a.Origin)
		}
		warnOfPrograms(conf.Log, a.Store)
		attrs := []any{"db", c.DB, "origin", a.Origin, "docs", a.Origin + "/docs"}
		if a.MetricsURL != "" {
			attrs = append(attrs, "metrics", a.MetricsURL)
		}
		conf.Log.Info("serving", attrs...)
		return nil
	})
}

// warnOfPrograms logs a warning for each shop without a program, and for each published
// stamp program without prizes.
func warnOfPrograms(log *slog.Logger, st *store.Store) {
	shops, err := newFinder(st, 0).readRows(operation.ListShops, kernel.Form{}, 0)
	if err != nil {
		return // the server serves all the same
	}
	for _, shop := range shops {
		key, err := st.ResolveShop(shop.value("id"))
		if err != nil {
			return
		}
		f := newFinder(st, key)
		programs, err := f.readRows(operation.ListPrograms, kernel.Form{}, 0)
		if err == nil && len(programs) == 0 {
			log.Warn("the shop has no program, so it can issue no cards: see punchcard program create", "shop", shop.value("id"))
		}
		for _, p := range programs {
			if p["active"] != true || !store.CollectsStamps(p.value("type")) {
				continue
			}
			prizes, err := f.readRows(operation.ListPrizes, kernel.Form{Params: on(p.value("id"))}, 0)
			if err == nil && len(prizes) == 0 {
				log.Warn("the program has no prizes: see punchcard prize add", "shop", shop.value("id"), "program", p.value("id"))
			}
		}
	}
}

// Dev is the command that serves a fixture.
type Dev struct {
	DB                   string `type:"path" placeholder:"FILE" help:"Keep the data in this file between runs. Default: a temporary file."`
	Clock                string `placeholder:"RFC3339" help:"Stop the clock at this time; it moves only when it is advanced."`
	ReadyFile            string `type:"path" placeholder:"FILE" help:"Also write the ready line to this file, completely or not at all."`
	Seed                 string `type:"path" placeholder:"FILE" help:"Start with the shops that this JSON file describes instead of the demo shop. If the file of --db exists already, its content stays. GET /dev/seed.schema.json returns the format."`
	History              bool   `help:"Start with a demo shop that had 90 days of business until now. If the file of --db exists already, its content stays."`
	DeterministicIDs     bool   `name:"deterministic-ids" help:"Make secrets and request ids the same in every run, and stop the clock at 2026-01-01T09:00:00Z unless --clock sets another time. The same calls then get the same answers, byte for byte, and webhook signatures have the time of that clock."`
	StrictWebhookTargets bool   `help:"Apply the rules of serve to webhook targets: public addresses that resolve, with https."`
	AllowRemote          bool   `help:"Listen on an address that is not loopback, although the demo keys are public knowledge; needs --allow-host."`
	Quiet                bool   `help:"Do not show the requests as they are answered, nor the progress of a migration. Requests are shown on stderr where that and stdout are terminals."`
	Server
}

// Run serves the fixture. Its first line on stdout is the ready line.
func (c *Dev) Run() error {
	conf, err := c.config(os.Stderr)
	if err != nil {
		return err
	}
	if !c.AllowRemote && !loopback(c.Listen) {
		return fmt.Errorf(
			"--listen (PUNCHCARD_LISTEN): %s is not a loopback address; the demo keys are public knowledge, so this needs --allow-remote",
			c.Listen,
		)
	}
	if c.AllowRemote && len(c.AllowHost) == 0 {
		return fmt.Errorf(
			"--allow-remote (PUNCHCARD_ALLOW_REMOTE): needs --allow-host (PUNCHCARD_ALLOW_HOST) with the names by which other machines " +
				"reach this one; requests that name another host get 403",
		)
	}
	conf.DB = c.DB
	conf.InsecureCookies = c.AllowRemote // its keys and password are public knowledge anyway
	conf.Dev = &app.Dev{Deterministic: c.DeterministicIDs}
	if c.Quiet {
		conf.Progress = nil
	} else {
		conf.Dev.Watch = liveLog()
	}
	if c.Clock != "" {
		at, err := time.Parse(time.RFC3339, c.Clock)
		if err != nil {
			return fmt.Errorf("--clock (PUNCHCARD_CLOCK): must be a time such as 2026-01-31T09:00:00Z")
		}
		if at.Before(time.Unix(0, 0)) {
			return fmt.Errorf("--clock (PUNCHCARD_CLOCK): must not be before 1970")
		}
		conf.Dev.Clock = app.NewClock(at)
	}
	if c.History {
		if c.Seed != "" {
			return fmt.Errorf(
				"--history (PUNCHCARD_HISTORY): cannot be given beside --seed, whose shops have the past that the file describes",
			)
		}
		conf.Dev.History = seed.DefaultHistory
	}
	if c.Seed != "" {
		if conf.Dev.Seed, err = seed.Read(c.Seed); err != nil {
			return fmt.Errorf("--seed (PUNCHCARD_SEED): %w", err)
		}
	}
	if c.ReadyFile != "" { // an older file would describe a server that has ended
		if err := c.checkReadyFile(); err != nil {
			return fmt.Errorf("--ready-file (PUNCHCARD_READY_FILE): %w", err)
		}
		if err := os.Remove(c.ReadyFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("--ready-file (PUNCHCARD_READY_FILE): %w", err)
		}
	}
	conf.Guard.Loopback, conf.Guard.Unresolved = !c.StrictWebhookTargets, !c.StrictWebhookTargets
	return c.run(conf, c.printReady)
}

// printReady prints the ready line of a fixture, and on stderr what can be tried.
func (c *Dev) printReady(a *app.App) error {
	line, err := json.Marshal(a.Ready)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if c.ReadyFile != "" {
		if err := writeAtomically(c.ReadyFile, line); err != nil {
			return fmt.Errorf("--ready-file (PUNCHCARD_READY_FILE): %w", err)
		}
	}
	if _, err := Out.Write(line); err != nil {
		return err
	}
	r, program := a.Ready, cmp.Or(a.Ready.DemoProgram(), "{id}")
	fmt.Fprintf(
		os.Stderr,
		"\npunchcard is ready. Try:\n\n  curl -H 'Authorization: Bearer %s' %s/me\n\n"+
			"  curl -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' \\\n"+
			"    -d '{\"holder_name\": \"Ada\"}' %s/programs/%s/cards\n\n"+
			"Put that card on a phone, where its stamps arrive as in a wallet:\n\n"+
			"  curl -H 'Content-Type: application/json' -d '{\"card_id\": \"crd_…\", \"platform\": \"apple\"}' %s/dev/wallet/phones\n\n"+
			"Reference: %s/docs    End with Ctrl-C.\n\n",
		r.APIKey, r.BaseURL, r.APIKey, r.BaseURL, program, r.Origin, r.Origin,
	)
	return nil
}

// checkReadyFile returns an error if the ready file would replace a folder, a device,
// the database or the seed file.
func (c *Dev) checkReadyFile() error {
	if c.ReadyFile == c.DB {
		return errors.New("is the file of --db")
	}
	have, err := os.Stat(c.ReadyFile)
	if err != nil {
		return nil // there is nothing to replace
	}
	if !have.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file that could be replaced", c.ReadyFile)
	}
	for _, other := range []string{c.DB, c.Seed} {
		if info, err := os.Stat(other); err == nil && os.SameFile(have, info) {
			return fmt.Errorf("%s is the file of --db or --seed", c.ReadyFile)
		}
	}
	return nil
}

// loopback reports whether an address can be reached from this machine only.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return true // listening will return the error
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// writeAtomically writes a file so that readers see the whole content or the state
// from before, never a part.
func writeAtomically(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".ready-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if _, err := f.Write(content); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Openapi is the command that prints the OpenAPI document.
type Openapi struct {
	PublicURL  string `name:"public-url" default:"http://127.0.0.1:8080" help:"Base URL of the API in the document."`
	Till       bool   `help:"Print the document of the till API." xor:"document"`
	Dev        bool   `help:"Print the document of the control API of dev." xor:"document"`
	app.Limits `group:"Limits:"`
}

// Run prints the document.
func (c *Openapi) Run() error {
	if err := c.Limits.Check(); err != nil {
		return err
	}
	about, routes := api.About, api.Routes()
	switch {
	case c.Till:
		about, routes = till.About, till.Routes()
	case c.Dev:
		about, routes = dev.About, dev.Routes()
	}
	_, err := Out.Write(append(openapi.New(about, routes, c.Limits.Fields(), c.PublicURL+about.Prefix, nil).JSON(), '\n'))
	return err
}
