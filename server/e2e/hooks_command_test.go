package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/store"
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
	c, path := f.hooks(k, newProgram(f.api(k), `{"type":"prepaid","name":"Prepaid","initial_balance_cents":0}`))
	c.Post(path, map[string]any{"url": url, "events": []string{"location.*", "subscription.*"}}).Want(201)
	made := f.location("North")
	if e := f.next(got); e.Event != "location.created" || e.Data["location_id"] != made {
		t.Errorf("got %+v", e)
	}
	f.run("shop", "update", "--subscription-state", "suspended", "--reason", "Invoice 17 is open")
	if e := f.next(got); e.Event != "subscription.state_changed" || e.Data["to_state"] != "suspended" || e.Data["reason"] != "Invoice 17 is open" {
		t.Errorf("got %+v", e)
	}
	f.refused("shop", "update", "--subscription-state", "active", "--reason", "two\nlines")("reason")
	f.run("shop", "update", "--subscription-state", "active")
	if e := f.next(got); e.Data["from_state"] != "suspended" || e.Data["reason"] != "" {
		t.Errorf("got %+v", e)
	}

	file := filepath.Join(t.TempDir(), "dev.db")
	p := startDev(t, "--db", file, "--clock", "2031-05-06T07:08:09Z")
	p.api(p.ready.APIKey).Post("/programs/"+p.ready.ProgramIDs["access"]+"/webhooks", map[string]any{"url": url, "events": []string{"card.*"}}).Want(201)
	card := issueCard(p.api(p.ready.APIKey), p.ready.ProgramIDs["access"], nil)
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
	c, path := f.hooks(f.makeKey("create", "--name", "Office"), newProgram(f.api(f.makeKey("create", "--name", "Till")), `{"type":"prepaid","name":"Prepaid","initial_balance_cents":0}`))
	for target, want := range map[string]struct {
		code          int
		state, stderr string
	}{url: {0, "delivered", ""}, gone.URL: {1, "failed", "did not accept it: "}} {
		c.Post(path, map[string]any{"url": target, "events": []string{"card.*"}}).Want(201)
		r := execute(t, nil, "webhook", "test", target, "--db", f.db)
		if r.code != want.code || !strings.Contains(r.stdout, want.state) || !strings.Contains(r.stderr, want.stderr) || (r.stderr == "") != (want.stderr == "") {
			t.Errorf("%s: %+v", target, r)
		}
	}
}

// fillHook creates a dev file with a webhook for an event.
func fillHook(b *testing.B, file, url, event string) {
	fillDev(b, file, 0)
	st, err := store.Open(file, store.Options{MustExist: true})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	shop, err := st.ResolveShop("")
	if err != nil {
		b.Fatal(err)
	}
	err = st.Write(b.Context(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(tx *store.Tx) error {
		tx.CheckedTarget = url
		p, err := tx.CreateProgram(store.Access{Shop: shop}, store.ProgramFields{Type: store.Given("access"), Name: store.Given("Door"), AccessImageURL: store.Given("https://example.com/a.png")})
		if err != nil {
			return err
		}
		_, err = tx.CreateWebhook(store.Access{Shop: shop}, p.ID, store.WebhookFields{URL: store.Given(url), Events: store.Given([]string{event})})
		return err
	}})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCommand measures the time from the write of a command beside a server to
// the arrival of its webhook, with one command after the other and with pauses.
func BenchmarkCommand(b *testing.B) {
	for name, pause := range map[string]time.Duration{"in-a-row": 0, "alone": 400 * time.Millisecond} {
		b.Run(name, func(b *testing.B) {
			url, got := receiveCommanded(b)
			file := filepath.Join(b.TempDir(), "command.db")
			fillHook(b, file, url, "location.created")
			cmd := exec.Command(binary(), "serve", "--db", file, "--listen", "127.0.0.1:0", "--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8")
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			defer func() {
				cmd.Process.Signal(syscall.SIGTERM)
				cmd.Wait()
			}()
			time.Sleep(2 * time.Second) // until the server waits
			b.ResetTimer()
			for b.Loop() {
				n := servertest.Sized(200, 5)
				var took []time.Duration
				for range n {
					if out, err := exec.Command(binary(), "location", "create", "--db", file, "--name", "North", "--address", "Via Po 1", "--city", "Torino", "--postal-code", "10123", "--country-code", "IT").CombinedOutput(); err != nil {
						b.Fatalf("%v: %s", err, out)
					}
					time.Sleep(pause)
				}
				for range n {
					e := <-got
					took = append(took, e.arrived.Sub(e.OccurredAt))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[n/2].Milliseconds()), "ms-median")
				b.ReportMetric(float64(took[n*99/100].Milliseconds()), "ms-p99")
			}
		})
	}
}
