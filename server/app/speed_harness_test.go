package app_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/store"
)

const clients = 64

// conn is a keep-alive connection that uses little CPU time, since the server is what is measured.
type conn struct {
	c net.Conn
	r *bufio.Reader
}

func dial(tb testing.TB, addr string) *conn {
	c, err := net.Dial("tcp", addr)
	noError(tb, err)
	return &conn{c, bufio.NewReaderSize(c, 64<<10)}
}

// roundTrip sends a request and reads the answer, which must state its length. It returns the
// status and, if keep is set, the body.
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

// load sends requests from all clients for d, each made by next, and returns the answers per
// second. The benchmark fails if an answer's status is not want.
func load(b *testing.B, addr string, d time.Duration, want int, next func() []byte) float64 {
	b.Helper()
	d = servertest.Sized(d, 20*time.Millisecond)
	conns := make([]*conn, clients)
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
	for _, c := range conns {
		wg.Add(1)
		go func() {
			defer wg.Done()
			i := 0
			for ; !done.Load(); i++ {
				status, _, err := c.roundTrip(next(), false)
				if err != nil || status != want {
					b.Errorf("status %d, %v", status, err)
					return
				}
			}
			total.Add(int64(i))
		}()
	}
	wg.Wait()
	return float64(total.Load()) / time.Since(start).Seconds()
}

// alternate measures a and b alternately, and returns the median of each and of their ratios.
func alternate(rounds int, a, b func() float64) (ma, mb, ratio float64) {
	var as, bs, rs []float64
	for range servertest.Sized(rounds, 1) {
		x, y := a(), b()
		as, bs, rs = append(as, x), append(bs, y), append(rs, x/y)
	}
	mid := func(v []float64) float64 { slices.Sort(v); return v[len(v)/2] }
	return mid(as), mid(bs), mid(rs)
}

// compare measures f and base alternately, and reports both figures and the median of their ratios.
func compare(b *testing.B, rounds int, unit, baseUnit, ratioUnit string, f, base func() float64) {
	for b.Loop() {
		figure, baseFigure, ratio := alternate(rounds, f, base)
		b.ReportMetric(figure, unit)
		b.ReportMetric(baseFigure, baseUnit)
		b.ReportMetric(ratio, ratioUnit)
	}
}

func request(method, path, key, extra, body string) []byte {
	h := method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n"
	if key != "" {
		h += "Authorization: Bearer " + key + "\r\n"
	}
	if body != "" {
		h += "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	return []byte(h + extra + "\r\n" + body)
}

// serveConstant serves a httprouter server that answers GET /cards/:id with body.
func serveConstant(b *testing.B, body []byte) (addr string) {
	length := strconv.Itoa(len(body))
	r := httprouter.New()
	r.GET("/cards/:id", func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", length)
		w.Write(body)
	})
	return listen(b, r)
}

// listen serves h until the benchmark ends.
func listen(b *testing.B, h http.Handler) (addr string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	noError(b, err)
	s := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go s.Serve(ln)
	b.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

// serve starts a demo shop without the journal and faults of a fixture.
func serve(b *testing.B, db string, options ...func(*app.Config)) *app.App {
	return servertest.Start(b, append([]func(*app.Config){func(c *app.Config) { c.DB, c.Dev.Bare = db, true }}, options...)...).App
}

// issueCards issues n cards in the demo shop, not over HTTP, and returns about want of their ids.
func issueCards(b *testing.B, a *app.App, n, want int) (ids []string) {
	access := store.Access{Shop: a.Ready.Shop()}
	n = servertest.Sized(n, min(n, 1000))
	every := max(1, n/want)
	for done := 0; done < n; {
		servertest.Write(b, a.Store, func(tx *store.Tx) error {
			for range min(5000, n-done) {
				out, err := tx.IssueCard(access, a.Ready.ProgramIDs["standard"], store.CardFields{
					HolderName:  opt("Giulia Bianchi"),
					HolderEmail: opt(fmt.Sprintf("m%d@example.com", done)),
					ExternalRef: opt(fmt.Sprintf("member-%d", done)),
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
		})
	}
	return ids
}
