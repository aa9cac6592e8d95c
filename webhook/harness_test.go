package webhook_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"punchcard/server/app"
	"punchcard/server/dev"
	"punchcard/server/dev/seed"
	"punchcard/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience ends a wait that would last for ever. No test is about how long
// something takes, so it is generous.
const patience = 30 * time.Second

// A server is the real one, on a real port and a real file.
type server struct {
	t     *testing.T
	app   *app.App
	clock *app.Clock
	conf  app.Config
	*seed.Ready
}

var frozenAt = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// start serves a new dev database whose clock stands still.
func start(t *testing.T, options ...func(*app.Config)) *server {
	t.Helper()
	c := app.Config{DB: filepath.Join(t.TempDir(), "test.db"), Listen: "127.0.0.1:0", Limits: app.DefaultLimits(),
		Log: slog.New(slog.DiscardHandler), Dev: &app.Dev{Clock: app.NewClock(frozenAt)}}
	for _, o := range options {
		o(&c)
	}
	s := &server{t: t, clock: c.Dev.Clock, conf: c}
	s.run()
	t.Cleanup(func() { s.stop(patience) })
	return s
}

// run starts the server, also again after stop.
func (s *server) run() {
	s.t.Helper()
	a, err := app.Start(s.conf)
	if err != nil {
		s.t.Fatal(err)
	}
	s.app, s.Ready = a, a.Ready
}

// stop ends the server, once.
func (s *server) stop(patience time.Duration) {
	s.t.Helper()
	if s.app == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// A connection dialled and never used would hold Shutdown up.
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	a := s.app
	s.app = nil
	if err := a.Stop(ctx); err != nil {
		s.t.Error(err)
	}
}

type fields = map[string]any

type reply struct {
	t      *testing.T
	status int
	body   []byte
}

func (s *server) fetch(method, url, key string, body any) *reply {
	s.t.Helper()
	var raw []byte
	if body != nil {
		raw, _ = json.Marshal(body)
	}
	req, err := http.NewRequest(method, url, bytes.NewReader(raw))
	if err != nil {
		s.t.Fatal(err)
	}
	if raw != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return &reply{s.t, resp.StatusCode, b}
}

// rest calls the REST API of the demo shop.
func (s *server) rest(method, path string, body any) *reply {
	s.t.Helper()
	return s.fetch(method, s.BaseURL+path, s.APIKey, body)
}

// control calls the control API; it must answer with success.
func (s *server) control(method, path string, body any) *reply {
	s.t.Helper()
	r := s.fetch(method, s.Origin+"/dev"+path, "", body)
	if r.status >= 300 {
		s.t.Fatalf("%s /dev%s: %d %s", method, path, r.status, r.body)
	}
	return r
}

func (r *reply) want(status int) *reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %.1000s", r.status, status, r.body)
	}
	return r
}

func into[T any](r *reply) (v T) {
	r.t.Helper()
	if err := json.Unmarshal(r.body, &v); err != nil {
		r.t.Fatalf("%v: %.1000s", err, r.body)
	}
	return v
}

// settle does all that is due and returns when that is done.
func (s *server) settle() dev.Settled {
	s.t.Helper()
	return into[dev.Settled](s.control("POST", "/settle", nil))
}

// advance moves the clock through each instant at which something is due.
func (s *server) advance(by time.Duration) {
	s.t.Helper()
	s.control("POST", "/clock", fields{"advance": by.String()})
}

// A subscription is a webhook as the API shows it.
type subscription struct {
	ID                  string
	Secret              string
	Active              bool
	ConsecutiveFailures int `json:"consecutive_failures"`
}

// An entry is one of the delivery log.
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

// outcome tells what the log says of a delivery in one line.
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

// A hook is a webhook of the demo shop's standard program.
type hook struct {
	s      *server
	id     string
	secret string
}

func (s *server) program() string { return s.ProgramIDs["standard"] }
func (h hook) path() string       { return "/programs/" + h.s.program() + "/webhooks/" + h.id }

// hook subscribes a URL to card.added, or to what more says.
func (s *server) hook(url string, more ...fields) hook {
	s.t.Helper()
	body := fields{"url": url, "events": []string{"card.added"}}
	for _, m := range more {
		for k, v := range m {
			body[k] = v
		}
	}
	c := into[subscription](s.rest("POST", "/programs/"+s.program()+"/webhooks", body).want(201))
	return hook{s, c.ID, c.Secret}
}

func (h hook) get() subscription {
	h.s.t.Helper()
	return into[subscription](h.s.rest("GET", h.path(), nil).want(200))
}

func (h hook) patch(body fields) subscription {
	h.s.t.Helper()
	return into[subscription](h.s.rest("PATCH", h.path(), body).want(200))
}

// log is the delivery log, oldest first.
func (h hook) log() (list []entry) {
	h.s.t.Helper()
	items := into[struct{ Items []entry }](h.s.rest("GET", h.path()+"/deliveries?limit=200", nil).want(200)).Items
	for i := len(items) - 1; i >= 0; i-- {
		list = append(list, items[i])
	}
	return list
}

// only is the one entry of the log.
func (h hook) only() entry {
	h.s.t.Helper()
	list := h.log()
	if len(list) != 1 {
		h.s.t.Fatalf("%d entries in the log, want one", len(list))
	}
	return list[0]
}

// due is when the webhook's next attempt is to be made; false: none waits.
func (h hook) due() (at time.Time, ok bool) {
	h.s.t.Helper()
	key, _ := h.s.app.Store.Key(store.KindWebhook, h.id)
	if err := h.s.app.Store.View(0, func(v *store.View) error {
		list, err := v.Waiting()
		for _, w := range list {
			if w.Webhook == key {
				at, ok = w.Due.Std(), true
			}
		}
		return err
	}); err != nil {
		h.s.t.Fatal(err)
	}
	return at, ok
}

// wait is how long it is until the next attempt is due.
func (h hook) wait() time.Duration {
	h.s.t.Helper()
	at, ok := h.due()
	if !ok {
		h.s.t.Fatal("nothing waits")
	}
	return at.Sub(h.s.clock.Now())
}

// issue makes a card, which is a card.added, and returns its id.
func (s *server) issue(more ...fields) string {
	s.t.Helper()
	body := fields{}
	for _, m := range more {
		body = m
	}
	return into[struct{ ID string }](s.rest("POST", "/programs/"+s.program()+"/cards", body).want(201)).ID
}

// burst makes n cards in one commit.
func (s *server) burst(n int) (cards []string) {
	s.t.Helper()
	s.write(func(tx *store.Tx) error {
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

func (s *server) write(do func(*store.Tx) error) {
	s.t.Helper()
	if err := s.app.Store.Write(context.Background(), store.Write{Actor: store.Actor{Type: "system"}, Do: do}); err != nil {
		s.t.Fatal(err)
	}
}

// file opens the database beside the server, as another process does.
func (s *server) file() *sql.DB {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: s.conf.DB}).EscapedPath()+"?_pragma=busy_timeout(5000)")
	if err != nil {
		s.t.Fatal(err)
	}
	return db
}

func (s *server) exec(query string, args ...any) {
	s.t.Helper()
	db := s.file()
	defer db.Close()
	if _, err := db.Exec(query, args...); err != nil {
		s.t.Fatal(err)
	}
}

// rows reads one column of the file.
func (s *server) rows(query string, args ...any) (list []string) {
	s.t.Helper()
	db := s.file()
	defer db.Close()
	r, err := db.Query(query, args...)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Close()
	for r.Next() {
		var v sql.NullString
		if err := r.Scan(&v); err != nil {
			s.t.Fatal(err)
		}
		list = append(list, v.String)
	}
	return list
}

// await takes what a channel has to give before long.
func await[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("waited in vain: %s", what)
	}
	return v
}

// listening is a log whose lines a test waits for.
func listening(lines chan<- string) *slog.Logger {
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

// clean holds a text of the log to what it must never repeat: the URL, which
// may hold secrets, and what its host resolved to.
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
