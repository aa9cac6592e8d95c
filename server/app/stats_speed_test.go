package app_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/store"
)

// Statistics are measured on a year of a shop (server/bench/year) with a card for
// every ten transactions; a file of ten million takes some minutes to make:
//
//	go test ./server/app -run '^$' -bench 'Stats|Heatmap|Analytics' -benchtime 1x -transactions 10000000 -timeout 1h
//
// -year takes one that is there already, made with the same number.
var (
	transactions = flag.Int("transactions", 1_000_000, "transactions in the big file that statistics are measured on")
	yearDB       = flag.String("year", "", "that file, where there is one already")
)

const yearEnd = "2026-07-01"

// yearFile makes a file of so many transactions, or takes the one there is.
func yearFile(tb testing.TB, n int) string {
	if *yearDB != "" && n == *transactions {
		return *yearDB
	}
	n = servertest.Sized(n, min(n, max(200, n/50)))
	path := filepath.Join(tb.TempDir(), "year.db")
	if out, err := exec.Command("go", "run", "../../server/bench/year", "-db", path, "-end", yearEnd, "-cards", strconv.Itoa(n/10), "-transactions", strconv.Itoa(n)).CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestYearIsSound checks that the file of the benchmarks is one that the program
// could have written: else they are worth nothing.
func TestYearIsSound(t *testing.T) {
	st, err := store.Open(yearFile(t, 20_000), store.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if found, err := st.Check(); err != nil || len(found) > 0 {
		t.Fatalf("check: %q, %v", found, err)
	}
}

// atYearEnd sets a server's clock to the end of the file's year, or so much
// later.
func atYearEnd(later time.Duration) func(*app.Config) {
	return func(c *app.Config) {
		end, _ := time.Parse(time.DateOnly, yearEnd)
		c.Dev.Clock = app.NewClock(end.Add(later))
	}
}

// one asks n times, one request after the other, and returns the median and
// the longest time in milliseconds.
func one(b *testing.B, a *app.App, n int, key, path string) (median, longest float64) {
	b.Helper()
	c := dial(b, a.Origin[len("http://"):])
	defer c.c.Close()
	req := request("GET", "/api/public/v1"+path, key, "", "")
	var took []float64
	for range n {
		start := time.Now()
		status, body, err := c.roundTrip(req, true)
		if err != nil || status != 200 {
			b.Fatalf("%s: status %d, %v %.300s", path, status, err, body)
		}
		took = append(took, float64(time.Since(start).Microseconds())/1000)
	}
	slices.Sort(took)
	return took[n/2], took[n-1]
}

// BenchmarkStats: GET /programs/{id}/stats of the program that has nearly all
// transactions, against that of a file with a hundredth of them.
func BenchmarkStats(b *testing.B) {
	stats := func(n int) func() float64 {
		a := serve(b, yearFile(b, n), atYearEnd(0))
		path := "/programs/" + a.Ready.ProgramIDs["standard"] + "/stats"
		one(b, a, 20, seed.APIKey, path) // warm
		return func() float64 {
			ms, _ := one(b, a, 100, seed.APIKey, path)
			return ms
		}
	}
	big, small := stats(*transactions), stats(*transactions/100)
	for b.Loop() {
		ms, base, ratio := turns(7, big, small)
		b.ReportMetric(ms, "ms")
		b.ReportMetric(base, "hundredth-ms")
		b.ReportMetric(ratio, "ratio")
	}
}

// BenchmarkHeatmap: GET /analytics/heatmap of a year, of the whole shop and as
// a key of one location sees it.
func BenchmarkHeatmap(b *testing.B) {
	a := serve(b, yearFile(b, *transactions), atYearEnd(0))
	for b.Loop() {
		ms, longest := one(b, a, 200, seed.APIKey, "/analytics/heatmap")
		place, _ := one(b, a, 200, seed.RestrictedAPIKey, "/analytics/heatmap")
		b.ReportMetric(ms, "ms")
		b.ReportMetric(longest, "max-ms")
		b.ReportMetric(place, "one-location-ms")
	}
}

// BenchmarkAnalytics: the longest that any request for statistics takes, and
// so holds a reader: the first time, warm, and of a server that has not yet
// noticed what expired in the two hundred days in which it did not run.
func BenchmarkAnalytics(b *testing.B) {
	db := yearFile(b, *transactions)
	longest := func(later time.Duration, rounds int) (most float64) {
		s := servertest.Start(b, func(c *app.Config) { c.DB = db }, atYearEnd(later))
		defer s.Stop()
		a := s.App
		paths := []string{"/analytics/summary", "/analytics/heatmap", "/analytics/heatmap?from=2025-07-01&to=2026-07-01", "/analytics/card-types"}
		for kind, id := range a.Ready.ProgramIDs {
			paths = append(paths, "/programs/"+id+"/stats", "/analytics/card-types/"+kind, "/analytics/heatmap?program_id="+id)
		}
		slices.Sort(paths)
		for _, p := range paths {
			median, ms := one(b, a, rounds, seed.APIKey, p)
			most = max(most, ms)
			if testing.Verbose() {
				fmt.Fprintf(os.Stderr, "%9.3f median %9.3f max ms %s\n", median, ms, p)
			}
		}
		return most
	}
	for b.Loop() {
		b.ReportMetric(longest(0, 1), "first-max-ms")
		b.ReportMetric(longest(0, 50), "max-ms")
		b.ReportMetric(longest(200*24*time.Hour, 10), "unnoticed-max-ms")
	}
}
