package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/store"
)

// The figures of server/bench/README.md come from here:
//
//	go test ./server/app -run '^$' -bench . -benchtime 1x -timeout 30m
//
// With -short all sizes are small and the figures mean nothing.
//
// Each benchmark measures the server and its baseline in turns within one
// run, so that a machine whose speed drifts drifts for both, and prints the
// ratio.

const clients = 64

// conn is a keep-alive connection that costs as little as possible: what is
// to be measured is the server.
type conn struct {
	c net.Conn
	r *bufio.Reader
}

func dial(tb testing.TB, addr string) *conn {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	return &conn{c, bufio.NewReaderSize(c, 64<<10)}
}

// roundTrip sends a whole request and reads the answer, whose length it must
// state; it returns the status and, if wanted, the body.
func (c *conn) roundTrip(req []byte, keep bool) (status int, body []byte, err error) {
	if _, err = c.c.Write(req); err != nil {
		return 0, nil, err
	}
	length := 0
	for first := true; ; first = false {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return 0, nil, err
		}
		if first {
			status, _ = strconv.Atoi(string(line[9:12]))
		}
		if len(line) <= 2 {
			break
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
	}
	if keep {
		body = make([]byte, length)
		_, err = io.ReadFull(c.r, body)
		return status, body, err
	}
	_, err = c.r.Discard(length)
	return status, nil, err
}

// load runs clients for a while, each sending what next makes, and returns
// answers per second. Any answer but want fails the benchmark.
func load(b *testing.B, addr string, n int, d time.Duration, want int, next func(client, i int) []byte) float64 {
	b.Helper()
	d = servertest.Sized(d, 20*time.Millisecond)
	conns := make([]*conn, n)
	for i := range conns {
		conns[i] = dial(b, addr)
		defer conns[i].c.Close()
	}
	var done atomic.Bool
	var total atomic.Int64
	var wg sync.WaitGroup
	stop := time.AfterFunc(d, func() { done.Store(true) })
	defer stop.Stop()
	start := time.Now()
	for w, c := range conns {
		wg.Add(1)
		go func() {
			defer wg.Done()
			i := 0
			for ; !done.Load(); i++ {
				status, body, err := c.roundTrip(next(w, i), want == 0)
				if err != nil || (want != 0 && status != want) {
					b.Errorf("status %d, %v %.300s", status, err, body)
					return
				}
			}
			total.Add(int64(i))
		}()
	}
	wg.Wait()
	return float64(total.Load()) / time.Since(start).Seconds()
}

// allocations reports what the process allocates for one request, net/http's
// part included. next is called before the counting begins.
func allocations(b *testing.B, addr string, want int, next func(client, i int) []byte) {
	b.Helper()
	reqs := make([][]byte, 2000)
	for i := range reqs {
		reqs[i] = next(0, i)
	}
	c := dial(b, addr)
	defer c.c.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, req := range reqs {
		if status, _, err := c.roundTrip(req, false); err != nil || status != want {
			b.Fatal(status, err)
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(len(reqs)), "allocs/request")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(len(reqs)), "B/request")
}

// median of rounds in which a and b are measured in turns, and of their
// ratios.
func turns(rounds int, a, b func() float64) (ma, mb, ratio float64) {
	var as, bs, rs []float64
	for range servertest.Sized(rounds, 1) {
		x, y := a(), b()
		as, bs, rs = append(as, x), append(bs, y), append(rs, x/y)
	}
	mid := func(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
	return mid(as), mid(bs), mid(rs)
}

func request(method, path, key, extra, body string) []byte {
	h := method + " " + path + " HTTP/1.1\r\nHost: x\r\n"
	if key != "" {
		h += "Authorization: Bearer " + key + "\r\n"
	}
	if body != "" {
		h += "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return []byte(h + extra + "\r\n" + body)
}

// bare is a httprouter server with one handler and a constant body.
func bare(b *testing.B, body []byte) (addr string) {
	r := httprouter.New()
	r.GET("/cards/:id", func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(body)
	})
	return listen(b, r)
}

// listen serves h until the benchmark ends.
func listen(b *testing.B, h http.Handler) (addr string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go s.Serve(ln)
	b.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

// serve starts a demo shop without the control API.
func serve(b *testing.B, db string, options ...func(*app.Config)) *app.App {
	return servertest.Start(b, append([]func(*app.Config){func(c *app.Config) { c.DB, c.Dev.Bare = db, true }}, options...)...).App
}

// issue puts cards into the demo shop, past HTTP, and returns some ids.
func issue(b *testing.B, a *app.App, n, want int) (ids []string) {
	access := store.Access{Shop: a.Ready.Shop()}
	n = servertest.Sized(n, min(n, 1000))
	every := max(1, n/want)
	for done := 0; done < n; {
		err := a.Store.Write(context.Background(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(tx *store.Tx) error {
			for range min(5000, n-done) {
				out, err := tx.IssueCard(access, a.Ready.ProgramIDs["standard"], store.CardFields{
					HolderName:  store.Opt[string]{V: "Giulia Bianchi", Set: true},
					HolderEmail: store.Opt[string]{V: fmt.Sprintf("m%d@example.com", done), Set: true},
					ExternalRef: store.Opt[string]{V: fmt.Sprintf("member-%d", done), Set: true},
				}, store.SourceAPI)
				if err != nil {
					return err
				}
				if done%every == 0 {
					ids = append(ids, out.ID)
				}
				done++
			}
			return nil
		}})
		if err != nil {
			b.Fatal(err)
		}
	}
	return ids
}

// BenchmarkCardRead: GET /cards/{id}, authenticated, over random cards,
// against a bare handler with a body of the same size.
func BenchmarkCardRead(b *testing.B) {
	a := serve(b, filepath.Join(b.TempDir(), "c.db"))
	ids := issue(b, a, 10_000, 10_000)
	addr := a.Origin[len("http://"):]
	reqs, bareReqs := make([][]byte, len(ids)), make([][]byte, len(ids))
	for i, id := range ids {
		reqs[i] = request("GET", "/api/public/v1/cards/"+id, seed.APIKey, "", "")
		bareReqs[i] = request("GET", "/cards/"+id, seed.APIKey, "", "")
	}
	_, body, err := dial(b, addr).roundTrip(reqs[0], true)
	if err != nil {
		b.Fatal(err)
	}
	plain := bare(b, body)
	for b.Loop() {
		card, base, ratio := turns(7, func() float64 {
			return load(b, addr, clients, time.Second, 200, func(int, int) []byte { return reqs[rand.IntN(len(reqs))] })
		}, func() float64 {
			return load(b, plain, clients, time.Second, 200, func(int, int) []byte { return bareReqs[rand.IntN(len(bareReqs))] })
		})
		b.ReportMetric(card, "cards/s")
		b.ReportMetric(base, "bare/s")
		b.ReportMetric(ratio, "ratio")
		allocations(b, addr, 200, func(int, int) []byte { return reqs[rand.IntN(len(reqs))] })
	}
}

// BenchmarkList: GET /cards?limit=100 over a million cards, the last page
// against the first.
func BenchmarkList(b *testing.B) {
	a := serve(b, million(b))
	addr := a.Origin[len("http://"):]
	first := request("GET", "/api/public/v1/cards?limit=100", seed.APIKey, "", "")
	last := lastPage(b, a)
	for b.Loop() {
		f, l, ratio := turns(7, func() float64 {
			return load(b, addr, clients, time.Second, 200, func(int, int) []byte { return first })
		}, func() float64 {
			return load(b, addr, clients, time.Second, 200, func(int, int) []byte { return last })
		})
		b.ReportMetric(f, "first/s")
		b.ReportMetric(l, "last/s")
		b.ReportMetric(ratio, "last-costs-x-first")
	}
}

// million makes a file of a million cards, once for all benchmarks.
func million(b *testing.B) string {
	millionOnce.Do(func() {
		dir, err := os.MkdirTemp("", "punchcard-bench-")
		if err != nil {
			b.Fatal(err)
		}
		millionFile = filepath.Join(dir, "million.db")
		s := servertest.Start(b, func(c *app.Config) { c.DB = millionFile })
		issue(b, s.App, 1_000_000, 1)
		s.Stop()
	})
	return millionFile
}

var (
	millionOnce sync.Once
	millionFile string
)

func TestMain(m *testing.M) {
	code := m.Run()
	if millionFile != "" {
		os.RemoveAll(filepath.Dir(millionFile))
	}
	os.Exit(code)
}

// lastPage is the request for the last hundred cards. It is found by paging
// to the end, which is part of what the benchmark shows to work.
func lastPage(b *testing.B, a *app.App) []byte {
	c := dial(b, a.Origin[len("http://"):])
	defer c.c.Close()
	var page struct {
		Next *string `json:"next_cursor"`
	}
	req := request("GET", "/api/public/v1/cards?limit=100", seed.APIKey, "", "")
	for {
		_, body, err := c.roundTrip(req, true)
		if err != nil {
			b.Fatal(err)
		}
		page.Next = nil
		if err := json.Unmarshal(body, &page); err != nil {
			b.Fatal(err)
		}
		if page.Next == nil {
			return req
		}
		req = request("GET", "/api/public/v1/cards?limit=100&cursor="+*page.Next, seed.APIKey, "", "")
	}
}

// BenchmarkIssue: POST /programs/{id}/cards with an Idempotency-Key, each
// answer on disk (synchronous=FULL), against the same server that commits
// every write by itself.
func BenchmarkIssue(b *testing.B) {
	grouped := serve(b, filepath.Join(b.TempDir(), "grouped.db"))
	single := serve(b, filepath.Join(b.TempDir(), "single.db"), func(c *app.Config) { c.MaxGroup = 1 })
	var serial atomic.Int64
	post := func(a *app.App) func(int, int) []byte {
		return func(int, int) []byte {
			n := serial.Add(1)
			return request("POST", "/api/public/v1/programs/"+a.Ready.ProgramIDs["standard"]+"/cards", seed.APIKey, fmt.Sprintf("Idempotency-Key: import-%d\r\n", n),
				fmt.Sprintf(`{"external_ref":"member-%d","holder_name":"Giulia Bianchi","holder_email":"m%d@example.com"}`, n, n))
		}
	}
	for b.Loop() {
		g, s, ratio := turns(5, func() float64 {
			return load(b, grouped.Origin[len("http://"):], clients, 2*time.Second, 201, post(grouped))
		}, func() float64 {
			return load(b, single.Origin[len("http://"):], clients, 2*time.Second, 201, post(single))
		})
		b.ReportMetric(g, "cards/s")
		b.ReportMetric(s, "groups-of-one/s")
		b.ReportMetric(ratio, "ratio")
		b.ReportMetric(float64(fsync(b).Microseconds()), "µs/fsync")
		allocations(b, grouped.Origin[len("http://"):], 201, post(grouped))
	}
}

// BenchmarkIssueHeard is BenchmarkIssue with a webhook that matches each card:
// once the deliveries are only queued, once they are sent meanwhile, to a
// receiver on the same processors, against nobody listening.
func BenchmarkIssueHeard(b *testing.B) {
	var serial atomic.Int64
	ready := func(name string, hold bool, events ...string) func() float64 {
		a := serve(b, filepath.Join(b.TempDir(), name), func(c *app.Config) { c.HoldWebhooks = hold })
		if len(events) > 0 {
			subscribe(b, a, sink(b, func(time.Time) {}), events...)
		}
		return func() float64 {
			return load(b, a.Origin[len("http://"):], clients, 2*time.Second, 201, func(int, int) []byte {
				n := serial.Add(1)
				return request("POST", "/api/public/v1/programs/"+a.Ready.ProgramIDs["standard"]+"/cards", seed.APIKey, fmt.Sprintf("Idempotency-Key: import-%d\r\n", n),
					fmt.Sprintf(`{"external_ref":"member-%d","holder_name":"Giulia Bianchi","holder_email":"m%d@example.com"}`, n, n))
			})
		}
	}
	queued, sent, unheard := ready("queued.db", true, "card.added"), ready("sent.db", false, "card.added"), ready("unheard.db", false)
	for b.Loop() {
		q, u, ratio := turns(5, queued, unheard)
		b.ReportMetric(u, "cards/s-unheard")
		b.ReportMetric(q, "cards/s-queued")
		b.ReportMetric(1/ratio, "x-cost-queued")
		s, _, ratio := turns(5, sent, unheard)
		b.ReportMetric(s, "cards/s-sent")
		b.ReportMetric(1/ratio, "x-cost-sent")
		b.ReportMetric(float64(fsync(b).Microseconds()), "µs/fsync")
	}
}

// fsync is the median cost of syncing a small append to a file beside the
// databases.
func fsync(b *testing.B) time.Duration {
	f, err := os.Create(filepath.Join(b.TempDir(), "fsync"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var took []time.Duration
	page := make([]byte, 4096)
	for range 200 {
		start := time.Now()
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2]
}
