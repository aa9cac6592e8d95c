package app_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/store"
	"punchcard/store/password"
)

// shopFile is the variable that names the file of BenchmarkPages, which server/bench/year
// made with -end 2026-07-01. Without it the benchmark makes a small one.
const shopFile = "PUNCHCARD_BENCH_FILE"

const yearEnd = "2026-07-01"

// yearFile makes a file with n transactions of a year of a shop, with a card for every ten.
func yearFile(tb testing.TB, n int) string {
	n = servertest.Sized(n, 400)
	path := filepath.Join(tb.TempDir(), "year.db")
	cmd := exec.Command("go", "run", "../../server/bench/year", "-db", path, "-end", yearEnd,
		"-cards", strconv.Itoa(n/10), "-transactions", strconv.Itoa(n))
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestYearFileIsConsistent checks that the benchmarks' file passes the checks of the program.
func TestYearFileIsConsistent(t *testing.T) {
	t.Parallel()
	st, err := store.Open(yearFile(t, 4_000), store.Options{MustExist: true})
	noError(t, err)
	defer st.Close()
	if found, err := st.Check(); err != nil || len(found) > 0 {
		t.Fatalf("check: %q, %v", found, err)
	}
}

// atYearEnd sets a server's clock to the end of the file's year.
func atYearEnd(c *app.Config) {
	end, _ := time.Parse(time.DateOnly, yearEnd)
	c.Dev.Clock = app.NewClock(end)
}

// visitor gets pages of the dashboard with a session.
type visitor struct {
	b      *testing.B
	c      *conn
	origin string
	cookie string // the header
}

// signInTo begins a session of the owner of the demo shop, who is the operator too.
func signInTo(b *testing.B, a *app.App) *visitor {
	v := &visitor{b: b, c: dial(b, a.Origin[len("http://"):]), origin: a.Origin}
	b.Cleanup(func() { v.c.c.Close() })
	status, body, err := v.c.roundTrip(request("POST", "/dev/sign-in", "", "", `{"as":"owner"}`), true)
	var s struct{ Cookie, Token string }
	if err != nil || status != 200 || json.Unmarshal(body, &s) != nil {
		b.Fatal(status, err)
	}
	v.cookie = "Cookie: " + s.Cookie + "=" + s.Token + "\r\n"
	return v
}

// isPage reports whether GET of a path answers with a page, not with a stream or a file.
func (v *visitor) isPage(path string) bool {
	req, err := http.NewRequestWithContext(v.b.Context(), "GET", v.origin+path, nil)
	noError(v.b, err)
	_, cookie, _ := strings.Cut(strings.TrimSpace(v.cookie), ": ")
	req.Header.Set("Cookie", cookie)
	resp, err := http.DefaultTransport.RoundTrip(req)
	noError(v.b, err)
	resp.Body.Close()
	return resp.StatusCode == 200 && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")
}

// get gets a page n times in sequence, after one time that does not count. It returns the median and the 99th percentile in
// milliseconds, and the page.
func (v *visitor) get(path string, n int) (median, p99 float64, page []byte) {
	v.b.Helper()
	req := request("GET", path, "", v.cookie, "")
	var took []float64
	for range n + 1 {
		start := time.Now()
		status, body, err := v.c.roundTrip(req, true)
		if err != nil || status != 200 {
			v.b.Fatalf("%s: status %d, %v %.300s", path, status, err, body)
		}
		took, page = append(took, float64(time.Since(start).Microseconds())/1000), body
	}
	took = took[1:]
	slices.Sort(took)
	return took[n/2], took[n*99/100], page
}

var assetPath = regexp.MustCompile(`"(/assets/[^"]+)"`)

// weight returns the bytes of a page and of the assets that it names, as they are sent to a
// browser, which accepts compressed ones.
func (v *visitor) weight(path string, page []byte) (bytes int) {
	paths := []string{path}
	for _, m := range assetPath.FindAllSubmatch(page, -1) {
		if path := string(m[1]); !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	for _, path := range paths {
		_, body, err := v.c.roundTrip(request("GET", path, "", v.cookie+"Accept-Encoding: gzip\r\n", ""), true)
		noError(v.b, err)
		bytes += len(body)
	}
	return bytes
}

// BenchmarkPages measures the pages of the dashboard as the owner gets them: those
// without an id in the path, the search, and the pages of one card, program and location.
// With -v it logs a line for each.
func BenchmarkPages(b *testing.B) {
	file := os.Getenv(shopFile)
	if file == "" {
		file = yearFile(b, 20_000)
	}
	s := servertest.Start(b, func(c *app.Config) { c.DB, c.Dev.Bare = file, true }, atYearEnd)
	v := signInTo(b, s.App)
	paths := pagePaths(s, v)
	n := servertest.Sized(100, 2)
	for b.Loop() {
		var slowest, slowest99 float64
		var heaviest int
		for _, path := range paths {
			median, p99, page := v.get(path, n)
			weight := v.weight(path, page)
			b.Logf("%6.1f ms, 99 %%: %6.1f ms, %6d bytes, with assets %6d: %s", median, p99, len(page), weight, path)
			slowest, slowest99, heaviest = max(slowest, median), max(slowest99, p99), max(heaviest, weight)
		}
		b.ReportMetric(float64(len(paths)), "pages")
		b.ReportMetric(slowest, "slowest-median-ms")
		b.ReportMetric(slowest99, "slowest-p99-ms")
		b.ReportMetric(float64(heaviest)/1000, "heaviest-kB")
	}
}

// pagePaths returns the paths of the pages that BenchmarkPages measures.
func pagePaths(s *servertest.Server, v *visitor) (paths []string) {
	for _, route := range s.App.Routes() {
		path, ok := strings.CutPrefix(route, "GET ")
		if ok && strings.HasPrefix(path+"/", "/dashboard/") && !strings.Contains(path, ":") && v.isPage(path) {
			paths = append(paths, path)
		}
	}
	var cards struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(s.Get("/cards?limit=1").Body, &cards); err != nil || len(cards.Data) == 0 {
		v.b.Fatal(err)
	}
	card := cards.Data[0].ID
	busiest := s.Value("SELECT date(day*86400, 'unixepoch') FROM day_counts GROUP BY day ORDER BY sum(activity) DESC LIMIT 1")
	paths = append(paths, "/dashboard/report?day="+busiest)
	code := s.Value("SELECT short_code FROM cards WHERE short_code IS NOT NULL ORDER BY id DESC LIMIT 1")
	for _, query := range []string{
		"q=Giulia", "q=giu", "q=g", "q=Francesca+Ferrari",
		"q=Giulia+Rossi", // many cards have one of the names, and none both
		"q=m12%40example.com", "q=m1", "q=member-12", "q=" + code[:4] + "-" + code[4:], "q=" + card, "q=nobody",
		"status=active", "seen=30", "prize_due=true", "q=Giulia&prize_due=true&status=active",
	} {
		paths = append(paths, "/dashboard/cards?"+query)
	}
	return append(paths, "/dashboard/card/"+card, "/dashboard/program/"+s.ProgramIDs["standard"], "/dashboard/location/"+s.LocationIDs[0])
}

// BenchmarkPasswordFlood measures what a flood of wrong passwords costs others: reads of
// random cards by 64 clients with a key, and the stamps of one till. The passwords come
// from 32 clients as fast as they are refused, each for another account and from another
// address, so that no lock spares the server the work.
func BenchmarkPasswordFlood(b *testing.B) {
	defer func(before uint32) { password.Memory = before }(password.Memory)
	password.Memory = 19 << 10 // as without servertest
	local := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	a := serve(b, filepath.Join(b.TempDir(), "f.db"), func(c *app.Config) { c.TrustedProxies = local })
	addr := a.Origin[len("http://"):]
	ids := issueCards(b, a, 10_000, 10_000)
	reads := func() float64 {
		return load(b, addr, time.Second, 200, func() []byte {
			return request("GET", "/api/public/v1/cards/"+ids[rand.IntN(len(ids))], seed.APIKey, "", "")
		})
	}
	n := servertest.Sized(1000, 5)
	for b.Loop() {
		var tries int64
		var quiet, busy []float64
		start := time.Now()
		with, without, ratio := alternate(7, func() (rate float64) {
			tries += flood(b, addr, func() {
				busy = append(busy, stampTimes(b, addr, ids, n/7+1)...)
				rate = reads()
			})
			return rate
		}, func() float64 {
			quiet = append(quiet, stampTimes(b, addr, ids, n/7+1)...)
			return reads()
		})
		b.ReportMetric(with, "reads/s")
		b.ReportMetric(without, "without/s")
		b.ReportMetric(ratio, "ratio")
		b.ReportMetric(percentile99(busy), "stamp-p99-ms")
		b.ReportMetric(percentile99(quiet), "stamp-p99-ms-without")
		b.ReportMetric(2*float64(tries)/time.Since(start).Seconds(), "passwords/s")
	}
}

func percentile99(ms []float64) float64 {
	slices.Sort(ms)
	return ms[len(ms)*99/100]
}

// stampTimes stamps n random cards one after the other and returns how long each took in
// milliseconds.
func stampTimes(b *testing.B, addr string, ids []string, n int) (took []float64) {
	c := dial(b, addr)
	defer c.c.Close()
	for range n {
		req := request("POST", "/till/v1/cards/"+ids[rand.IntN(len(ids))]+"/stamps", seed.TillToken, "", `{"count":1}`)
		start := time.Now()
		if status, body, err := c.roundTrip(req, true); err != nil || status != 201 {
			b.Fatalf("status %d, %v %s", status, err, body)
		}
		took = append(took, float64(time.Since(start).Microseconds())/1000)
	}
	return took
}

// flood sends wrong passwords while do runs, and returns how many were refused.
func flood(b *testing.B, addr string, do func()) int64 {
	var done atomic.Bool
	var refused atomic.Int64
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			c := dial(b, addr)
			defer c.c.Close()
			for !done.Load() {
				form := url.Values{"email": {fmt.Sprintf("m%d@example.com", rand.Int64())}, "password": {"a wrong password"}}.Encode()
				req := fmt.Sprintf(
					"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.%d.%d.%d\r\n"+
						"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s",
					rand.IntN(256),
					rand.IntN(256),
					rand.IntN(256),
					len(form),
					form,
				)
				if status, body, err := c.roundTrip([]byte(req), true); err != nil || status != 401 && status != 503 {
					b.Errorf("status %d, %v %.300s", status, err, body)
					return
				}
				refused.Add(1)
			}
		})
	}
	do()
	done.Store(true)
	wg.Wait()
	return refused.Load()
}
