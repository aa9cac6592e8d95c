package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"punchcard/server/servertest"
)

// exportFile is the variable that names the file of BenchmarkExport, which server/bench/year made.
// Without it the benchmark makes a small one.
const exportFile = "PUNCHCARD_BENCH_FILE"

// BenchmarkExport measures an export to tables: rows of the ledger a second, of the time for all files,
// and the most memory that the process had.
//
//	PUNCHCARD_BENCH_FILE=$PWD/year.db go test ./server/e2e -run '^$' -bench Export -benchtime 1x -v
func BenchmarkExport(b *testing.B) {
	db := os.Getenv(exportFile)
	if db == "" {
		db = filepath.Join(b.TempDir(), "year.db")
		n := servertest.Sized(200_000, 2000)
		made := exec.Command("go", "run", "./server/bench/year", "-db", db, "-end", "2026-07-01",
			"-cards", strconv.Itoa(n/10), "-transactions", strconv.Itoa(n))
		if out, err := made.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	for b.Loop() {
		to := filepath.Join(b.TempDir(), "out")
		cmd := exec.Command(binary(), "export", "--db", db, "--out", to, "--json")
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOGC=") }) // as people start it
		start := time.Now()
		text, err := cmd.Output()
		took := time.Since(start)
		var made struct {
			Files []struct {
				Name string
				Rows float64
			}
		}
		if err != nil || json.Unmarshal(text, &made) != nil {
			b.Fatalf("%v: %s", err, text)
		}
		for _, f := range made.Files {
			if f.Name == "transactions.csv" {
				b.ReportMetric(f.Rows/took.Seconds(), "rows/s")
			}
		}
		b.ReportMetric(float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024, "MiB")
		os.RemoveAll(to)
	}
}
