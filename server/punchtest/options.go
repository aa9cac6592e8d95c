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

// Option is a choice for [Start] and [New].
type Option func(*config)

// Clock has time stand still at t until the test moves it. Without it the
// clock shows real time, and what it was advanced by.
func Clock(t time.Time) Option {
	return func(c *config) { c.Dev.Clock = app.NewClock(t) }
}

// Deterministic makes secrets and the ids of requests the same in every run, so
// that the same calls get the same answers, byte for byte. Time stands still at
// 2026-01-01T09:00:00Z where [Clock] names no other. Install links still bear
// the port of the server, unless [PublicURL] is given too. Signatures of
// webhooks bear the time of that clock: a receiver that checks how old they are
// needs a [Clock] near the present.
func Deterministic() Option {
	return func(c *config) { c.Dev.Deterministic = true }
}

// RateLimit allows n requests a minute and key, as many at once. Without it,
// and with 0, there is no limit. The clock of the limit is [Server.Clock].
func RateLimit(n int) Option {
	return func(c *config) { c.Limits.APIKeyRateLimitPerMinute = &n }
}

// PublicURL begins every install link; http or https, such as
// https://cards.example.com. Without it, it is the server's own address.
func PublicURL(url string) Option {
	return func(c *config) { c.PublicURL = url }
}

// Log writes the server's log to w, which t.Output() is good for.
func Log(w io.Writer) Option {
	return func(c *config) {
		c.Log = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
}

// WebhookTimeout is what one attempt at a webhook may take, in real time, from
// 1 ms to 10 minutes. The default is 10 s.
func WebhookTimeout(d time.Duration) Option {
	return func(c *config) { c.Limits.WebhookDeliveryTimeoutMS = int(d.Milliseconds()) }
}

// StrictWebhookTargets holds webhook targets to the rules of a server in
// operation: public addresses that resolve, by https. A [Receiver] is refused
// then.
func StrictWebhookTargets() Option {
	return func(c *config) { c.Guard = &webhook.Guard{} }
}

// PreviewEvents sends the webhook events that are announced but not sent yet.
func PreviewEvents() Option {
	return func(c *config) { c.PreviewEvents = true }
}

// seeds are the parsed files by their names: servers of the same seed share what
// it makes.
var seeds sync.Map // of string to func() (*seed.File, error)

// Seed begins with the shops of a seed file, as "punchcard dev --seed" does; see
// [Server.Refs]. A file is read once in a process. What is wrong with it is told
// with line and path, by [New] or, failing the test, by [Start].
func Seed(path string) Option {
	parse, _ := seeds.LoadOrStore(path, sync.OnceValues(func() (*seed.File, error) { return seed.Read(path) }))
	return func(c *config) { c.Dev.Seed, c.err = parse.(func() (*seed.File, error))() }
}

// config is what options are applied to.
type config struct {
	app.Config
	err error
}

// configure is the configuration of a fixture with these options.
func configure(options []Option) (app.Config, error) {
	c := config{Config: app.Config{Listen: "127.0.0.1:0", Limits: app.DefaultLimits(), Dev: &app.Dev{Small: true}}}
	c.Limits.APIKeyMaxPerShop = 1000 // tests make a key for each purpose
	for _, o := range options {
		o(&c)
	}
	if c.Dev.Clock == nil {
		var at time.Time // zero: it runs
		if c.Dev.Seed != nil {
			at = c.Dev.Seed.Now
		}
		if at.IsZero() && c.Dev.Deterministic {
			at = time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)
		}
		c.Dev.Clock = app.NewClock(at)
	}
	return c.Config, c.err
}
