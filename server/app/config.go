// Package app is the composition root: it builds store, faces and background
// services from one Config, and starts and stops them.
package app

import (
	"context"
	crand "crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"punchcard/server/dev"
	"punchcard/server/dev/seed"
	"punchcard/server/wire"
	"punchcard/store"
	"punchcard/webhook"
)

// KeyLimits are the limits that creating keys needs.
type KeyLimits struct {
	APIKeyMaxPerShop             int `name:"api-key-max-per-shop" env:"API_KEY_MAX_PER_SHOP" default:"10" min:"1" max:"1000000" help:"Usable API keys per shop."`
	MCPKeyMaxPerShop             int `name:"mcp-key-max-per-shop" env:"MCP_KEY_MAX_PER_SHOP" default:"5" min:"0" max:"1000000" help:"Usable MCP keys per shop."`
	CredentialRotationGraceHours int `name:"credential-rotation-grace-hours" env:"CREDENTIAL_ROTATION_GRACE_HOURS" default:"24" min:"0" max:"8760" help:"Hours that a rotated key keeps working; 0 retires it at once."`
}

// Limits are the limits that a deployment can set by flags. The tags have each
// one's flag, variable, default and bounds.
type Limits struct {
	KeyLimits
	APIKeyRateLimitPerMinute      *int          `name:"api-key-rate-limit-per-minute" env:"API_KEY_RATE_LIMIT_PER_MINUTE" placeholder:"N" min:"0" max:"1000000" help:"Requests per minute and key; 0 is unlimited. Default: 300 with serve, unlimited with dev."`
	TillRateLimitPerMinute        *int          `name:"till-rate-limit-per-minute" placeholder:"N" min:"0" max:"1000000" help:"Requests per minute and till; 0 is unlimited. Default: 600 with serve, unlimited with dev."`
	PublicAPIMaxPageSize          int           `name:"public-api-max-page-size" env:"PUBLIC_API_MAX_PAGE_SIZE" default:"100" min:"1" max:"1000" help:"Largest page of a list; more is clamped."`
	IdempotencyDedupeWindowHours  int           `name:"idempotency-dedupe-window-hours" env:"IDEMPOTENCY_DEDUPE_WINDOW_HOURS" default:"24" min:"1" max:"8760" help:"Hours that an Idempotency-Key is remembered."`
	IdempotencyKeyMaxLength       int           `name:"idempotency-key-max-length" default:"255" min:"1" max:"4096" help:"Characters of an Idempotency-Key."`
	WebhookMaxPerShop             int           `name:"webhook-max-per-shop" env:"WEBHOOK_MAX_PER_SHOP" default:"50" min:"0" max:"100000" help:"Webhooks per shop."`
	WebhookDeliveryAttempts       int           `name:"webhook-delivery-attempts" default:"5" min:"1" max:"100" help:"Attempts per event and webhook."`
	WebhookBackoffBase            time.Duration `name:"webhook-backoff-base" default:"5s" min:"1ms" max:"1h" help:"Wait after the first failed attempt; doubles with each further one."`
	WebhookDeliveryTimeoutMS      int           `name:"webhook-delivery-timeout-ms" env:"WEBHOOK_DELIVERY_TIMEOUT_MS" default:"10000" min:"1" max:"600000" help:"Milliseconds that one attempt may take."`
	WebhookMaxConsecutiveFailures int           `name:"webhook-max-consecutive-failures" env:"WEBHOOK_MAX_CONSECUTIVE_FAILURES" default:"15" min:"1" max:"1000000" help:"Failed deliveries in a row that disable a webhook."`
	WebhookDeliveryRetentionDays  int           `name:"webhook-delivery-retention-days" env:"WEBHOOK_DELIVERY_RETENTION_DAYS" default:"30" min:"1" max:"3650" help:"Days that the delivery log is kept."`
	WebhookMaxCustomHeaders       int           `name:"webhook-max-custom-headers" env:"WEBHOOK_MAX_CUSTOM_HEADERS" default:"20" min:"0" max:"1000" help:"Custom headers per webhook."`
	WebhookCustomHeadersMaxBytes  int           `name:"webhook-custom-headers-max-bytes" env:"WEBHOOK_CUSTOM_HEADERS_MAX_BYTES" default:"4096" min:"0" max:"65536" help:"Bytes of all custom headers of a webhook."`
	DeliveryLogMaxLimit           int           `name:"delivery-log-max-limit" default:"200" min:"1" max:"1000" help:"Largest limit of the delivery log."`
	PrizeMaxThresholds            int           `name:"prize-max-thresholds" default:"3" min:"1" max:"1000" help:"Distinct thresholds of a program's ladder."`
	PrizeMaxOptions               int           `name:"prize-max-options" default:"3" min:"1" max:"1000" help:"Options per threshold."`
	PrizeNameMaxLength            int           `name:"prize-name-max-length" default:"200" min:"1" max:"10000" help:"Characters of a prize's name."`
	PrizeDescriptionMaxLength     int           `name:"prize-description-max-length" default:"2000" min:"1" max:"100000" help:"Characters of a prize's description."`
	LocalizationMaxLength         int           `name:"localization-max-length" default:"500" min:"1" max:"100000" help:"Characters of a localised name or description."`
	MailPerHour                   *int          `name:"mail-per-hour" placeholder:"N" min:"0" max:"100000" help:"Messages per hour and shop; further ones wait. 0 is unlimited. Default: 200 with serve, unlimited with dev."`
	HolderStreams                 int           `name:"holder-streams" default:"2000" min:"0" max:"1000000" help:"Pages of cards at once that are told of changes; further ones show them when they are read again."`
	DashboardStreams              int           `name:"dashboard-streams" default:"100" min:"0" max:"1000000" help:"Pages of the dashboard at once that are told of changes, at most six of a person; further ones are read again from time to time."`
	ConnectionsPerAddress         int           `name:"connections-per-address" default:"256" min:"0" max:"1000000" help:"Connections at once of one address, or /64 of IPv6; further ones are closed. 0 is unlimited. Loopback and trusted proxies are exempt."`
	MCPKeyRateLimitPerMinute      int           `name:"mcp-key-rate-limit-per-minute" env:"MCP_KEY_RATE_LIMIT_PER_MINUTE" default:"60" min:"0" max:"1000000" help:"MCP calls per minute and key; 0 is unlimited."`
	MCPKeyDailyCallBudget         int           `name:"mcp-key-daily-call-budget" env:"MCP_KEY_DAILY_CALL_BUDGET" default:"5000" min:"0" max:"1000000000" help:"MCP calls per day and key; 0 is unlimited."`
}

// DefaultLimits returns the limits with their defaults.
func DefaultLimits() (l Limits) {
	v := reflect.ValueOf(&l).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Tag.Get("default") != "" {
			v.FieldByIndex(f.Index).SetInt(tagged(f, "default"))
		}
	}
	return l
}

// tagged returns the number or duration in a tag of a limit.
func tagged(f reflect.StructField, tag string) int64 {
	if f.Type == reflect.TypeFor[time.Duration]() {
		d, _ := time.ParseDuration(f.Tag.Get(tag))
		return int64(d)
	}
	n, _ := strconv.ParseInt(f.Tag.Get(tag), 10, 64)
	return n
}

// Check returns an error for the first limit that is out of its bounds, with its
// flag and variable.
func (l Limits) Check() error { return check(reflect.ValueOf(l)) }

// Check does the same for the limits of keys.
func (l KeyLimits) Check() error { return check(reflect.ValueOf(l)) }

func check(limits reflect.Value) error {
	for _, f := range reflect.VisibleFields(limits.Type()) {
		v := reflect.Indirect(limits.FieldByIndex(f.Index))
		if !v.CanInt() { // KeyLimits, or a limit that is not given
			continue
		}
		if v.Int() < tagged(f, "min") || v.Int() > tagged(f, "max") {
			name := f.Tag.Get("name")
			return fmt.Errorf(
				"--%s (%s): must be from %s to %s",
				name,
				Variable(name, f.Tag.Get("env")),
				f.Tag.Get("min"),
				f.Tag.Get("max"),
			)
		}
	}
	return nil
}

// Variable returns the environment variable of a flag: env if that is not empty,
// else PUNCHCARD_ and the name of the flag.
func Variable(flag, env string) string {
	if env != "" {
		return env
	}
	return "PUNCHCARD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Version is the version of this release. .ci/packages sets it with a flag of the linker.
var Version = "0.1.0"

// BuildVersion returns Version, with the commit if the binary was built in a checkout.
func BuildVersion() string {
	version := Version
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				version += "+" + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return version
}

// Config is the configuration of a server.
type Config struct {
	Context        context.Context // ends Start; nil if nothing does
	DB             string
	Listen         string         // by default 127.0.0.1:8080, with TLSAuto :443
	PublicURL      string         // by default made from the address of the listener
	MetricsListen  string         // address of the metrics; used with Metrics
	Metrics        Metrics        // nil for none
	AccessLog      bool           // log a line for each request
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed
	TLSCert        string         // file of a PEM chain; empty for plain HTTP
	TLSKey         string         // file of its key
	TLSAuto        []string       // hosts whose certificates are obtained by ACME
	TLSCache       string         // folder of these; by default tls beside DB
	ACMEURL        string         // directory of the CA; by default that of Let's Encrypt
	HTTPListen     string         // address of plain http beside TLSAuto; empty for none, unless Listen is empty too: then :80
	// AllowHosts are the host names and addresses, without a port, that requests may
	// name besides loopback and the host of PublicURL: with Dev all requests, else
	// those for the pages of people and for assistants.
	AllowHosts []string
	// MCPAllowOrigins are origins of browsers, besides those of PublicURL and loopback, that
	// may send requests to /mcp.
	MCPAllowOrigins []string
	// InsecureCookies lets people sign in over plain http to an address that is not
	// loopback (see kernel.CookieFor).
	InsecureCookies bool
	PricingFile     string
	InstallLinkTTL  time.Duration
	PreviewEvents   bool
	Limits          Limits
	Log             *slog.Logger
	// NoCopy migrates a file of an older version without a copy of it beside the file.
	NoCopy bool
	// Progress, if set, is told how far a migration of the file is.
	Progress store.Progress
	// ReadTimeout is the time for reading one request, of which the headers have at
	// most 10 s; by default 30 s.
	ReadTimeout time.Duration
	// WriteTimeout is the time from the headers of a request to the end of its
	// answer; by default 60 s.
	WriteTimeout time.Duration
	// MaxConnections is the number of connections at once; by default 8192, or fewer
	// if the process may open fewer than 8448 files.
	MaxConnections int
	// Guard decides where webhooks may be sent; by default to public addresses by
	// https, and with Dev to loopback addresses too.
	Guard *webhook.Guard
	// HoldWebhooks queues webhooks, mail and notices but sends none.
	HoldWebhooks bool
	// Mail returns the service that sends the mail that st queues. It calls observe
	// with the outcome of each attempt. If Mail is nil, requests with send_email are
	// refused, except by a fixture, which keeps mail in memory. It is a function so
	// that a program that only needs a fixture links no SMTP library; the
	// implementation is server/mail.
	Mail func(st *store.Store, log *slog.Logger, observe func(outcome string)) Service
	// TestMail sends one message at once, by the same server as Mail. It is nil if Mail
	// is.
	TestMail func(context.Context, store.Mail) error
	// PushSubject is how the push services of browsers reach the operator, a mailto: or https URL.
	// Empty: the public URL of the shop, if that is https.
	PushSubject string
	// PassIssuer is the authority that issues certificates for Apple Wallet; by default that of Apple, and with Dev that of the demo
	// shop (see wallettest.Demo).
	PassIssuer *x509.Certificate
	// ApplePushURL is the URL of the service that wakes phones with Apple Wallet; by default that of Apple, and with Dev one of the
	// fixture. AppleRoots are the authorities of its certificate; nil: those of the system.
	ApplePushURL string
	AppleRoots   *x509.CertPool
	// GoogleWalletURL is the URL of the API of Google Wallet, GoogleKeysURL that of the keys of its callbacks; by default those of Google.
	GoogleWalletURL, GoogleKeysURL string
	// CustomHeaders sends the custom headers of webhooks with each delivery.
	CustomHeaders bool
	// MaxGroup is the number of writes that share a transaction; by default the
	// store's.
	MaxGroup int
	// Backups configures scheduled backups; nil for none.
	Backups *Backups
	// Dev makes the server a fixture, with a demo shop and the control API.
	Dev *Dev
}

// Metrics observes what a server does. It is an interface so that a program that
// only needs a fixture does not link the implementation, server/metrics.
type Metrics interface {
	Request(method, route string) (end func(status int))
	Group(size int) (end func(error))
	Attempt(*store.Attempt, store.Outcome)
	Mail(outcome string)
	Watch(st *store.Store, version string, refusedConnections func() int64)
	Handler() http.Handler
}

// Dev is the configuration that only a fixture has.
type Dev struct {
	// Clock is the fixture's clock. If it is nil, Start sets it: it stands still at
	// the time of the seed or, if Deterministic, at 2026-01-01T09:00:00Z, and runs
	// otherwise.
	Clock *Clock
	// Seed is the initial content; nil for the demo shop.
	Seed *seed.File
	// History is the number of days of business that the demo shop begins with. A Seed
	// overrides it.
	History int
	// Deterministic makes request ids and secrets the same at each start.
	Deterministic bool
	// Small saves memory at the cost of speed, for hundreds of fixtures in a process
	// on temporary files.
	Small bool
	// Bare leaves out the journal and the faults, so that benchmarks measure what
	// serve does. Such a fixture must not be reset.
	Bare bool
	// Watch is called with each request when it is answered, and with each attempt to
	// deliver a webhook. Nil: nobody watches.
	Watch func(dev.Answered)
}

// newClock returns the clock that Start sets.
func (d *Dev) newClock() *Clock {
	switch {
	case d.Seed != nil && !d.Seed.Now.IsZero():
		return NewClock(d.Seed.Now)
	case d.Deterministic:
		return NewClock(time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC))
	}
	return NewClock(time.Time{})
}

// setOptions sets the options of a fixture's store; see rand for history.
func (d *Dev) setOptions(o *store.Options, history string) {
	o.Now = d.Clock.Now
	o.IDSecret = seed.IDSecret
	o.Rand = d.rand(history)
}

// rand returns a new source of secrets: that of the system or, for a deterministic
// fixture, one that gives the same secrets for equal histories. history is a digest
// of the file, so that a later run on the same file gets other secrets.
func (d *Dev) rand(history string) io.Reader {
	if d.Deterministic {
		return rand.NewChaCha8(sha256.Sum256([]byte("punchcard: not random, but equal" + history)))
	}
	return crand.Reader
}

// rate returns the requests that a key may make per minute; 0 for no limit.
func (c *Config) rate() int { return c.given(c.Limits.APIKeyRateLimitPerMinute, 300) }

// tillRate returns the requests that a device may make per minute; 0 for no limit.
func (c *Config) tillRate() int { return c.given(c.Limits.TillRateLimitPerMinute, 600) }

// given returns a limit if it is given, and otherwise 0 for a fixture and the
// default of serve for others. 0 means no limit.
func (c *Config) given(limit *int, serve int) int {
	switch {
	case limit != nil:
		return *limit
	case c.Dev != nil:
		return 0
	}
	return serve
}

// Store returns the limits of the store.
func (c *Config) Store() store.Limits {
	l := c.Limits
	s := l.KeyLimits.Store()
	s.MaxPageSize = l.PublicAPIMaxPageSize
	s.PrizeThresholds = l.PrizeMaxThresholds
	s.PrizeOptions = l.PrizeMaxOptions
	s.IdempotencyHours = l.IdempotencyDedupeWindowHours
	s.Webhooks = l.WebhookMaxPerShop
	s.HookHeaders = l.WebhookMaxCustomHeaders
	s.HookHeaderBytes = l.WebhookCustomHeadersMaxBytes
	s.DeliveryLogLimit = l.DeliveryLogMaxLimit
	s.DeliveryAttempts = l.WebhookDeliveryAttempts
	s.DeliveryFailures = l.WebhookMaxConsecutiveFailures
	s.DeliveryDays = l.WebhookDeliveryRetentionDays
	s.PreviewEvents = c.PreviewEvents
	s.MailPerHour = c.given(l.MailPerHour, 200)
	if c.InstallLinkTTL != 0 {
		s.InstallLinkTTL = c.InstallLinkTTL
	}
	return s
}

// Store returns the limits of the store with these limits of keys and the defaults
// of all others.
func (l KeyLimits) Store() store.Limits {
	s := store.DefaultLimits()
	s.KeysPerShop, s.MCPKeysPerShop, s.RotationHours = l.APIKeyMaxPerShop, l.MCPKeyMaxPerShop, l.CredentialRotationGraceHours
	return s
}

// guard returns the configured guard or the default one.
func (c *Config) guard() *webhook.Guard {
	if c.Guard != nil {
		return c.Guard
	}
	return &webhook.Guard{Loopback: c.Dev != nil, Unresolved: c.Dev != nil}
}

// Fields returns the bounds of request fields that rules refer to by name.
func (l Limits) Fields() wire.Limits {
	return wire.Limits{"prize_name": l.PrizeNameMaxLength, "prize_description": l.PrizeDescriptionMaxLength,
		"localization": l.LocalizationMaxLength, "idempotency_key": l.IdempotencyKeyMaxLength, "delivery_log": l.DeliveryLogMaxLimit}
}

// PublicURLFlag names the flag that has the public URL of the server.
const PublicURLFlag = "--public-url (PUNCHCARD_PUBLIC_URL)"

// CheckPublicURL returns the value of a flag without slashes at its end, and its host in ASCII. It returns an error
// unless the value is an absolute http or https URL without a query.
func CheckPublicURL(raw, flag string) (string, error) {
	u, err := url.Parse(raw)
	host := ""
	if err == nil {
		host, err = idna.Punycode.ToASCII(u.Hostname())
	}
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		len(raw) > 500 ||
		strings.ContainsAny(raw, "\"\\ <>") {
		return "", fmt.Errorf("%s: must be an http or https URL such as https://cards.example.com", flag)
	}
	return strings.TrimRight(strings.Replace(raw, u.Hostname(), host, 1), "/"), nil
}
