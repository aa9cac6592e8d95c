package command

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"punchcard/server/app"
	"punchcard/store"
	"punchcard/store/sqlite"
)

// screen is a terminal that shows one line.
type screen struct {
	mu    sync.Mutex
	width int    // in columns
	line  []rune // what is seen
	at    int    // column of the cursor
	draws int    // number of writes
	wraps bool   // a text has reached the last column
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draws++
	for _, r := range string(b) {
		if r == '\r' {
			s.at = 0
			continue
		}
		for len(s.line) <= s.at {
			s.line = append(s.line, ' ')
		}
		s.line[s.at] = r
		s.at++
		s.wraps = s.wraps || s.at >= s.width
	}
	return len(b), nil
}

// columns returns the width.
func (s *screen) columns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.width
}

// resize changes the width.
func (s *screen) resize(columns int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.width = columns
}

// seen returns what is seen, and how often something was written.
func (s *screen) seen() (line string, draws int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimRight(string(s.line), " "), s.draws
}

var (
	copying  = store.Step{Name: "copying", Unit: store.Bytes}
	checking = store.Step{Name: "checking the integrity", Unit: store.Rows}
	unknown  = store.Step{Name: "writing to the disk"}
	finished = store.Step{}
)

// TestProgressLine checks what is seen on a terminal while steps follow one another, and
// that nothing is left.
func TestProgressLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &screen{width: 80}
		p := &progress{terminal: s, width: s.columns}
		for _, c := range []struct {
			step        store.Step
			done, total int64
			wait        time.Duration
			want        string // after it
		}{
			{copying, 0, 400e6, 400 * time.Millisecond, ""},
			{copying, 100e6, 400e6, 100 * time.Millisecond, "copying: 25 %, 200.0 MB/s, 2s left"},
			{copying, 200e6, 400e6, 600 * time.Millisecond, "copying: 50 %, 181.8 MB/s, 1s left"},
			{checking, 0, 3_000_000, time.Second, "checking the integrity: 0 %, 1s"},
			{checking, 30_000, 3_000_000, 4 * time.Second, "checking the integrity: 1 %, 6000 rows/s, 8m15s left"},
			{checking, 1_500_000, 3_000_000, 5 * time.Second, "checking the integrity: 50 %, 150k rows/s, 10s left"},
			{checking, 2_999_999, 3_000_000, 200 * time.Millisecond, "checking the integrity: 99 %, 294k rows/s, 0s left"},
			{unknown, 0, 0, 65 * time.Second, "writing to the disk: 1m5s"},
			{checking, 0, 100, time.Second, "checking the integrity: 0 %, 1s"},
			{checking, 50, 100, time.Second, "checking the integrity: 50 %, 25 rows/s, 2s left"},
			{checking, 0, 40_000_000, time.Second, "checking the integrity: 0 %, 1s"}, // the same step again
			{checking, 20_000_000, 40_000_000, time.Second, "checking the integrity: 50 %, 10.0M rows/s, 2s left"},
		} {
			p.report(c.step, c.done, c.total)
			time.Sleep(c.wait)
			synctest.Wait()
			if got, _ := s.seen(); got != c.want {
				t.Errorf("%s, %d of %d: seen %q, want %q", c.step.Name, c.done, c.total, got, c.want)
			}
		}
		s.Write([]byte("^C")) // as the terminal does
		p.report(finished, 0, 0)
		line, draws := s.seen()
		if line != "" || s.at != 0 || s.wraps {
			t.Errorf("after the end %q is seen, and the cursor is at %d; wrapped: %t", line, s.at, s.wraps)
		}
		time.Sleep(time.Minute)
		if _, n := s.seen(); n != draws {
			t.Error("something is drawn after the end")
		}
		p.report(finished, 0, 0) // without work
	})
}

// TestProgressLineIsDrawn checks how often the line is drawn: not for short work, then
// five times a second, and never so long that it would wrap.
func TestProgressLineIsDrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &screen{width: 35}
		p := &progress{terminal: s, width: s.columns}
		p.report(checking, 0, 100)
		time.Sleep(firstDraw - time.Millisecond)
		p.report(finished, 0, 0)
		if line, draws := s.seen(); draws != 0 {
			t.Errorf("for short work %q is drawn", line)
		}
		p.report(checking, 0, 100)
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			p.report(checking, 50, 100)
		}
		time.Sleep(time.Millisecond)
		if line, draws := s.seen(); draws != 48 || line != "checking: 50 %, 5 rows/s, 10s left" {
			t.Errorf("in ten seconds %d draws, want 48: the first after half a second, then 5 each second; seen %q", draws, line)
		}
		s.resize(10)
		time.Sleep(redraw)
		p.report(finished, 0, 0)
		if s.at != 0 {
			t.Errorf("the cursor is at %d", s.at)
		}
	})
}

// TestProgressLog checks the lines of the log where there is no terminal: one each ten
// seconds, and none for short work.
func TestProgressLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := &progress{log: slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))}
		p.report(copying, 0, 400e6)
		time.Sleep(logEvery - time.Millisecond)
		p.report(finished, 0, 0)
		if b.Len() > 0 {
			t.Errorf("for short work: %s", &b)
		}
		p.report(copying, 0, 400e6)
		time.Sleep(5 * time.Second)
		p.report(copying, 100e6, 400e6)
		time.Sleep(6 * time.Second) // the first line
		p.report(checking, 0, 900)
		time.Sleep(10 * time.Second) // the second
		p.report(checking, 300, 900)
		p.report(unknown, 0, 0)
		time.Sleep(10 * time.Second) // the third
		p.report(finished, 0, 0)
		time.Sleep(time.Minute)
		want := `level=INFO msg=progress step=copying elapsed=10s percent=25 bytes_per_second=10000000 left=30s
level=INFO msg=progress step="checking the integrity" elapsed=9s percent=0
level=INFO msg=progress step="writing to the disk" elapsed=9s
`
		if b.String() != want {
			t.Errorf("logged\n%s, want\n%s", &b, want)
		}
	})
}

// older creates a file of version 11 of the schema.
func older(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "older.db")
	schema, err := os.ReadFile("../../store/migrations/11.sql")
	noError(t, errors.Join(err, os.WriteFile(path, nil, 0o600)))
	c, err := sqlite.Open(path, sqlite.ReadWrite)
	noError(t, err)
	noError(t, errors.Join(c.Script(string(schema)+"; INSERT INTO meta (id, id_secret, id_check) "+
		"VALUES (1, zeroblob(16), x'3534d8d874e0c081'); "+
		"PRAGMA application_id=0x706e6368; PRAGMA user_version=11"), c.Close()))
	return path
}

// TestCommandsShowProgress checks that the commands whose work may be long, and a server that
// migrates a file, report their steps and the end of the work.
func TestCommandsShowProgress(t *testing.T) {
	out, made := Out, commandProgress
	t.Cleanup(func() { Out, commandProgress = out, made })
	Out = io.Discard
	var steps []string
	var last store.Step
	progress := func(step store.Step, _, _ int64) {
		if step != last && step != finished {
			steps = append(steps, step.Name)
		}
		last = step
	}
	signals := false
	commandProgress = func(s bool) store.Progress {
		signals = s
		return progress
	}
	dir := t.TempDir()
	db, served := File{DB: older(t)}, older(t)
	copied := filepath.Join(dir, "copy.db")
	conf, err := Server{InstallLinkTTL: time.Hour}.config(io.Discard)
	if err != nil || conf.Progress == nil {
		t.Fatalf("a server has no progress: %v", err)
	}
	for _, c := range []struct {
		name    string
		run     func() error
		step    string
		signals bool
	}{
		{"migration", (&Migrate{File: db}).Run, "migrating to schema 12: UPDATE users SET", false},
		{"check", (&Check{File: db}).Run, "checking the invariants", true},
		{"backup", (&Backup{Target: copied, Copy: Copy{File: db}}).Run, "rewriting", false},
		{"restore", (&Restore{Source: copied, Copy: Copy{File: File{DB: filepath.Join(dir, "restored.db")}}}).Run, "copying", false},
		{"serve", func() error {
			conf := app.Config{DB: served, Listen: "127.0.0.1:0", Limits: app.DefaultLimits(), Progress: progress}
			a, err := app.Start(conf)
			if err != nil {
				return err
			}
			return a.Stop(t.Context())
		}, "migrating to schema 12: UPDATE users SET", false},
	} {
		steps, signals = nil, false
		if err := c.run(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !slices.Contains(steps, c.step) || last != finished || signals != c.signals {
			t.Errorf("%s: steps %q, want %q; last %q; ends the process by signals: %t", c.name, steps, c.step, last.Name, signals)
		}
	}
	steps = nil
	if err := (&Backup{Target: copied, Copy: Copy{File: db, Force: true, Quiet: true}}).Run(); err != nil || steps != nil {
		t.Errorf("a quiet backup: %v, steps %q", err, steps)
	}
}
