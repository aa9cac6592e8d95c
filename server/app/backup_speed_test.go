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

// latencies has the time at which each answer came and how long it took.
type latencies struct {
	mu   sync.Mutex
	at   []time.Time
	took []time.Duration
}

// between returns the rate, the 99th percentile and the maximum of the answers between two times.
func (p *latencies) between(start, stop time.Time) (rate float64, p99, max time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var took []time.Duration
	for i, at := range p.at {
		if at.After(start) && at.Before(stop) {
			took = append(took, p.took[i])
		}
	}
	if len(took) == 0 {
		return 0, 0, 0
	}
	slices.Sort(took)
	return float64(len(took)) / stop.Sub(start).Seconds(), took[len(took)*99/100], took[len(took)-1]
}

// loadedServer is a server in another process, with clients that stamp random cards without a
// pause.
type loadedServer struct {
	latencies
	db     string
	stderr *bufio.Scanner
	stop   func()
}

// startLoaded starts the server with the given flags, and its clients.
func startLoaded(b *testing.B, binary, db string, ids []string, serial *atomic.Int64, flags ...string) *loadedServer {
	cmd := exec.Command(
		binary,
		append(
			[]string{"serve", "--db", db, "--listen", "127.0.0.1:0", "--log-format", "json", "--till-rate-limit-per-minute", "0"},
			flags...)...)
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	noError(b, err)
	s := &loadedServer{db: db, stderr: bufio.NewScanner(pipe)}
	stop := sync.OnceFunc(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	b.Cleanup(stop)
	var ready struct{ Origin string }
	s.waitForLog(b, "serving", &ready)
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
	s.stop = func() {
		cancel()
		wg.Wait()
		stop()
	}
	return s
}

// waitForLog reads the server's log up to a message and decodes that line into v.
func (s *loadedServer) waitForLog(b *testing.B, message string, v any) {
	for s.stderr.Scan() {
		var line struct{ Level, Msg string }
		if err := json.Unmarshal(s.stderr.Bytes(), &line); err != nil || line.Level == "ERROR" {
			b.Fatalf("the server logs %s", s.stderr.Bytes())
		}
		if line.Msg == message {
			noError(b, json.Unmarshal(s.stderr.Bytes(), v))
			return
		}
	}
	b.Fatalf("the server ended without %q", message)
}

// walSize returns the size of the database's WAL in MiB.
func (s *loadedServer) walSize() float64 {
	info, err := os.Stat(s.db + "-wal")
	if err != nil {
		return 0
	}
	return float64(info.Size()) / (1 << 20)
}

// warmUp is the time from the start of the clients to the start of a backup, and beforeBackup the
// last part of it, which is measured.
func warmUp() time.Duration       { return servertest.Sized(5*time.Second, time.Second) }
func beforeBackup() time.Duration { return servertest.Sized(3*time.Second, time.Second/2) }

// backupByCommand makes a backup with the command and returns its start and end.
func backupByCommand(
	b *testing.B,
	binary, db string,
	ids []string,
	serial *atomic.Int64,
) (s *loadedServer, file string, start, stop time.Time) {
	s = startLoaded(b, binary, db, ids, serial)
	file = filepath.Join(b.TempDir(), "copy.db")
	time.Sleep(warmUp())
	start = time.Now()
	if out, err := exec.Command(binary, "backup", file, "--db", db).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return s, file, start, time.Now()
}

// backupBySchedule lets the server make a backup. An empty older backup, whose name has its time,
// sets the time of the next one.
func backupBySchedule(
	b *testing.B,
	binary, db string,
	ids []string,
	serial *atomic.Int64,
) (s *loadedServer, file string, start, stop time.Time) {
	dir := b.TempDir()
	older := filepath.Join(dir, "b-"+time.Now().UTC().Add(warmUp()+time.Second-time.Minute).Format(backup.TimeLayout)+".db")
	noError(b, os.WriteFile(older, nil, 0o600))
	s = startLoaded(b, binary, db, ids, serial, "--backup-every", "1m", "--backup-dir", dir)
	var made struct {
		File string
		Took time.Duration
	}
	s.waitForLog(b, "backup made", &made)
	stop = time.Now()
	return s, made.File, stop.Add(-made.Took), stop
}

// BenchmarkBackup measures stamps on 200,000 random cards by 64 clients before and during a backup,
// alternately by the command and by the server's schedule. It also reports how long the backup
// takes and the size of the WAL after it.
func BenchmarkBackup(b *testing.B) {
	dir := b.TempDir()
	db, binary := filepath.Join(dir, "b.db"), filepath.Join(dir, "punchcard")
	a := serve(b, db)
	ids := issueCards(b, a, 200_000, 200_000)
	noError(b, a.Stop(context.Background()))
	if out, err := exec.Command("go", "build", "-o", binary, "punchcard").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	var serial atomic.Int64
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	kinds := []struct {
		name string
		make func(b *testing.B, binary, db string, ids []string, serial *atomic.Int64) (*loadedServer, string, time.Time, time.Time)
	}{{"command", backupByCommand}, {"schedule", backupBySchedule}}
	for b.Loop() {
		rounds := servertest.Sized(3, 1)
		figures := map[string][]float64{}
		for range rounds {
			for _, kind := range kinds {
				record := func(figure string, v float64) {
					figures[figure+"-"+kind.name] = append(figures[figure+"-"+kind.name], v)
				}
				s, file, start, stop := kind.make(b, binary, db, ids, &serial)
				record("MiB-log-after", s.walSize())
				s.stop()
				info, err := os.Stat(file)
				noError(b, err)
				for _, span := range []struct {
					name        string
					start, stop time.Time
				}{{"before", start.Add(-beforeBackup()), start}, {"during", start, stop}} {
					rate, p99, max := s.between(span.start, span.stop)
					record("stamps/s-"+span.name, rate)
					record("ms-p99-"+span.name, ms(p99))
					record("ms-longest-"+span.name, ms(max))
				}
				record("s-backup", stop.Sub(start).Seconds())
				record("MiB-copy", float64(info.Size())/(1<<20))
				noError(b, os.Remove(file))
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
