// Command load runs the real server as a process, on a file with the demo shop,
// sends it the mix of requests of a shop's busy day, and fails if anything that
// was answered is lost:
//
//	go run ./server/bench/load -minutes 15
//	go run ./server/bench/load -minutes 2 -rate 500
//	go run ./server/bench/load -soak -minutes 120 -rate 22 -cards 20000 -svg soak.svg
//
// It needs the go command and Linux or macOS; everything stays on loopback and
// in a temporary folder, and ends by itself. The comment of client.step lists
// what clients do. At the same time two readers walk the list of all cards
// without a pause, and a receiver verifies every webhook.
//
// With -soak the rate is steady and the mix has every face: also pages of the dashboard,
// pages of cards with streams that open and end, /mcp, wrong keys, and clients that come
// and go (see client.other); nobody walks the list. The program then compares the last
// quarter of the time with the second, curve by curve.
//
// Without -rate each client sends its next request when the one before it is
// answered. With -rate requests are due at fixed times, and latencies count
// from then, so that the time for which a server stalls counts for every request
// that was due.
//
// At the end the program compares all cards and the ledger with the answers,
// waits for every webhook, and runs "punchcard check". The exit status is 1 if
// any of that fails, if an answer had an unexpected status, if the server logged
// a warning or an error, if its write-ahead log grew past -wal-bound, or if a curve
// of a soak that must be flat grew.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	minutes float64
	clients int
	cards   int
	rate    float64
	bound   int // MiB
	binary  string
	dir     string
	soak    bool
	svg     string
}

// readers is the number of clients that walk the list of cards without a pause.
const readers = 2

func main() {
	log.SetFlags(0)
	log.SetPrefix("load: ")
	var o options
	flag.Float64Var(&o.minutes, "minutes", 15, "how long to measure")
	flag.IntVar(&o.clients, "clients", 64, "connections that carry the mix")
	flag.IntVar(&o.cards, "cards", 100_000, "cards that are there at first, ten for each client at least")
	flag.Float64Var(&o.rate, "rate", 0, "requests per second of all clients, readers not counted; 0: as many as are answered")
	flag.IntVar(&o.bound, "wal-bound", 64, "MiB that the write-ahead log must not exceed")
	flag.StringVar(&o.binary, "binary", "", "punchcard's binary; without it one is built")
	flag.StringVar(&o.dir, "dir", os.TempDir(), "folder in which the temporary one is made; it should be on a disk")
	flag.BoolVar(&o.soak, "soak", false, "send every face a steady load, and fail if memory, descriptors, goroutines or logs grow")
	flag.StringVar(&o.svg, "svg", "", "file for a picture of the curves")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.run(ctx); err != nil {
		log.Fatal(err)
	}
}

// run creates the shop, sends the load and compares the results. After a failure it
// keeps the database.
func (o *options) run(ctx context.Context) (err error) {
	if o.soak && o.rate <= 0 {
		return errors.New("a soak is steady: -soak needs -rate")
	}
	debug.SetGCPercent(400) // leaves more of the processors to the server
	dir, err := os.MkdirTemp(o.dir, "punchcard-load-")
	if err != nil {
		return err
	}
	defer func() {
		if err == nil || ctx.Err() != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		} else {
			err = fmt.Errorf("%w\nthe database is kept in %s", err, dir)
		}
	}()
	if o.binary == "" {
		if o.binary, err = build(ctx, dir); err != nil {
			return err
		}
	}
	l := newLoad(*o, filepath.Join(dir, "shop.db"))
	if err := l.makeShop(); err != nil {
		return err
	}
	if err := l.server.start(); err != nil {
		return err
	}
	rows, err := l.serve(ctx)
	if err != nil {
		err = errors.Join(err, l.server.stop())
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return l.verdict(err, rows)
}

func newLoad(o options, path string) *load {
	l := &load{
		options: o, length: time.Duration(o.minutes * float64(time.Minute)),
		webhooks: webhooks{open: map[string]int{}, seen: map[string]bool{}},
	}
	for range max(12, int(o.minutes)) { // about one period a minute
		l.periods = append(l.periods, newPeriod())
	}
	l.server = &server{fail: l.fail, binary: o.binary, db: path}
	return l
}

// serve fills the running server, measures it, and calls finish. It returns the
// number of the ledger's rows.
func (l *load) serve(ctx context.Context) (rows int64, err error) {
	l.conn.addr = l.server.addr
	if err := l.readShop(); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := l.fill(ctx); err != nil {
		return 0, err
	}
	if err := l.subscribe(); err != nil {
		return 0, err
	}
	before, err := l.server.scrape()
	if err != nil {
		return 0, err
	}
	l.periods[0].from = before
	fmt.Printf("filled in %.0f s: %.0f MiB\n", time.Since(began).Seconds(), before[fileSize]/mib)
	if err := l.run(ctx); err != nil {
		return 0, err
	}
	if err := l.curves(); err != nil {
		l.fail("%v", err)
	}
	fmt.Printf("\n%d answers, %.0f/s\n", l.answers, float64(l.answers)/l.length.Seconds())
	if err := l.drain(ctx); err != nil {
		return 0, err
	}
	return l.finish()
}

// verdict returns err, and an error if the log grew too large or anything else went
// wrong. If there is none it prints that all results agree.
func (l *load) verdict(err error, rows int64) error {
	log := 0.0
	for _, value := range values(l.samples, "write-ahead log") {
		log = max(log, value)
	}
	if log > float64(l.bound) {
		l.fail("the write-ahead log grew to %.1f MiB; -wal-bound is %d", log, l.bound)
	}
	if n := l.faults.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d faults", n))
	}
	if err == nil {
		fmt.Printf("check found nothing; the ledger's %d rows and all cards are as the tills were told; log at most %.1f MiB\n", rows, log)
	}
	return err
}

// curves judges the curves and draws them. A soak fails if one has grown.
func (l *load) curves() error {
	grown := judge(l.samples)
	if l.svg != "" {
		if err := draw(l.svg, l.samples); err != nil {
			return err
		}
	}
	if len(grown) > 0 && l.soak {
		return fmt.Errorf("grown: %s", strings.Join(grown, ", "))
	}
	return nil
}
