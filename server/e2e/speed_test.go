package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// BenchmarkDev measures the time from exec to the ready line of dev and the memory of the idle
// process, with a new database and with a million cards.
//
//	go test ./server/e2e -run '^$' -bench . -benchtime 1x -timeout 30m
//
// With -short all sizes are small and the figures mean nothing.
func BenchmarkDev(b *testing.B) {
	b.Run("new", func(b *testing.B) { measureDev(b, servertest.Sized(15, 2)) })
	b.Run("million", func(b *testing.B) {
		file := filepath.Join(b.TempDir(), "million.db")
		fillDev(b, file, servertest.Sized(1_000_000, 5000))
		b.ResetTimer()
		measureDev(b, servertest.Sized(5, 2), "--db", file)
	})
}

func measureDev(b *testing.B, rounds int, args ...string) {
	for b.Loop() {
		var took []time.Duration
		var memory int64
		for range rounds {
			t, kb := timeDev(b, args...)
			took, memory = append(took, t), max(memory, kb)
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-to-ready")
		b.ReportMetric(float64(memory)/1024, "MiB-idle")
	}
}

// timeDev runs dev once and returns the time to its ready line and its memory in KiB.
func timeDev(b *testing.B, args ...string) (took time.Duration, kb int64) {
	cmd := exec.Command(binary(), append([]string{"dev", "--listen", "127.0.0.1:0"}, args...)...)
	out := require.Must(cmd.StdoutPipe())
	start := time.Now()
	noError(b, cmd.Start())
	require.Must(bufio.NewReader(out).ReadString('\n'))
	took = time.Since(start)
	kb = memory(cmd.Process.Pid, "VmRSS:")
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	return took, kb
}

// memory returns a value of a process's status in KiB.
func memory(pid int, line string) (kb int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), line)
	value, _, _ := strings.Cut(rest, "\n")
	kb, _ = strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
	return kb
}

// fillDev creates a dev file with n cards.
func fillDev(b *testing.B, file string, n int) {
	st, ready := openDev(b, file)
	issueCards(b, st, ready, "standard", n)
	noError(b, st.Close())
}

// demoFile makes a file with the demo shop and returns its path.
func demoFile(t *testing.T) (file string, ready *seed.Ready) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "shop.db")
	st, ready := openDev(t, file)
	noError(t, st.Close())
	return file, ready
}

// openDev opens a file as dev does, with the demo shop, which it makes if it is missing.
func openDev(t testing.TB, file string) (*store.Store, *seed.Ready) {
	t.Helper()
	st := require.Must(store.Open(file, store.Options{IDSecret: seed.IDSecret, Ephemeral: true}))
	ready := require.Must(seed.Demo(st, "http://127.0.0.1"))
	return st, ready
}

// issueCards issues n cards of the program of a kind.
func issueCards(b *testing.B, st *store.Store, ready *seed.Ready, kind string, n int) {
	for done := 0; done < n; {
		servertest.Write(b, st, func(tx *store.Tx) error {
			for range min(5000, n-done) {
				ref := store.Opt[string]{V: "member-" + strconv.Itoa(done), Set: true}
				fields := store.CardFields{ExternalRef: ref}
				if _, err := tx.IssueCard(store.Access{Shop: ready.Shop()}, ready.ProgramIDs[kind], fields, store.SourceAPI); err != nil {
					return err
				}
				done++
			}
			return nil
		})
	}
}

// BenchmarkDrain measures the time from the first to the last arrival of a hundred thousand queued
// deliveries, each about a card of its own, to one receiver that answers at once. The memory is the
// maximum of the process.
func BenchmarkDrain(b *testing.B) {
	queued := servertest.Sized(100_000, 1000)
	for b.Loop() {
		var arrived atomic.Int64
		var first time.Time
		all := make(chan time.Time, 1)
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			switch int(arrived.Add(1)) {
			case 1:
				first = time.Now()
			case queued:
				all <- time.Now()
			}
		}))
		file := filepath.Join(b.TempDir(), "drain.db")
		fillHooked(b, file, receiver.URL, queued)
		cmd := exec.Command(binary(), "serve", "--db", file, "--listen", "127.0.0.1:0", "--webhook-allow-http", "--webhook-allow-cidr",
			"127.0.0.0/8")
		noError(b, cmd.Start())
		last := <-all
		kb := memory(cmd.Process.Pid, "VmHWM:")
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		receiver.Close()
		st := require.Must(store.Open(file, store.Options{MustExist: true}))
		var pending int64
		if err := st.View(0, func(v *store.View) (err error) { pending, err = v.CountPendingDeliveries(1); return err }); err != nil ||
			pending != 0 {
			b.Fatal(pending, err)
		}
		st.Close()
		b.ReportMetric(float64(queued)/last.Sub(first).Seconds(), "deliveries/s")
		b.ReportMetric(float64(kb)/1024, "MiB-at-most")
	}
}

// fillHooked creates a file with a webhook and n pending deliveries, each of a new card.
func fillHooked(b *testing.B, file, url string, n int) {
	st, ready := openDev(b, file)
	access, program := store.Access{Shop: ready.Shop()}, ready.ProgramIDs["prepaid"]
	servertest.Write(b, st, func(tx *store.Tx) error {
		tx.CheckedTarget = url
		_, err := tx.CreateWebhook(access, program, store.WebhookFields{
			URL:    store.Opt[string]{V: url, Set: true},
			Events: store.Opt[[]string]{V: []string{"card.added"}, Set: true},
		})
		return err
	})
	issueCards(b, st, ready, "prepaid", n)
	noError(b, st.Close())
}
