// Package app is the composition root: it builds store, faces and background
// services from one Config, and starts and stops them.
package app

import (
	crand "crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"punchcard/server/dev/seed"
	"punchcard/server/wire"
	"punchcard/store"
	"punchcard/webhook"
)

// KeyLimits are the rows of the spec's Limits table that making keys needs.
type KeyLimits struct {
	APIKeyMaxPerShop             int `name:"api-key-max-per-shop" env:"API_KEY_MAX_PER_SHOP" default:"10" min:"1" max:"1000000" help:"Usable API keys per shop."`
	MCPKeyMaxPerShop             int `name:"mcp-key-max-per-shop" env:"MCP_KEY_MAX_PER_SHOP" default:"5" min:"0" max:"1000000" help:"Usable MCP keys per shop."`
	CredentialRotationGraceHours int `name:"credential-rotation-grace-hours" env:"CREDENTIAL_ROTATION_GRACE_HOURS" default:"24" min:"0" max:"8760" help:"Hours that a rotated key keeps working; 0 retires it at once."`
}

// Limits is the spec's Limits table, row by row.
type Limits struct {
	KeyLimits
	APIKeyRateLimitPerMinute      *int          `name:"api-key-rate-limit-per-minute" env:"API_KEY_RATE_LIMIT_PER_MINUTE" placeholder:"N" min:"0" max:"1000000" help:"Requests per minute and key; 0 is unlimited. Default: 300 with serve, unlimited with dev."`
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
	MCPKeyRateLimitPerMinute      int           `name:"mcp-key-rate-limit-per-minute" env:"MCP_KEY_RATE_LIMIT_PER_MINUTE" default:"60" min:"0" max:"1000000" help:"MCP calls per minute and key; 0 is unlimited."`
	MCPKeyDailyCallBudget         int           `name:"mcp-key-daily-call-budget" env:"MCP_KEY_DAILY_CALL_BUDGET" default:"5000" min:"0" max:"1000000000" help:"MCP calls per day and key; 0 is unlimited."`
}

// DefaultLimits are the table's defaults.
func DefaultLimits() (l Limits) {
	fill(reflect.ValueOf(&l).Elem())
	return l
}

func fill(v reflect.Value) {
	for i := range v.NumField() {
		f, def := v.Field(i), v.Type().Field(i).Tag.Get("default")
		switch f.Interface().(type) {
		case int:
			n, _ := strconv.Atoi(def)
			f.SetInt(int64(n))
		case time.Duration:
			d, _ := time.ParseDuration(def)
			f.SetInt(int64(d))
		case KeyLimits:
			fill(f)
		}
	}
}

// Check reports the first value out of its bounds, in one line that names the
// flag and the variable.
func (l Limits) Check() error { return check(reflect.ValueOf(l)) }

// Check is that of Limits.
func (l KeyLimits) Check() error { return check(reflect.ValueOf(l)) }

func check(v reflect.Value) error {
	for i := range v.NumField() {
		f, t := v.Field(i), v.Type().Field(i)
		if k, ok := f.Interface().(KeyLimits); ok {
			if err := k.Check(); err != nil {
				return err
			}
			continue
		}
		if f.Kind() == reflect.Pointer {
			if f.IsNil() {
				continue
			}
			f = f.Elem()
		}
		bound := func(tag string) int64 {
			if d, err := time.ParseDuration(t.Tag.Get(tag)); err == nil && t.Type == reflect.TypeFor[time.Duration]() {
				return int64(d)
			}
			n, _ := strconv.ParseInt(t.Tag.Get(tag), 10, 64)
			return n
		}
		if n := f.Int(); n < bound("min") || n > bound("max") {
			return fmt.Errorf("--%s (%s): must be from %s to %s", t.Tag.Get("name"), Variable(t.Tag.Get("name"), t.Tag.Get("env")), t.Tag.Get("min"), t.Tag.Get("max"))
		}
	}
	return nil
}

// Variable is the environment variable of a flag: the spec's name where it
// has one, else PUNCHCARD_ and the flag's.
func Variable(flag, env string) string {
	if env != "" {
		return env
	}
	return "PUNCHCARD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Version is the release.
const Version = "0.1.0"

// Config is all that a server is made from.
type Config struct {
	DB             string
	Listen         string
	PublicURL      string  // empty: from the address listened on
	MetricsListen  string  // address of the scrape; needs Metrics
	Metrics        Metrics // nil: none are kept
	AccessLog      bool    // a line for each request
	TrustedProxies []netip.Prefix
	TLSCert        string // file of a PEM chain; empty: plain HTTP
	TLSKey         string
	PricingFile    string
	InstallLinkTTL time.Duration
	PreviewEvents  bool
	Limits         Limits
	Log            *slog.Logger
	// ReadTimeout bounds the reading of one request, headers (at most 10 s of
	// it) and body; 0: 30 s.
	ReadTimeout time.Duration
	// WriteTimeout bounds a request from its headers to the end of its answer;
	// 0: 60 s.
	WriteTimeout time.Duration
	// MaxConnections are taken at once; 0: 8192, or less where the system allows
	// less than that and 256 files.
	MaxConnections int
	// Guard decides where webhooks may be sent; nil: to public addresses by
	// https, with Dev to loopback addresses too.
	Guard *webhook.Guard
	// HoldWebhooks queues what webhooks are to get and sends none of it, nor any
	// mail.
	HoldWebhooks bool
	// Mail makes the service that sends the messages of send_email, which st queues,
	// and tells observe, if that is not nil, the outcome of each attempt. Nil:
	// send_email is refused. A fixture has a mail sink of its own. It is a function
	// so that a program which only wants a fixture links no SMTP library
	// (server/mail has the one service there is).
	Mail func(st *store.Store, log *slog.Logger, observe func(outcome string)) Service
	// CustomHeaders sends the custom headers of webhooks along.
	CustomHeaders bool
	// MaxGroup bounds the writes that share a transaction; 0: the store's.
	MaxGroup int
	// Backups are made by the server itself; nil: none.
	Backups *Backups
	// Dev makes a fixture of the server: demo shop, control API, mail sink.
	Dev *Dev
}

// Metrics are told what a server does. It is an interface so that who only wants
// a fixture links none (server/metrics has the one there is).
type Metrics interface {
	Request(method, route string) (end func(status int))
	Group(size int) (end func(error))
	Attempt(*store.Attempt, store.Outcome)
	Mail(outcome string)
	Watch(st *store.Store, version string)
	Handler() http.Handler
}

// Dev is what only the fixture has.
type Dev struct {
	Clock *Clock
	// Seed is what the fixture begins with; nil: the demo shop.
	Seed *seed.File
	// Deterministic makes ids of requests and secrets the same at each start.
	Deterministic bool
	// Small trades speed for memory: it is for one of hundreds in a process, on a
	// file that is thrown away.
	Small bool
	// Bare serves as a server in operation does, with no journal and no faults
	// before it, so that this can be measured. Such a fixture is not reset.
	Bare bool
}

// options are what a fixture's store is made with.
func (d *Dev) options(o *store.Options, past string) {
	o.Now, o.IDSecret, o.Rand = d.Clock.Now, seed.IDSecret, d.rand(past)
}

// rand is a new source of secrets: that of the system, or one that gives the
// same after the same past. What one has given must not come again in the same
// file, whose secrets differ.
func (d *Dev) rand(past string) io.Reader {
	if d.Deterministic {
		return rand.NewChaCha8(sha256.Sum256([]byte("punchcard: not random, but equal" + past)))
	}
	return crand.Reader
}

func (c *Config) rate() int {
	if c.Limits.APIKeyRateLimitPerMinute != nil {
		return *c.Limits.APIKeyRateLimitPerMinute
	}
	if c.Dev != nil {
		return 0
	}
	return 300
}

// Store are the bounds that the store enforces.
func (c *Config) Store() store.Limits {
	l := c.Limits
	s := l.KeyLimits.Store()
	s.MaxPageSize, s.PrizeThresholds, s.PrizeOptions, s.IdempotencyHours = l.PublicAPIMaxPageSize, l.PrizeMaxThresholds, l.PrizeMaxOptions, l.IdempotencyDedupeWindowHours
	s.Webhooks, s.HookHeaders, s.HookHeaderBytes, s.DeliveryLogLimit = l.WebhookMaxPerShop, l.WebhookMaxCustomHeaders, l.WebhookCustomHeadersMaxBytes, l.DeliveryLogMaxLimit
	s.DeliveryAttempts, s.DeliveryBackoff, s.DeliveryFailures, s.DeliveryDays = l.WebhookDeliveryAttempts, l.WebhookBackoffBase, l.WebhookMaxConsecutiveFailures, l.WebhookDeliveryRetentionDays
	s.PreviewEvents = c.PreviewEvents
	if c.InstallLinkTTL != 0 {
		s.InstallLinkTTL = c.InstallLinkTTL
	}
	return s
}

// Store are the bounds that the store enforces on keys; all others are the
// defaults.
func (l KeyLimits) Store() store.Limits {
	s := store.DefaultLimits()
	s.KeysPerShop, s.MCPKeysPerShop, s.RotationHours = l.APIKeyMaxPerShop, l.MCPKeyMaxPerShop, l.CredentialRotationGraceHours
	return s
}

// guard is the deployment's, or what holds where none is given.
func (c *Config) guard() *webhook.Guard {
	if c.Guard != nil {
		return c.Guard
	}
	return &webhook.Guard{Loopback: c.Dev != nil, Unresolved: c.Dev != nil}
}

// Fields are the named bounds of request fields.
func (l Limits) Fields() wire.Limits {
	return wire.Limits{"prize_name": l.PrizeNameMaxLength, "prize_description": l.PrizeDescriptionMaxLength,
		"localization": l.LocalizationMaxLength, "idempotency_key": l.IdempotencyKeyMaxLength, "delivery_log": l.DeliveryLogMaxLimit}
}

// checkPublicURL wants an absolute http or https URL without query.
func checkPublicURL(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || len(raw) > 500 || strings.ContainsAny(raw, "\"\\ <>") {
		return "", fmt.Errorf("--public-url (PUNCHCARD_PUBLIC_URL): must be an http or https URL such as https://cards.example.com")
	}
	return strings.TrimRight(raw, "/"), nil
}
