package app_test

import (
	"bufio"
	"context"
	"encoding/json"
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

	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/store/backup"
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

// busy is a server in a process of its own, and clients that stamp random cards
// as fast as they go.
type busy struct {
	paced
	db     string
	stderr *bufio.Scanner
	end    func()
}

// begin starts the server with these flags.
func begin(b *testing.B, binary, db string, ids []string, serial *atomic.Int64, flags ...string) *busy {
	cmd := exec.Command(binary, append([]string{"serve", "--db", db, "--listen", "127.0.0.1:0", "--log-format", "json"}, flags...)...)
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	s := &busy{db: db, stderr: bufio.NewScanner(pipe)}
	stop := sync.OnceFunc(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	b.Cleanup(stop)
	var ready struct{ Origin string }
	s.await(b, "serving", &ready)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range clients {
		c := dial(b, ready.Origin[len("http://"):])
		wg.Go(func() {
			defer c.c.Close()
			for ctx.Err() == nil {
				start := time.Now()
				status, _, err := c.roundTrip(request("POST", "/till/v1/cards/"+ids[rand.IntN(len(ids))]+"/stamps", seed.TillToken,
					fmt.Sprintf("Idempotency-Key: till-%d\r\n", serial.Add(1)), `{"count":1}`), false)
				if err != nil || status != 201 {
					b.Errorf("status %d, %v", status, err)
					return
				}
				end := time.Now()
				s.mu.Lock()
				s.at, s.took = append(s.at, end), append(s.took, end.Sub(start))
				s.mu.Unlock()
			}
		})
	}
	s.end = func() {
		cancel()
		wg.Wait()
		stop()
	}
	return s
}

// await reads the server's log up to a message.
func (s *busy) await(b *testing.B, message string, into any) {
	for s.stderr.Scan() {
		var line struct{ Level, Msg string }
		if err := json.Unmarshal(s.stderr.Bytes(), &line); err != nil || line.Level == "ERROR" {
			b.Fatalf("the server logs %s", s.stderr.Bytes())
		}
		if line.Msg == message {
			if err := json.Unmarshal(s.stderr.Bytes(), into); err != nil {
				b.Fatal(err)
			}
			return
		}
	}
	b.Fatalf("the server ended without %q", message)
}

// log is the size of the database's log in MiB.
func (s *busy) log() float64 {
	info, err := os.Stat(s.db + "-wal")
	if err != nil {
		return 0
	}
	return float64(info.Size()) / (1 << 20)
}

// warm is how long the clients have been at work when a backup begins; the part
// of it that is measured is quiet.
func warm() time.Duration  { return servertest.Sized(5*time.Second, time.Second) }
func quiet() time.Duration { return servertest.Sized(3*time.Second, time.Second/2) }

// byCommand makes a backup beside the server, and says from when till when.
func byCommand(b *testing.B, binary, db string, ids []string, serial *atomic.Int64) (s *busy, file string, from, till time.Time) {
	s = begin(b, binary, db, ids, serial)
	file = filepath.Join(b.TempDir(), "copy.db")
	time.Sleep(warm())
	from = time.Now()
	if out, err := exec.Command(binary, "backup", file, "--db", db).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return s, file, from, time.Now()
}

// bySchedule has the server make one: the name of an older one tells it when.
func bySchedule(b *testing.B, binary, db string, ids []string, serial *atomic.Int64) (s *busy, file string, from, till time.Time) {
	dir := b.TempDir()
	older := filepath.Join(dir, "b-"+time.Now().UTC().Add(warm()+time.Second-time.Minute).Format(backup.TimeLayout)+".db")
	if err := os.WriteFile(older, nil, 0o600); err != nil {
		b.Fatal(err)
	}
	s = begin(b, binary, db, ids, serial, "--backup-every", "1m", "--backup-dir", dir)
	var made struct {
		File string
		Took time.Duration
	}
	s.await(b, "backup made", &made)
	till = time.Now()
	return s, made.File, till.Add(-made.Took), till
}

// BenchmarkBackup: stamps on 200,000 random cards by 64 clients, as fast as they
// go, before and during a backup, in turns one by the command beside the server
// and one by the server's own schedule; how long one takes, and how far the log
// grows.
func BenchmarkBackup(b *testing.B) {
	dir := b.TempDir()
	db, binary := filepath.Join(dir, "b.db"), filepath.Join(dir, "punchcard")
	a := serve(b, db)
	ids := issue(b, a, 200_000, 200_000)
	if err := a.Stop(context.Background()); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", binary, "punchcard").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	var serial atomic.Int64
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	kinds := []struct {
		name string
		make func(b *testing.B, binary, db string, ids []string, serial *atomic.Int64) (*busy, string, time.Time, time.Time)
	}{{"command", byCommand}, {"schedule", bySchedule}}
	for b.Loop() {
		rounds := servertest.Sized(3, 1)
		figures := map[string][]float64{}
		for range rounds {
			for _, kind := range kinds {
				note := func(figure string, v float64) {
					figures[figure+"-"+kind.name] = append(figures[figure+"-"+kind.name], v)
				}
				s, file, from, till := kind.make(b, binary, db, ids, &serial)
				note("MiB-log-after", s.log())
				s.end()
				info, err := os.Stat(file)
				if err != nil {
					b.Fatal(err)
				}
				for _, span := range []struct {
					name       string
					from, till time.Time
				}{{"before", from.Add(-quiet()), from}, {"during", from, till}} {
					rate, p99, most := s.between(span.from, span.till)
					note("stamps/s-"+span.name, rate)
					note("ms-p99-"+span.name, ms(p99))
					note("ms-longest-"+span.name, ms(most))
				}
				note("s-backup", till.Sub(from).Seconds())
				note("MiB-copy", float64(info.Size())/(1<<20))
				if err := os.Remove(file); err != nil {
					b.Fatal(err)
				}
			}
		}
		for figure, values := range figures {
			b.Logf("%s: %.1f", figure, values)
			slices.Sort(values)
			b.ReportMetric(values[rounds/2], figure)
		}
		b.ReportMetric(float64(fsync(b).Microseconds()), "µs/fsync")
	}
}
