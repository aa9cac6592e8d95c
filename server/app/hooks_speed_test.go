package app_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
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
	return "http://" + listen(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		received(time.Now())
	})) + "/hook"
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
	ids := issueCards(b, a, 20_000, 20_000)
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
		noError(b, err)
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
