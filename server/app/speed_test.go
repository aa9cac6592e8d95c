package app_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
)

// The benchmarks of this package give the figures of server/bench/README.md:
//
//	go test ./server/app -run '^$' -bench . -benchtime 1x -timeout 30m
//
// With -short all sizes are small and the figures mean nothing.
//
// A benchmark measures the server and its baseline alternately, so that changes of the machine's
// speed affect both, and reports the median of their ratios.

// BenchmarkCardRead compares GET /cards/{id} of random cards with a handler that answers with a
// constant body of the same size.
func BenchmarkCardRead(b *testing.B) {
	a := serve(b, filepath.Join(b.TempDir(), "c.db"))
	compareWithConstant(b, a, issueCards(b, a, 10_000, 10_000), "/api/public/v1/cards/", seed.APIKey, "cards/s")
}

// compareWithConstant compares GET of path followed by a random id with serveConstant. unit names
// the rate of answers.
func compareWithConstant(b *testing.B, a *app.App, ids []string, path, key, unit string) {
	addr := a.Origin[len("http://"):]
	reqs, baseReqs := make([][]byte, len(ids)), make([][]byte, len(ids))
	for i, id := range ids {
		reqs[i] = request("GET", path+id, key, "", "")
		baseReqs[i] = request("GET", "/cards/"+id, key, "", "")
	}
	status, body, err := dial(b, addr).roundTrip(reqs[0], true)
	if err != nil || status != 200 {
		b.Fatal(status, err)
	}
	baseAddr := serveConstant(b, body)
	compare(b, 7, unit, "bare/s", "ratio", func() float64 {
		return load(b, addr, time.Second, 200, func() []byte { return reqs[rand.IntN(len(reqs))] })
	}, func() float64 {
		return load(b, baseAddr, time.Second, 200, func() []byte { return baseReqs[rand.IntN(len(baseReqs))] })
	})
	b.ReportMetric(float64(len(body)), "bytes")
}

// BenchmarkList compares the last page with the first one of GET /cards?limit=100 of a million
// cards.
func BenchmarkList(b *testing.B) {
	a := serve(b, filepath.Join(b.TempDir(), "million.db"))
	issueCards(b, a, 1_000_000, 1)
	addr := a.Origin[len("http://"):]
	first := request("GET", "/api/public/v1/cards?limit=100", seed.APIKey, "", "")
	last := lastPage(b, a)
	compare(b, 7, "first/s", "last/s", "last-costs-x-first", func() float64 {
		return load(b, addr, time.Second, 200, func() []byte { return first })
	}, func() float64 {
		return load(b, addr, time.Second, 200, func() []byte { return last })
	})
}

func TestMain(m *testing.M) {
	servertest.Setup()
	os.Exit(m.Run())
}

// lastPage returns the request for the last hundred cards, which it finds by reading all pages.
func lastPage(b *testing.B, a *app.App) []byte {
	c := dial(b, a.Origin[len("http://"):])
	defer c.c.Close()
	var page struct {
		Next *string `json:"next_cursor"`
	}
	req := request("GET", "/api/public/v1/cards?limit=100", seed.APIKey, "", "")
	for {
		_, body, err := c.roundTrip(req, true)
		noError(b, err)
		page.Next = nil
		noError(b, json.Unmarshal(body, &page))
		if page.Next == nil {
			return req
		}
		req = request("GET", "/api/public/v1/cards?limit=100&cursor="+*page.Next, seed.APIKey, "", "")
	}
}

// BenchmarkIssue compares POST /programs/{id}/cards with an Idempotency-Key, each answer on disk
// (synchronous=FULL), with the same server committing every write separately.
func BenchmarkIssue(b *testing.B) {
	compareGroups(b, "cards/s", func(a *app.App) func(n int64) []byte {
		path := "/api/public/v1/programs/" + a.Ready.ProgramIDs["standard"] + "/cards"
		return func(n int64) []byte {
			return request("POST", path, seed.APIKey, fmt.Sprintf("Idempotency-Key: import-%d\r\n", n),
				fmt.Sprintf(`{"external_ref":"member-%d","holder_name":"Giulia Bianchi","holder_email":"m%d@example.com"}`, n, n))
		}
	})
}

// compareGroups compares writes in groups with the same server committing every write separately.
// prepare returns the function that makes the n-th request to a server.
func compareGroups(b *testing.B, unit string, prepare func(*app.App) func(n int64) []byte) {
	var serial atomic.Int64
	writes := func(name string, options ...func(*app.Config)) func() float64 {
		a := serve(b, filepath.Join(b.TempDir(), name), options...)
		next := prepare(a)
		return func() float64 {
			return load(b, a.Origin[len("http://"):], 2*time.Second, 201, func() []byte { return next(serial.Add(1)) })
		}
	}
	grouped, single := writes("grouped.db"), writes("single.db", func(c *app.Config) { c.MaxGroup = 1 })
	compare(b, 5, unit, "groups-of-one/s", "ratio", grouped, single)
	b.ReportMetric(float64(fsync(b).Microseconds()), "µs/fsync")
}

// fsync returns the median time of syncing 4 KiB appended to a file.
func fsync(b *testing.B) time.Duration {
	f, err := os.Create(filepath.Join(b.TempDir(), "fsync"))
	noError(b, err)
	defer f.Close()
	var took []time.Duration
	page := make([]byte, 4096)
	for range 200 {
		start := time.Now()
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		noError(b, f.Sync())
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2]
}
