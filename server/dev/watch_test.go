package dev_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev"
	"punchcard/server/servertest"
)

// watcher records the requests that a fixture reports.
type watcher struct {
	mu   sync.Mutex
	all  []dev.Answered
	more chan struct{} // receives a value after a report, if it has none
}

func (w *watcher) tell(a dev.Answered) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, a)
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func (w *watcher) watch(c *app.Config) { w.more, c.Dev.Watch = make(chan struct{}, 1), w.tell }

// lines returns what was told, without durations. An answer may arrive before it is told of,
// so it waits until done reports that all is there.
func (w *watcher) lines(t *testing.T, done func([]string) bool) (lines []string) {
	t.Helper()
	for end := time.After(servertest.Patience); ; {
		w.mu.Lock()
		lines = nil
		for _, a := range w.all {
			if strings.HasSuffix(a.Path, "/openapi.json") { // the harness reads it
				continue
			}
			lines = append(lines, fmt.Sprintf("%s %d %s [%s]", a.Method, a.Status, a.Path, strings.Join(a.Hints, "; ")))
		}
		w.mu.Unlock()
		if done(lines) {
			return lines
		}
		select {
		case <-w.more:
		case <-end:
			return lines
		}
	}
}

// TestWatched checks what somebody who watches a fixture is told of each kind of answer.
func TestWatched(t *testing.T) {
	var w watcher
	r := start(t, w.watch)
	program := r.ProgramIDs["standard"]
	r.Get("/me").Want(200)
	r.Get("/cards?external_ref=secret-member").Want(200)
	r.Post(cardsPath(r), fields{"holder_name": 1, "holder_email": "x", "un\x1b[2Jknown": 1}).Want(400)
	r.Get("/cards/crd_00000000000000000000000000").Want(404)
	callREST(r, "BREW", "/me", nil)
	callREST(r, "POST", cardsPath(r), fields{"external_ref": "m"}, "Idempotency-Key", "k").Want(201)
	callREST(r, "POST", cardsPath(r), fields{"external_ref": "m"}, "Idempotency-Key", "k").Want(201)
	r.Control("POST", "/faults", fields{"status": 503, "path": "/me"})
	callREST(r, "GET", "/me", nil).Want(503)
	r.Control("POST", "/faults", fields{"status": 0, "path": "/me"})
	callREST(r, "GET", "/me", nil)
	send(r, "GET", r.Origin+"/assets/none.css", nil)
	r.Fetch("GET", r.Origin+"/readyz", nil, http.Header{})
	req, _ := http.NewRequest("GET", r.Origin+"/me", nil)
	req.Host = "evil.example"
	if resp, err := r.HTTP.Do(req); err != nil || resp.StatusCode != 403 {
		t.Fatal(err, resp)
	}
	want := []string{
		"GET 200 /api/public/v1/me []",
		"GET 200 /api/public/v1/cards []",
		"POST 400 /api/public/v1/programs/" + program + "/cards [validation_failed holder_email holder_name un\x1b[2Jknown]",
		"GET 404 /api/public/v1/cards/crd_00000000000000000000000000 [not_found]",
		"OTHER 405 /api/public/v1/me [bad_request]",
		"POST 201 /api/public/v1/programs/" + program + "/cards []",
		"POST 201 /api/public/v1/programs/" + program + "/cards [replayed]",
		"POST 201 /dev/faults []", "GET 503 /api/public/v1/me [internal_error; fault flt_1]", "POST 201 /dev/faults []",
		"GET 0 /api/public/v1/me [fault flt_2; retried_before_retry_after]", "GET 200 /readyz []",
		"GET 403 /me [unauthorized]",
	}
	have := w.lines(t, func(l []string) bool { return len(l) >= len(want) })
	slices.Sort(have) // a later request may be told of first
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Fatalf("told\n%q, want\n%q", have, want)
	}
}

// TestWatchedDeliveries checks that attempts to deliver webhooks are told of, without the
// paths of their receivers, and that what a receiver of the fixture gets is not told twice.
func TestWatchedDeliveries(t *testing.T) {
	var w watcher
	r := start(t, w.watch)
	receiver := r.Control("POST", "/receiver", fields{"status": 500})
	newHook(r, receiver.Str("url"), "card.added")
	r.Post(cardsPath(r), nil).Want(201)
	settle(r)
	lines := w.lines(t, func(l []string) bool {
		return slices.ContainsFunc(l, func(s string) bool { return strings.HasPrefix(s, "WEBHOOK") })
	})
	if !slices.ContainsFunc(lines, func(s string) bool {
		return strings.HasPrefix(s, "WEBHOOK 500 card.added to "+r.Origin+" [next attempt 2026-03-01T09:")
	}) {
		t.Errorf("told %q", lines)
	}
	if text := strings.Join(lines, "\n"); strings.Contains(text, receiver.Str("id")) {
		t.Errorf("told of the receiver's path: %s", text)
	}
}

// TestWatchedPathsHaveNoSecrets checks that no path tells a token or a card's code, neither of
// a route nor of what nearly is one.
func TestWatchedPathsHaveNoSecrets(t *testing.T) {
	var w watcher
	r := start(t, w.watch)
	secrets := []string{
		"k7qm2x9pk7qm2x9pk7qm2x9pk7qm2x9p", "abcdefgh", "ABCD2345", r.APIKey, r.TillToken, "grace@example.com",
		"%1b%5b2Jgrace", "gr%C3%A4ce",
	}
	patterns := []string{"/files/:token", "/:token", "//c/:token", "/c/:token/:token/", "/x/i/:token"}
	for _, route := range r.App.Routes() {
		_, pattern, _ := strings.Cut(route, " ")
		if strings.Contains(pattern, ":token") || strings.Contains(pattern, ":code") {
			patterns = append(patterns, pattern)
		}
	}
	if len(patterns) < 15 {
		t.Fatalf("only %d patterns", len(patterns))
	}
	params, n := regexp.MustCompile(`:(token|code)`), 0
	for _, pattern := range patterns {
		for _, secret := range secrets {
			if secret == "abcdefgh" &&
				(pattern[1] == ':' || strings.HasPrefix(pattern, "/files/") || strings.Contains(pattern, ":token/:token")) {
				continue // a word like any other
			}
			send(r, "POST", r.Origin+params.ReplaceAllLiteralString(pattern, secret)+"?token="+secret, nil)
			n++
		}
	}
	lines := w.lines(t, func(l []string) bool { return len(l) >= n })
	if len(lines) != n {
		t.Fatalf("%d lines, want %d", len(lines), n)
	}
	for _, line := range lines {
		for _, secret := range append(secrets, "%1b", "2J", "grace") {
			if strings.Contains(line, secret) {
				t.Errorf("told a secret: %s", line)
			}
		}
	}
}

// TestAccessLogOfFixture checks that the access log of a fixture has its control API and the
// requests that a fault has answered.
func TestAccessLogOfFixture(t *testing.T) {
	log := &servertest.Log{}
	r := start(t, func(c *app.Config) { c.AccessLog, c.Log = true, slog.New(slog.NewTextHandler(log, nil)) })
	r.Control("POST", "/faults", fields{"status": 503, "path": "/me"})
	callREST(r, "GET", "/me", nil).Want(503)
	callControl(r, "POST", "/cards/crd_secret/lock", nil).Want(404)
	r.Control("POST", "/reset", nil)
	for _, want := range []string{
		"route=/dev/faults status=201", `method=GET route="" status=503`, "route=/dev/cards/:id/lock status=404",
		"route=/dev/reset status=200",
	} {
		if !log.Has(want) {
			t.Errorf("the log has no %s:\n%s", want, log)
		}
	}
	if log.Has("crd_secret") {
		t.Errorf("the log has a path:\n%s", log)
	}
}
