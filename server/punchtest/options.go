package punchtest

import (
	"io"
	"log/slog"
	"sync"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/webhook"
)

// Option is an option of [Start] and [New].
type Option func(*config)

// Clock makes time stand still at t until the test advances the clock. Without it
// the clock shows real time plus the time that it was advanced by.
func Clock(t time.Time) Option {
	return func(c *config) { c.Dev.Clock = app.NewClock(t) }
}

// Deterministic makes secrets and request ids the same in every run, so that the
// same calls get the same answers, byte for byte. Time stands still at
// 2026-01-01T09:00:00Z unless [Clock] sets another. Install links contain the port
// of the server unless [PublicURL] is given too. Signatures of webhooks have the
// time of that clock, so a receiver that checks their age needs a [Clock] near the
// present.
func Deterministic() Option {
	return func(c *config) { c.Dev.Deterministic = true }
}

// RateLimit allows each key n requests per minute, also all at once. Without it, or
// with 0, there is no limit. The limit uses [Server.Clock].
func RateLimit(n int) Option {
	return func(c *config) { c.Limits.APIKeyRateLimitPerMinute = &n }
}

// PublicURL sets the http or https URL that install links begin with, such as
// https://cards.example.com. The default is the server's own address.
func PublicURL(url string) Option {
	return func(c *config) { c.PublicURL = url }
}

// Log writes the server's log to w, for example to t.Output().
func Log(w io.Writer) Option {
	return func(c *config) {
		c.Log = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
}

// WebhookTimeout sets the real time that one attempt to deliver a webhook may take,
// from 1 ms to 10 minutes. The default is 10 s.
func WebhookTimeout(d time.Duration) Option {
	return func(c *config) { c.Limits.WebhookDeliveryTimeoutMS = int(d.Milliseconds()) }
}

// StrictWebhookTargets checks webhook targets as a real server does: they must be
// https URLs of public addresses that resolve. A [Receiver] is then refused.
func StrictWebhookTargets() Option {
	return func(c *config) { c.Guard = &webhook.Guard{} }
}

// PreviewEvents also sends the webhook events that the catalogue calls not yet.
func PreviewEvents() Option {
	return func(c *config) { c.PreviewEvents = true }
}

// seeds caches the parsed seed files by path, so that servers with the same seed
// share one image.
var seeds sync.Map // of string to func() (*seed.File, error)

// Seed fills the server with the shops of a seed file, as "punchcard dev --seed"
// does; see [Server.Refs]. Each file is read once per process. [New] returns an error
// with line and path for an invalid file; [Start] fails the test with it.
func Seed(path string) Option {
	parse, _ := seeds.LoadOrStore(path, sync.OnceValues(func() (*seed.File, error) { return seed.Read(path) }))
	return func(c *config) { c.Dev.Seed, c.err = parse.(func() (*seed.File, error))() }
}

// config is the configuration that options change.
type config struct {
	app.Config
	err error
}

// configure returns the configuration of a fixture with the options.
func configure(options []Option) (app.Config, error) {
	c := config{Config: app.Config{Listen: "127.0.0.1:0", Limits: app.DefaultLimits(), Dev: &app.Dev{Small: true}}}
	c.Limits.APIKeyMaxPerShop = 1000 // tests make a key for each purpose
	for _, o := range options {
		o(&c)
	}
	return c.Config, c.err
}
