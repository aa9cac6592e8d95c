package app_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punchcard/server/dev"
)

// paced is when answers came and how long they took.
type paced struct {
	mu   sync.Mutex
	at   []time.Time
	took []time.Duration
}

// between gives the rate, the 99th percentile and the longest of those that
// were answered in a span of time.
func (p *paced) between(from, till time.Time) (rate float64, p99, most time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var took []time.Duration
	for i, at := range p.at {
		if at.After(from) && at.Before(till) {
			took = append(took, p.took[i])
		}
	}
	if len(took) == 0 {
		return 0, 0, 0
	}
	slices.Sort(took)
	return float64(len(took)) / till.Sub(from).Seconds(), took[len(took)*99/100], took[len(took)-1]
}

// BenchmarkBackup: stamps on 200,000 random cards by 64 clients, as fast as they
// go, before and during backups by a process beside the server; how long one takes, and how far the log grows.
func BenchmarkBackup(b *testing.B) {
	a := serve(b, filepath.Join(b.TempDir(), "b.db"))
	ids := issue(b, a, 200_000, 200_000)
	binary := filepath.Join(b.TempDir(), "punchcard")
	if out, err := exec.Command("go", "build", "-o", binary, "punchcard").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	var serial atomic.Int64
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	for b.Loop() {
		var p paced
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for range clients {
			c := dial(b, a.Origin[len("http://"):])
			wg.Go(func() {
				defer c.c.Close()
				for ctx.Err() == nil {
					start := time.Now()
					status, _, err := c.roundTrip(request("POST", "/till/v1/cards/"+ids[rand.IntN(len(ids))]+"/stamps", dev.TillToken,
						fmt.Sprintf("Idempotency-Key: till-%d\r\n", serial.Add(1)), `{"count":1}`), false)
					if err != nil || status != 201 {
						b.Errorf("status %d, %v", status, err)
						return
					}
					end := time.Now()
					p.mu.Lock()
					p.at, p.took = append(p.at, end), append(p.took, end.Sub(start))
					p.mu.Unlock()
				}
			})
		}
		log := func() float64 {
			info, err := os.Stat(a.Store.Path() + "-wal")
			if err != nil {
				return 0
			}
			return float64(info.Size()) / (1 << 20)
		}
		const rounds = 3
		var before, during, rate, slowed, took [rounds]float64
		var size int64
		worst, logBefore := time.Duration(0), 0.0
		for i := range rounds {
			quiet := time.Now()
			time.Sleep(3 * time.Second)
			start := time.Now()
			if i == 0 {
				logBefore = log()
			}
			file := filepath.Join(b.TempDir(), "copy.db")
			out, err := exec.Command(binary, "backup", file, "--db", a.Store.Path()).CombinedOutput()
			if err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			end := time.Now()
			info, err := os.Stat(file)
			if err != nil {
				b.Fatal(err)
			}
			size = info.Size()
			var p99 time.Duration
			rate[i], p99, _ = p.between(quiet, start)
			before[i] = ms(p99)
			var most time.Duration
			slowed[i], p99, most = p.between(start, end)
			during[i], worst, took[i] = ms(p99), max(worst, most), end.Sub(start).Seconds()
		}
		cancel()
		wg.Wait()
		mid := func(v [rounds]float64) float64 { slices.Sort(v[:]); return v[rounds/2] }
		b.ReportMetric(mid(rate), "stamps/s-before")
		b.ReportMetric(mid(slowed), "stamps/s-during")
		b.ReportMetric(mid(before), "ms-p99-before")
		b.ReportMetric(mid(during), "ms-p99-during")
		b.ReportMetric(ms(worst), "ms-longest-during")
		b.ReportMetric(mid(took), "s-backup")
		b.ReportMetric(float64(size)/(1<<20), "MiB-copy")
		b.ReportMetric(logBefore, "MiB-log-before")
		b.ReportMetric(log(), "MiB-log-after")
		b.ReportMetric(float64(fsync(b).Microseconds()), "µs/fsync")
	}
}
