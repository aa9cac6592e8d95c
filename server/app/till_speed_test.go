package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/store"
)

// BenchmarkStamp: POST /till/v1/cards/{id}/stamps with an Idempotency-Key over
// 200,000 random cards, each answer on disk (synchronous=FULL), against the
// same server that commits every write by itself.
func BenchmarkStamp(b *testing.B) {
	var serial atomic.Int64
	ready := func(name string, options ...func(*app.Config)) func() float64 {
		a := serve(b, filepath.Join(b.TempDir(), name), options...)
		ids := issue(b, a, 200_000, 200_000)
		return func() float64 {
			return load(b, a.Origin[len("http://"):], clients, 2*time.Second, 201, func(int, int) []byte {
				return request("POST", "/till/v1/cards/"+ids[rand.IntN(len(ids))]+"/stamps", seed.TillToken,
					fmt.Sprintf("Idempotency-Key: till-%d\r\n", serial.Add(1)), `{"count":1}`)
			})
		}
	}
	grouped, single := ready("grouped.db"), ready("single.db", func(c *app.Config) { c.MaxGroup = 1 })
	for b.Loop() {
		g, s, ratio := turns(5, grouped, single)
		b.ReportMetric(g, "stamps/s")
		b.ReportMetric(s, "groups-of-one/s")
		b.ReportMetric(ratio, "ratio")
		b.ReportMetric(float64(fsync(b).Microseconds()), "µs/fsync")
	}
}

// BenchmarkLookup: GET /till/v1/cards/{id}, authenticated, over 10,000 random
// cards of three stamps each, against a bare handler with a body of the same
// size.
func BenchmarkLookup(b *testing.B) {
	a := serve(b, filepath.Join(b.TempDir(), "l.db"))
	ids := issue(b, a, 10_000, 10_000)
	stampEach(b, a, ids, 3)
	addr := a.Origin[len("http://"):]
	reqs, bareReqs := make([][]byte, len(ids)), make([][]byte, len(ids))
	for i, id := range ids {
		reqs[i] = request("GET", "/till/v1/cards/"+id, seed.TillToken, "", "")
		bareReqs[i] = request("GET", "/cards/"+id, seed.TillToken, "", "")
	}
	status, body, err := dial(b, addr).roundTrip(reqs[0], true)
	if err != nil || status != 200 {
		b.Fatal(status, err)
	}
	plain := bareWhole(b, body)
	for b.Loop() {
		found, base, ratio := turns(7, func() float64 {
			return load(b, addr, clients, time.Second, 200, func(int, int) []byte { return reqs[rand.IntN(len(reqs))] })
		}, func() float64 {
			return load(b, plain, clients, time.Second, 200, func(int, int) []byte { return bareReqs[rand.IntN(len(bareReqs))] })
		})
		b.ReportMetric(found, "lookups/s")
		b.ReportMetric(base, "bare/s")
		b.ReportMetric(ratio, "ratio")
		b.ReportMetric(float64(len(body)), "bytes")
		allocations(b, addr, 200, func(int, int) []byte { return reqs[rand.IntN(len(reqs))] })
	}
}

// bareWhole is bare for a body that net/http would else send in chunks, for
// want of its length.
func bareWhole(b *testing.B, body []byte) (addr string) {
	length := strconv.Itoa(len(body))
	r := httprouter.New()
	r.GET("/cards/:id", func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", length)
		w.Write(body)
	})
	return listen(b, r)
}

// stampEach gives every card so many stamps of one, past HTTP.
func stampEach(b *testing.B, a *app.App, ids []string, times int) {
	till, err := a.Store.IdentifyTill(store.Hash(seed.TillToken))
	if err != nil || till == nil {
		b.Fatal(till, err)
	}
	for from := 0; from < len(ids); from += 1000 {
		err := a.Store.Write(context.Background(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(tx *store.Tx) error {
			for _, id := range ids[from:min(from+1000, len(ids))] {
				for range times {
					if _, err := tx.Stamp(till.Till, id, store.StampFields{}); err != nil {
						return err
					}
				}
			}
			return nil
		}})
		if err != nil {
			b.Fatal(err)
		}
	}
}
