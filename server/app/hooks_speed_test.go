package app_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/store"
)

// newReceiver starts a receiver that answers at once and calls received with the time of each
// request.
func newReceiver(b *testing.B, received func(at time.Time)) (url string) {
	return startReceiver(b, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		received(time.Now())
	})
}

func startReceiver(b *testing.B, h http.HandlerFunc) (url string) {
	return "http://" + listen(b, h) + "/hook"
}

// subscribe registers a webhook at the demo shop.
func subscribe(b *testing.B, a *app.App, url string, events ...string) {
	servertest.Write(b, a.Store, func(tx *store.Tx) error {
		tx.CheckedTarget = url
		_, err := tx.CreateWebhook(store.Access{Shop: a.Ready.Shop()}, a.Ready.ProgramIDs["standard"],
			store.WebhookFields{URL: opt(url), Events: opt(events)})
		return err
	})
}

// stamper returns a function that gives a random card one stamp, in a commit of its own.
func stamper(b *testing.B, a *app.App) func() {
	return stamperOf(b, a, issueCards(b, a, 20_000, 20_000))
}

// stamperOf returns a function that stamps one of the cards.
func stamperOf(b *testing.B, a *app.App, ids []string) func() {
	till, err := a.Store.IdentifyTill(store.Hash(seed.TillToken))
	if err != nil || till == nil {
		b.Fatal(till, err)
	}
	return func() {
		servertest.Write(b, a.Store, func(tx *store.Tx) error {
			_, err := tx.Stamp(till.Till, ids[rand.IntN(len(ids))], store.StampFields{})
			return err
		})
	}
}

func percentile(v []time.Duration, p float64) time.Duration {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[min(len(v)-1, int(float64(len(v))*p))]
}

// BenchmarkDelivery measures the time from a stamp's write to its arrival at the webhook's
// receiver, the commit included. It compares it with the sum of one commit of a stamp without a
// webhook and one POST of the same size to the same receiver.
func BenchmarkDelivery(b *testing.B) {
	received := make(chan time.Time, 1)
	url := newReceiver(b, func(at time.Time) { received <- at })
	withWebhook, withoutWebhook := serve(b, filepath.Join(b.TempDir(), "webhook.db")), serve(b, filepath.Join(b.TempDir(), "none.db"))
	stamp, stampWithout := stamper(b, withWebhook), stamper(b, withoutWebhook)
	subscribe(b, withWebhook, url, "stamp.assigned")
	body := bytes.Repeat([]byte("x"), 800)
	post := func() {
		resp, err := http.Post(url, "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
		<-received
	}
	for b.Loop() {
		var delivery, commit, posts []time.Duration
		for range servertest.Sized(2000, 20) {
			start := time.Now()
			stamp()
			delivery = append(delivery, (<-received).Sub(start))
			start = time.Now()
			stampWithout()
			commit = append(commit, time.Since(start))
			start = time.Now()
			post()
			posts = append(posts, time.Since(start))
		}
		base := percentile(commit, 0.5) + percentile(posts, 0.5)
		b.ReportMetric(float64(percentile(delivery, 0.5).Microseconds()), "µs-median")
		b.ReportMetric(float64(percentile(delivery, 0.99).Microseconds()), "µs-p99")
		b.ReportMetric(float64(percentile(commit, 0.5).Microseconds()), "µs-commit")
		b.ReportMetric(float64(percentile(posts, 0.5).Microseconds()), "µs-bare-post")
		b.ReportMetric(float64(percentile(delivery, 0.5))/float64(base), "x-commit-and-post")
	}
}

// BenchmarkIsolation has fifty webhooks that match every stamp. It compares the 99th percentile of
// the time until forty-nine receivers have the delivery when the fiftieth hangs with that when it
// does not.
func BenchmarkIsolation(b *testing.B) {
	const others = 49
	run := func(hang bool) func() float64 {
		received := make(chan time.Time, others)
		a := serve(b, filepath.Join(b.TempDir(), fmt.Sprint(hang)))
		stamp := stamper(b, a)
		for range others {
			subscribe(b, a, newReceiver(b, func(at time.Time) { received <- at }), "stamp.assigned")
		}
		subscribe(b, a, startReceiver(b, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if hang {
				select {
				case <-r.Context().Done():
				case <-time.After(10 * time.Second):
				}
			}
		}), "stamp.assigned")
		return func() float64 {
			var took []time.Duration
			for range servertest.Sized(100, 2) {
				start := time.Now()
				stamp()
				for range others {
					took = append(took, (<-received).Sub(start))
				}
			}
			return float64(percentile(took, 0.99).Microseconds())
		}
	}
	hanging, healthy := run(true), run(false)
	for b.Loop() {
		h, base, ratio := alternate(7, hanging, healthy)
		b.ReportMetric(h, "µs-p99-one-hangs")
		b.ReportMetric(base, "µs-p99-none-hangs")
		b.ReportMetric(ratio, "ratio")
	}
}

// BenchmarkFanOut compares the rate of stamps over HTTP with fifty webhooks that match, with fifty
// that do not, and with none. No delivery is sent, so that only the cost of queueing is measured.
func BenchmarkFanOut(b *testing.B) {
	ready := func(name string, webhooks int, event string) func() float64 {
		a := serve(b, filepath.Join(b.TempDir(), name), func(c *app.Config) { c.HoldWebhooks = true })
		ids := issueCards(b, a, 50_000, 50_000)
		for i := range webhooks {
			subscribe(b, a, fmt.Sprintf("http://127.0.0.1:9/%d", i), event)
		}
		return func() float64 {
			return load(b, a.Origin[len("http://"):], 2*time.Second, 201, func() []byte {
				return request("POST", "/till/v1/cards/"+ids[rand.IntN(len(ids))]+"/stamps", seed.TillToken, "", `{"count":1}`)
			})
		}
	}
	fifty, unmatched, none := ready("fifty.db", 50, "stamp.assigned"), ready("unmatched.db", 50, "location.created"), ready("none.db", 0, "")
	for b.Loop() {
		f, n, ratio := alternate(5, fifty, none)
		b.ReportMetric(f, "stamps/s-50-match")
		b.ReportMetric(n, "stamps/s-no-webhook")
		b.ReportMetric(1/ratio, "x-cost-50-match")
		_, _, ratio = alternate(5, unmatched, none)
		b.ReportMetric(1/ratio, "x-cost-none-matches")
	}
}

// BenchmarkSweep compares the 99th percentile of a stamp's commit while a million old rows of the
// delivery log are deleted with that before.
func BenchmarkSweep(b *testing.B) {
	old := servertest.Sized(1_000_000, 2000)
	file := filepath.Join(b.TempDir(), "sweep.db")
	a := serve(b, file, func(c *app.Config) { c.HoldWebhooks = true })
	stamp := stamper(b, a)
	subscribe(b, a, "http://127.0.0.1:9/", "stamp.assigned")
	addOldDeliveries(b, file, old)
	for b.Loop() {
		before := commits(stamp, func(n int) bool { return n < servertest.Sized(4000, 50) })
		var wg sync.WaitGroup
		var done = make(chan struct{})
		start := time.Now()
		wg.Go(func() {
			defer close(done)
			if err := a.Sweep(); err != nil {
				b.Error(err)
			}
		})
		during := commits(stamp, func(int) bool {
			select {
			case <-done:
				return false
			default:
				return true
			}
		})
		wg.Wait()
		b.ReportMetric(float64(percentile(before, 0.99).Microseconds()), "µs-p99-before")
		b.ReportMetric(float64(percentile(during, 0.99).Microseconds()), "µs-p99-during")
		b.ReportMetric(float64(percentile(during, 0.99))/float64(percentile(before, 0.99)), "ratio")
		b.ReportMetric(time.Since(start).Seconds(), "s-for-a-million")
	}
}

func commits(stamp func(), more func(n int) bool) (took []time.Duration) {
	for more(len(took)) {
		start := time.Now()
		stamp()
		took = append(took, time.Since(start))
	}
	return took
}

// addOldDeliveries adds n deliveries of November 2023 to the file.
func addOldDeliveries(b *testing.B, file string, n int) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(60000)&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	const from = 1_700_000_000_000
	for _, q := range []string{
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<?1) INSERT INTO events (shop_id, name, payload_v2, occurred_at)
			SELECT 1, 'stamp.assigned', CAST(printf('%.*c', 700, 'x') AS BLOB), ?2+i FROM n`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<?1) INSERT INTO deliveries (webhook_id, event_id, outcome, attempts, response_status, request_headers, delivered_at)
			SELECT (SELECT max(id) FROM webhooks), (SELECT max(id) FROM events)-?1+i, 'delivered', 1, 200, printf('%.*c', 300, 'x'), ?2+i FROM n`,
	} {
		if _, err := db.Exec(q, n, from); err != nil {
			b.Fatal(err)
		}
	}
}
