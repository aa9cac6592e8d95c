package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/server/wallet/wallettest"
	"punchcard/server/web"
)

// notified is a card with a browser that shows notices about it.
type notified struct {
	id      string
	browser *wallettest.Browser

	mu   sync.Mutex
	last string // body of the last notice
}

// collect notes the notices of the browser until the end of the test.
func (n *notified) collect(arrived *progress, end <-chan struct{}) {
	for {
		select {
		case <-end:
			return
		case payload := <-n.browser.Notices:
			var notice struct{ Body string }
			if json.Unmarshal(payload, &notice) == nil {
				n.mu.Lock()
				n.last = notice.Body
				n.mu.Unlock()
				arrived.add()
			}
		}
	}
}

// TestNoticesSurviveKills kills the server at random moments while cards are topped up and browsers are told. In the end
// the last notice about each card must have its balance.
func TestNoticesSurviveKills(t *testing.T) {
	t.Parallel()
	const seed = 20261127
	chance := rand.New(rand.NewPCG(seed, uint64(*killsFlag)))
	push := wallettest.NewPushService()
	t.Cleanup(push.Close)
	flags := []string{"--listen", fmt.Sprintf("127.0.0.1:%d", freePort(t)), "--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8",
		"--webhook-backoff-base", "10ms", "--till-rate-limit-per-minute", "0"}
	f := newShop(t, flags...)
	api := f.newAPI("CRM")
	token := f.tillToken()
	program := newProgram(api, prepaidCard)
	arrived := newProgress()
	var cards []*notified
	for range 8 {
		made := issueCard(api, program, `{}`)
		h := http.Header{"Content-Type": {"application/json"}, "Origin": {f.server.origin}}
		installed := api.Fetch("POST", made.InstallURL+"/install", []byte(`{"platform":"google"}`), h).Want(200)
		page := installed.Str("card_url") + "/push"
		b := require.Must(push.Subscribe(api.Fetch("GET", page, nil, http.Header{}).Want(200).Str("public_key")))
		api.Fetch("POST", page+"?lang=en", []byte(b.JSON("all")), h).Want(201)
		n := &notified{id: made.ID, browser: b}
		go n.collect(arrived, t.Context().Done())
		cards = append(cards, n)
	}
	for round := range *killsFlag {
		from := arrived.count()
		var writers sync.WaitGroup
		for _, n := range cards {
			till := f.server.till(token)
			writers.Go(func() {
				for topUp(t, till, n.id) {
				}
			})
		}
		want := from + 1 + chance.Int64N(100)
		if !arrived.waitUntil(func() bool { return arrived.count() >= want }) {
			t.Fatalf("round %d: no notice:\n%s", round, f.server.stderr)
		}
		f.server.signal(syscall.SIGKILL)
		f.server.wait()
		writers.Wait()
		f.server = startServe(t, f.db, flags...)
	}
	for _, n := range cards {
		var c struct {
			CurrentValue int64 `json:"current_value"`
		}
		api.Get("/cards/" + n.id).Want(200).Decode(&c)
		want := "Balance: " + web.PrinterFor("en").Money(c.CurrentValue, "EUR")
		if !arrived.waitUntil(func() bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.last == want
		}) {
			t.Errorf("the last notice is %q, want %q", n.last, want)
		}
	}
	f.server.stop()
	checkFile(t, f.db)
}

// topUp books 1 € on a card. It returns false if there was no answer.
func topUp(t *testing.T, till *servertest.Client, card string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r := till.On(t).Try(ctx, "POST", "/cards/"+card+"/topups", `{"amount_cents":100}`)
	return r.Err == nil && r.Status == 201
}
