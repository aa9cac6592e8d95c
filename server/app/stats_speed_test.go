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

// The benchmarks of statistics use a year of a shop (server/bench/year) with a card for every ten
// transactions. Creating a file of ten million transactions takes some minutes:
//
//	go test ./server/app -run '^$' -bench 'Stats|Heatmap|Analytics' -benchtime 1x -transactions 10000000 -timeout 1h
//
// The flag -year names an existing file with the same number of transactions.
var (
	transactions = flag.Int("transactions", 1_000_000, "transactions in the big file that statistics are measured on")
	yearDB       = flag.String("year", "", "an existing file to use instead")
)

const yearEnd = "2026-07-01"

// yearFile returns a file with n transactions. It creates the file unless the flag -year names it.
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

// TestYearFileIsConsistent checks that the benchmarks' file passes the checks of the program.
func TestYearFileIsConsistent(t *testing.T) {
	t.Parallel()
	st, err := store.Open(yearFile(t, 20_000), store.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if found, err := st.Check(); err != nil || len(found) > 0 {
		t.Fatalf("check: %q, %v", found, err)
	}
}

// atYearEnd sets a server's clock to the end of the file's year plus later.
func atYearEnd(later time.Duration) func(*app.Config) {
	return func(c *app.Config) {
		end, _ := time.Parse(time.DateOnly, yearEnd)
		c.Dev.Clock = app.NewClock(end.Add(later))
	}
}

// getTimes makes n requests in sequence and returns the median and the longest time in
// milliseconds.
func getTimes(b *testing.B, a *app.App, n int, key, path string) (median, longest float64) {
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

// BenchmarkStats compares GET /programs/{id}/stats of the program that has nearly all transactions
// with the same in a file that has a hundredth of them.
func BenchmarkStats(b *testing.B) {
	stats := func(n int) func() float64 {
		a := serve(b, yearFile(b, n), atYearEnd(0))
		path := "/programs/" + a.Ready.ProgramIDs["standard"] + "/stats"
		getTimes(b, a, 20, seed.APIKey, path) // warm
		return func() float64 {
			ms, _ := getTimes(b, a, 100, seed.APIKey, path)
			return ms
		}
	}
	big, small := stats(*transactions), stats(*transactions/100)
	for b.Loop() {
		ms, base, ratio := alternate(7, big, small)
		b.ReportMetric(ms, "ms")
		b.ReportMetric(base, "hundredth-ms")
		b.ReportMetric(ratio, "ratio")
	}
}

// BenchmarkHeatmap measures GET /analytics/heatmap of a year, with a key of all locations and with
// a key of one.
func BenchmarkHeatmap(b *testing.B) {
	a := serve(b, yearFile(b, *transactions), atYearEnd(0))
	for b.Loop() {
		ms, longest := getTimes(b, a, 200, seed.APIKey, "/analytics/heatmap")
		restricted, _ := getTimes(b, a, 200, seed.RestrictedAPIKey, "/analytics/heatmap")
		b.ReportMetric(ms, "ms")
		b.ReportMetric(longest, "max-ms")
		b.ReportMetric(restricted, "one-location-ms")
	}
}

// BenchmarkAnalytics measures the longest time of a request for statistics, which occupies a reader
// for that long: of the first requests, of later ones, and of a server that has not run for 200
// days and has not yet marked the cards that expired since.
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
			median, ms := getTimes(b, a, rounds, seed.APIKey, p)
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
