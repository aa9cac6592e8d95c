package e2e

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
)

// BenchmarkCardImport measures how long the command imports 100,000 rows beside a server, and the stamps
// that one client gives meanwhile without a pause.
//
//	go test ./server/e2e -run '^$' -bench CardImport -benchtime 1x
func BenchmarkCardImport(b *testing.B) {
	n := servertest.Sized(100_000, 300)
	for b.Loop() {
		file, table := filepath.Join(b.TempDir(), "shop.db"), filepath.Join(b.TempDir(), "cards.csv")
		ids, _ := fillPages(b, file, servertest.Sized(2000, 20), 0)
		var text strings.Builder
		text.WriteString("reference,name,email,phone,birthday,stamps,code\n")
		for i := range n {
			fmt.Fprintf(&text, "r%d,Person %d,p%d@example.org,+39333%07d,%02d-10,%d,C-%d\n", i, i, i, i, 1+i%12, i%10, i)
		}
		noError(b, os.WriteFile(table, []byte(text.String()), 0o600))
		cmd, addr := serveFile(b, file, "--till-rate-limit-per-minute", "0")
		stop := func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() }
		load := exec.Command(binary(), "card", "import", table, "--program", "Coffee card", "--db", file)
		start := time.Now()
		ended := make(chan error, 1)
		go func() {
			text, err := load.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, text)
			}
			ended <- err
		}()
		took, err := stampUntil(addr, ids, ended)
		whole := time.Since(start)
		stop()
		noError(b, err)
		slices.Sort(took)
		at := func(part int) float64 { return float64(took[(len(took)-1)*part/100].Microseconds()) / 1000 }
		b.ReportMetric(whole.Seconds(), "s-import")
		b.ReportMetric((load.ProcessState.UserTime() + load.ProcessState.SystemTime()).Seconds(), "s-import-cpu")
		b.ReportMetric(at(50), "ms-stamp")
		b.ReportMetric(at(99), "ms-stamp-99%")
		b.ReportMetric(at(100), "ms-stamp-most")
		b.ReportMetric(float64(len(took))/whole.Seconds(), "stamps/s")
	}
}

// stampUntil gives stamps over one connection until ended receives, and returns how long each took.
func stampUntil(addr string, ids []string, ended <-chan error) (took []time.Duration, err error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		select {
		case err := <-ended:
			return took, err
		default:
		}
		start := time.Now()
		askForStamp(c, addr, seed.TillToken, ids[rand.IntN(len(ids))], "")
		if err := readAnswer(r, 201); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
	}
}
