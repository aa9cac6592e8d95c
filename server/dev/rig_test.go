package dev_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev"
	"punchcard/server/dev/seed"
)

// patience ends a wait that would last for ever.
const patience = 30 * time.Second

type fields = map[string]any

// A rig is the real server on a real port, whose clock stands still, and a
// client of it.
type rig struct {
	t      *testing.T
	app    *app.App
	client *http.Client
	stop   func() // once; the end of the test does it too
	*seed.Ready
}

func newRig(t *testing.T, options ...func(*app.Config)) *rig {
	t.Helper()
	c := app.Config{Listen: "127.0.0.1:0", Limits: app.DefaultLimits(), Log: slog.New(slog.DiscardHandler),
		Dev: &app.Dev{Clock: app.NewClock(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))}}
	for _, o := range options {
		o(&c)
	}
	a, err := app.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	// Each request has its own connection: on one that was used before, the
	// client would by itself make a request again that was cut off.
	r := &rig{t: t, app: a, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, Ready: a.Ready}
	r.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// A reply is an answer, read whole; cut: there was none.
type reply struct {
	t      *testing.T
	cut    bool
	status int
	header http.Header
	body   []byte
}

// send makes a request and reads its answer. body is JSON text, or a value to be
// marshalled, or nil; headers are name, value pairs.
func (r *rig) send(ctx context.Context, method, url string, body any, headers ...string) *reply {
	r.t.Helper()
	var raw []byte
	switch b := body.(type) {
	case nil:
	case string:
		raw = []byte(b)
	default:
		raw, _ = json.Marshal(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(raw))
	if err != nil {
		r.t.Fatal(err)
	}
	if raw != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return &reply{t: r.t, cut: true}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return &reply{r.t, err != nil, resp.StatusCode, resp.Header, b}
}

func (r *rig) rest(method, path string, body any, headers ...string) *reply {
	r.t.Helper()
	return r.send(context.Background(), method, r.BaseURL+path, body, append([]string{"Authorization", "Bearer " + r.APIKey}, headers...)...)
}

func (r *rig) till(method, path string, body any, headers ...string) *reply {
	r.t.Helper()
	return r.send(context.Background(), method, r.Origin+"/till/v1"+path, body, append([]string{"Authorization", "Bearer " + r.TillToken}, headers...)...)
}

func (r *rig) control(method, path string, body any) *reply {
	r.t.Helper()
	return r.send(context.Background(), method, r.Origin+"/dev"+path, body)
}

func (p *reply) want(status int, code ...string) *reply {
	p.t.Helper()
	if p.cut || p.status != status {
		p.t.Fatalf("status %d (cut: %v), want %d: %.1000s", p.status, p.cut, status, p.body)
	}
	if len(code) > 0 {
		if got := into[failure](p).Error.Code; got != code[0] {
			p.t.Fatalf("code %q, want %q: %.1000s", got, code[0], p.body)
		}
	}
	return p
}

func into[T any](p *reply) (v T) {
	p.t.Helper()
	if err := json.Unmarshal(p.body, &v); err != nil {
		p.t.Fatalf("%v: %.1000s", err, p.body)
	}
	return v
}

type failure struct {
	Error struct {
		Code, Message string
		RequestID     string `json:"request_id"`
		Details       []struct{ Field, Code string }
	}
}

// refused holds a bad body to the fields that are wrong with it, as "field code".
func (p *reply) refused(want ...string) {
	p.t.Helper()
	var got []string
	for _, d := range into[failure](p.want(400, "validation_failed")).Error.Details {
		got = append(got, d.Field+" "+d.Code)
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("details %q, want %q", got, want)
	}
}

// An entry is one of the journal, of either shape.
type entry struct {
	Seq       int64
	Kind      string
	At        string
	RequestID *string `json:"request_id"`
	Method    string
	Path      string
	Query     string
	Request   message
	Response  struct {
		Status int
		message
	}
	Fault    *string
	Replayed bool
	Hints    []hint

	WebhookID     string `json:"webhook_id"`
	DeliveryID    string `json:"delivery_id"`
	URL           string
	Event         string
	EventID       string `json:"event_id"`
	Attempt       int
	Status        *int
	Success       bool
	Error         *string
	NextAttemptAt *string `json:"next_attempt_at"`
	DurationMS    int64   `json:"duration_ms"`
}

type message struct {
	Headers   map[string]string
	Body      json.RawMessage
	Truncated bool
}

type hint struct{ Code, Message string }

type journal struct {
	Data  []entry
	Hints []struct {
		hint
		Kind       string
		Seq        int64
		DeliveryID *string `json:"delivery_id"`
	}
}

func (r *rig) journal(query string) journal {
	r.t.Helper()
	return into[journal](r.control("GET", "/requests"+query, nil).want(200))
}

// last is the newest entry of the journal.
func (r *rig) last() entry {
	r.t.Helper()
	list := r.journal("?limit=1").Data
	if len(list) != 1 {
		r.t.Fatalf("%d entries, want one", len(list))
	}
	return list[0]
}

// codes are those of the newest entry's hints.
func (r *rig) codes() string {
	r.t.Helper()
	var codes []string
	for _, h := range r.last().Hints {
		codes = append(codes, h.Code)
	}
	return strings.Join(codes, " ")
}

func (r *rig) cards() string { return "/programs/" + r.ProgramIDs["standard"] + "/cards" }

func (r *rig) count() int {
	r.t.Helper()
	return len(into[struct{ Data []any }](r.rest("GET", "/cards?limit=100", nil).want(200)).Data)
}

func (r *rig) settle() dev.Settled {
	r.t.Helper()
	return into[dev.Settled](r.control("POST", "/settle", nil).want(200))
}

func (r *rig) advance(by time.Duration) {
	r.t.Helper()
	r.control("POST", "/clock", fields{"advance": by.String()}).want(200)
}

func await[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
		return v
	case <-time.After(patience):
		t.Fatal("waited in vain: " + what)
	}
	return v
}
