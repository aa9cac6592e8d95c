package dev_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev"
	"punchcard/server/servertest"
)

type (
	fields = servertest.Fields
	server = servertest.Server
	reply  = servertest.Reply
)

// TestMain fails a run of all tests in which a route of the control API never succeeds.
func TestMain(m *testing.M) { servertest.Main(m, dev.Routes()) }

// start lets a test run beside others, and is serve.
func start(t *testing.T, options ...func(*app.Config)) *server {
	t.Helper()
	t.Parallel()
	return serve(t, options...)
}

// serve serves a temporary demo shop whose clock stands still.
func serve(t *testing.T, options ...func(*app.Config)) *server {
	t.Helper()
	s := servertest.Start(t, append([]func(*app.Config){servertest.Frozen, servertest.WithJournal}, options...)...)
	// Each request has its own connection, since the client would by itself repeat
	// a request that was cut off on a connection that it had used before.
	s.HTTP.Transport = &http.Transport{DisableKeepAlives: true}
	return s
}

// send makes a request to any URL, without a key. The reply may be an error.
func send(s *server, method, url string, body any, headers ...string) *reply {
	s.T.Helper()
	c := s.Client.With("")
	c.URL = ""
	return c.Try(context.Background(), method, url, body, headers...)
}

func callREST(s *server, method, path string, body any, headers ...string) *reply {
	s.T.Helper()
	return s.Try(context.Background(), method, path, body, headers...)
}

func callTill(s *server, method, path string, body any, headers ...string) *reply {
	s.T.Helper()
	return s.Till(s.TillToken).Try(context.Background(), method, path, body, headers...)
}

func callControl(s *server, method, path string, body any) *reply {
	s.T.Helper()
	r := s.ControlAPI().Try(context.Background(), method, path, body)
	if r.Err == nil {
		r.Check() // that it is as documented
	}
	return r
}

// entry is an entry of the journal, for a request or for a delivery.
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

func readJournal(r *server, query string) journal {
	r.T.Helper()
	return servertest.Decode[journal](r.Control("GET", "/requests"+query, nil))
}

// lastEntry returns the newest entry of the journal.
func lastEntry(r *server) entry {
	r.T.Helper()
	list := readJournal(r, "?limit=1").Data
	if len(list) != 1 {
		r.T.Fatalf("%d entries, want one", len(list))
	}
	return list[0]
}

// hintCodes returns the codes of the newest entry's hints.
func hintCodes(r *server) string {
	r.T.Helper()
	var codes []string
	for _, h := range lastEntry(r).Hints {
		codes = append(codes, h.Code)
	}
	return strings.Join(codes, " ")
}

func cardsPath(r *server) string {
	return "/programs/" + r.ProgramIDs["standard"] + "/cards"
}

func countCards(r *server) int {
	r.T.Helper()
	return len(callREST(r, "GET", "/cards?limit=100", nil).Want(200).IDs())
}

func wantCards(r *server, want int) {
	r.T.Helper()
	if n := countCards(r); n != want {
		r.T.Errorf("%d cards, want %d", n, want)
	}
}

func wantEntries(r *server, query string, want int) {
	r.T.Helper()
	if n := len(readJournal(r, query).Data); n != want {
		r.T.Errorf("%d entries of %s, want %d", n, query, want)
	}
}

func settle(r *server) dev.Settled {
	r.T.Helper()
	return servertest.Decode[dev.Settled](r.Control("POST", "/settle", nil))
}

func advance(r *server, by time.Duration) {
	r.T.Helper()
	r.Advance(by.String())
}
