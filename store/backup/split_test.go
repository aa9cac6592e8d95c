package backup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punchcard/store"
)

const newURL = "https://new.example.com"

// begin begins to move the shop.
func (f *fixture) begin() store.Move {
	return must(f, func(tx *store.Tx) (store.Move, error) { return tx.BeginMove(f.a.Shop, newURL) })
}

// split copies the shop by a move.
func (f *fixture) split(to string, m store.Move) error {
	return Split(f.t.Context(), f.Path(), to, f.a.Shop, newURL, m.Began, Options{})
}

// TestSplitContinues checks that a copy is made once for a move, whatever a killed process has left, and
// that neither the file of an aborted move nor another file is taken for it, or replaced.
func TestSplitContinues(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.program("Coffee")
	to := filepath.Join(t.TempDir(), "new.db")
	succeed(os.WriteFile(to+".partial", []byte("rest of a killed process"), 0o600))
	succeed(f.split(to, f.begin()))
	made := check(os.ReadFile(to))
	succeed(f.split(to, f.begin()))
	if string(check(os.ReadFile(to))) != string(made) {
		t.Error("the copy was made again")
	}
	if info := check(os.Stat(to)); info.Mode() != 0o600 {
		t.Errorf("the mode is %v", info.Mode())
	}
	must(f, func(tx *store.Tx) (store.Move, error) { return tx.AbortMove(f.a.Shop) })
	if err := f.split(to, f.begin()); !errors.Is(err, ErrExists) {
		t.Errorf("over the file of an aborted move: %v", err)
	}
	for _, name := range []string{f.Path(), filepath.Join(t.TempDir(), "none", "new.db")} {
		if err := CheckSplit(f.Path(), name); err == nil {
			t.Errorf("%s is a target", name)
		}
	}
	if left := check(filepath.Glob(to + ".*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// TestSplitOfDamage checks that a file with a broken invariant is not moved.
func TestSplitOfDamage(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.program("Coffee")
	c := connect(t, f.Path())
	succeed(errors.Join(c.Script("UPDATE program_counts SET stamps=7"), c.Close()))
	to := filepath.Join(t.TempDir(), "new.db")
	if err := f.split(to, f.begin()); !errors.Is(err, ErrInvariants) || !strings.HasPrefix(err.Error(), to+": ") {
		t.Errorf("%v", err)
	}
	if left := check(filepath.Glob(to + "*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// BenchmarkSplit moves the first shop of the file PUNCHCARD_BENCH_FILE into a file of its own.
func BenchmarkSplit(b *testing.B) {
	source := os.Getenv("PUNCHCARD_BENCH_FILE")
	if source == "" {
		b.Skip("PUNCHCARD_BENCH_FILE names no file")
	}
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		succeed(os.WriteFile(filepath.Join(dir, "old.db"), check(os.ReadFile(source)), 0o600))
		f := &fixture{t: b, Store: open(b, filepath.Join(dir, "old.db")), a: store.Access{Shop: 1}}
		b.StartTimer()
		began := time.Now()
		succeed(f.split(filepath.Join(dir, "new.db"), f.begin()))
		b.ReportMetric(time.Since(began).Seconds(), "s/shop")
	}
}
