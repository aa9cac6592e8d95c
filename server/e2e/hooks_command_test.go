package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punchcard/server/servertest"
)

// commanded is a delivery of an event that a command caused.
type commanded struct {
	Event      string
	OccurredAt time.Time `json:"occurred_at"`
	Data       map[string]any
	header     http.Header
	arrived    time.Time
}

// receiveCommanded starts a receiver that passes on what it gets.
func receiveCommanded(t testing.TB) (url string, got <-chan commanded) {
	all := make(chan commanded, 1000)
	r := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c := commanded{header: r.Header, arrived: time.Now()}
		json.NewDecoder(r.Body).Decode(&c)
		all <- c
	}))
	t.Cleanup(r.Close)
	return r.URL, all
}

// hooks returns a client with a key and the path of the webhooks of a program.
func (f *shopFile) hooks(k key, program string) (c *servertest.Client, path string) {
	return f.api(k), "/programs/" + program + "/webhooks"
}

// next waits for a delivery.
func (f *shopFile) next(got <-chan commanded) (c commanded) {
	f.t.Helper()
	select {
	case c = <-got:
	case <-time.After(waitLimit):
		f.t.Fatal("no webhook of the command came")
	}
	return c
}

// TestWebhooksOfCommands checks that events of writes that commands make beside a
// server are sent, under serve and under dev with a clock that stands still.
func TestWebhooksOfCommands(t *testing.T) {
	t.Parallel()
	url, got := receiveCommanded(t)
	f := newShop(t, "--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8")
	k := f.makeKey("create", "--name", "Office")
	c, path := f.hooks(k, newProgram(f.api(k), prepaidCard))
	c.Post(path, map[string]any{"url": url, "events": []string{"location.*", "subscription.*"}}).Want(201)
	made := f.location("North")
	if e := f.next(got); e.Event != "location.created" || e.Data["location_id"] != made {
		t.Errorf("got %+v", e)
	}
	f.run("shop", "update", "--subscription-state", "suspended", "--reason", "Invoice 17 is open")
	if e := f.next(got); e.Event != "subscription.state_changed" || e.Data["to_state"] != "suspended" ||
		e.Data["reason"] != "Invoice 17 is open" {
		t.Errorf("got %+v", e)
	}
	f.run("shop", "update", "--subscription-state", "active")
	if e := f.next(got); e.Data["from_state"] != "suspended" || e.Data["reason"] != "" {
		t.Errorf("got %+v", e)
	}

	file := filepath.Join(t.TempDir(), "dev.db")
	p := startDev(t, "--db", file, "--clock", "2031-05-06T07:08:09Z")
	p.demo().Post("/programs/"+p.ready.ProgramIDs["access"]+"/webhooks",
		map[string]any{"url": url, "events": []string{"card.*"}}).Want(201)
	card := issueCard(p.demo(), p.ready.ProgramIDs["access"], nil)
	if e := f.next(got); e.Event != "card.added" {
		t.Errorf("got %+v", e)
	}
	if r := execute(t, nil, "card", "archive", card.ID, "--db", file); r.code != 0 {
		t.Fatal(r.stderr)
	}
	if e := f.next(got); e.Event != "card.archived" || e.OccurredAt.Format(time.DateOnly) != "2031-05-06" {
		t.Errorf("got %+v", e)
	}
}

// TestWebhookTestOfACommand checks that "webhook test" says what became of the message, and exits
// with 1 if the receiver did not accept it.
func TestWebhookTestOfACommand(t *testing.T) {
	t.Parallel()
	url, _ := receiveCommanded(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(gone.Close)
	f := newShop(t, "--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8")
	c, path := f.hooks(f.makeKey("create", "--name", "Office"),
		newProgram(f.newAPI("Till"), prepaidCard))
	for target, want := range map[string]struct {
		code          int
		state, stderr string
	}{url: {0, "delivered", ""}, gone.URL: {1, "failed", "did not accept it: "}} {
		c.Post(path, map[string]any{"url": target, "events": []string{"card.*"}}).Want(201)
		r := execute(t, nil, "webhook", "test", target, "--db", f.db)
		if r.code != want.code || !strings.Contains(r.stdout, want.state) || !strings.Contains(r.stderr, want.stderr) ||
			(r.stderr == "") != (want.stderr == "") {
			t.Errorf("%s: %+v", target, r)
		}
	}
}

// TestStrictWebhookTargets checks that dev takes the targets of webhooks that serve takes if it is told so.
func TestStrictWebhookTargets(t *testing.T) {
	t.Parallel()
	p := startDev(t, "--strict-webhook-targets")
	wantDetail(p.demo().Post("/programs/"+p.ready.ProgramIDs["access"]+"/webhooks",
		map[string]any{"url": "http://127.0.0.1/hook", "events": []string{"*"}}), "url", "invalid_value")
}
