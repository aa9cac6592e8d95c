package webhook_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"punchcard/server/app"
	"punchcard/server/dev"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

func TestMain(m *testing.M) {
	servertest.Setup()
	goleak.VerifyTestMain(m)
}

// server is a running server with a clock that the test sets.
type server struct {
	*servertest.Server
	t     *testing.T
	clock *app.Clock
	conf  app.Config
}

var frozenAt = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// start starts a server with a new demo shop. options change its Config.
func start(t *testing.T, options ...func(*app.Config)) *server {
	t.Helper()
	servertest.Parallel(t)
	return startAlone(t, options...)
}

// startAlone starts a server for a test that must not run beside others.
func startAlone(t *testing.T, options ...func(*app.Config)) *server {
	t.Helper()
	s := &server{t: t, clock: app.NewClock(frozenAt)}
	s.Server = servertest.Start(t, append(append([]func(*app.Config){func(c *app.Config) { c.Dev.Clock = s.clock }}, options...),
		func(c *app.Config) { s.conf = *c })...)
	return s
}

// keepFile keeps the file of a server when it stops.
func keepFile(t *testing.T) func(*app.Config) {
	db := filepath.Join(t.TempDir(), "test.db")
	return func(c *app.Config) { c.DB = db }
}

// run starts the server again after Stop, with the file that keepFile has kept.
func (s *server) run() {
	s.T.Helper()
	s.Server = servertest.Start(s.T, func(c *app.Config) { *c = s.conf })
}

type fields = servertest.Fields

// settle sends everything that is due.
func (s *server) settle() dev.Settled {
	s.T.Helper()
	return servertest.Decode[dev.Settled](s.Control("POST", "/settle", nil))
}

// advance advances the clock and sends everything that becomes due, in order.
func (s *server) advance(by time.Duration) {
	s.T.Helper()
	s.Advance(by.String())
}

// subscription is a webhook in answers of the API.
type subscription struct {
	ID                  string
	Secret              string
	Active              bool
	ConsecutiveFailures int `json:"consecutive_failures"`
}

// entry is an entry of the delivery log.
type entry struct {
	ID             string
	Event          string
	EventID        string            `json:"event_id"`
	RequestPayload json.RawMessage   `json:"request_payload"`
	RequestHeaders map[string]string `json:"request_headers"`
	ResponseStatus *int              `json:"response_status"`
	Attempts       int
	LastError      *string    `json:"last_error"`
	DeliveredAt    *time.Time `json:"delivered_at"`
}

// outcome returns status, attempts and error of a delivery in one line.
func (e entry) outcome() string {
	status, text := "null", ""
	if e.ResponseStatus != nil {
		status = fmt.Sprint(*e.ResponseStatus)
	}
	if e.LastError != nil {
		text = *e.LastError
	}
	return fmt.Sprintf("%s after %d: %s", status, e.Attempts, text)
}

// hook is a webhook of the demo shop's standard program.
type hook struct {
	s      *server
	id     string
	secret string
}

func (s *server) program() string { return s.ProgramIDs["standard"] }
func (h hook) path() string       { return "/programs/" + h.s.program() + "/webhooks/" + h.id }

// hook creates a webhook for card.added. more changes the fields.
func (s *server) hook(url string, more ...fields) hook {
	s.T.Helper()
	body := fields{"url": url, "events": []string{"card.added"}}
	for _, m := range more {
		for k, v := range m {
			body[k] = v
		}
	}
	c := servertest.Decode[subscription](s.Call("POST", "/programs/"+s.program()+"/webhooks", body).Want(201))
	return hook{s, c.ID, c.Secret}
}

func (h hook) get() subscription {
	h.s.T.Helper()
	return servertest.Decode[subscription](h.s.Call("GET", h.path(), nil).Want(200))
}

func (h hook) patch(body fields) subscription {
	h.s.T.Helper()
	return servertest.Decode[subscription](h.s.Call("PATCH", h.path(), body).Want(200))
}

// log returns the delivery log, oldest first.
func (h hook) log() (list []entry) {
	h.s.T.Helper()
	items := servertest.Decode[struct{ Items []entry }](h.s.Call("GET", h.path()+"/deliveries?limit=200", nil).Want(200)).Items
	for i := len(items) - 1; i >= 0; i-- {
		list = append(list, items[i])
	}
	return list
}

// only returns the single entry of the log.
func (h hook) only() entry {
	h.s.T.Helper()
	list := h.log()
	if len(list) != 1 {
		h.s.T.Fatalf("%d entries in the log, want one", len(list))
	}
	return list[0]
}

// due returns when the webhook's next attempt is due; ok is false if none is.
func (h hook) due() (at time.Time, ok bool) {
	h.s.T.Helper()
	key, _ := h.s.App.Store.Key(store.KindWebhook, h.id)
	require.NoError(h.s.T, h.s.App.Store.View(0, func(v *store.View) error {
		list, err := v.WebhooksWithScheduledDeliveries()
		for _, w := range list {
			if w.Webhook == key {
				at, ok = w.Due.Std(), true
			}
		}
		return err
	}))
	return at, ok
}

// wait returns the time until the next attempt is due.
func (h hook) wait() time.Duration {
	h.s.T.Helper()
	at, ok := h.due()
	if !ok {
		h.s.T.Fatal("nothing is due")
	}
	return at.Sub(h.s.clock.Now())
}

// issue issues a card, which fires card.added, and returns its id.
func (s *server) issue(more ...fields) string {
	s.T.Helper()
	body := fields{}
	for _, m := range more {
		body = m
	}
	return servertest.Decode[struct{ ID string }](s.Call("POST", "/programs/"+s.program()+"/cards", body).Want(201)).ID
}

// burst issues n cards in one commit.
func (s *server) burst(n int) (cards []string) {
	s.T.Helper()
	servertest.Write(s.T, s.App.Store, func(tx *store.Tx) error {
		cards = nil
		for range n {
			c, err := tx.IssueCard(store.Access{Shop: s.Shop()}, s.program(), store.CardFields{}, store.SourceAPI)
			if err != nil {
				return err
			}
			cards = append(cards, c.ID)
		}
		return nil
	})
	return cards
}

// logTo returns a log that sends its lines to a channel.
func logTo(lines chan<- string) *slog.Logger {
	return slog.New(slog.NewTextHandler(writer(lines), nil))
}

type writer chan<- string

func (w writer) Write(line []byte) (int, error) {
	select {
	case w <- string(line):
	default:
	}
	return len(line), nil
}

func set[T any](v T) store.Opt[T] { return store.Opt[T]{V: v, Set: true} }

// clean checks that a text of the log contains neither the URL, which may have secrets, nor the
// addresses of its host.
func clean(t *testing.T, text string) {
	t.Helper()
	for _, secret := range []string{"127.0.0.1", "::1", "localhost", "http://", "https://", "secret", "Bearer", "whsec_", "\n"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q repeats %q", text, secret)
		}
	}
	if len(text) > 210 {
		t.Errorf("%q is %d bytes", text, len(text))
	}
}
