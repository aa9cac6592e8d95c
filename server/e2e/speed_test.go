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
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatal(err)
	}
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
	st, err := store.Open(file, store.Options{IDSecret: seed.IDSecret, Ephemeral: true})
	if err != nil {
		b.Fatal(err)
	}
	ready, err := seed.Demo(st, "http://127.0.0.1")
	if err != nil {
		b.Fatal(err)
	}
	for done := 0; done < n; {
		err := st.Write(b.Context(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(tx *store.Tx) error {
			for range 5000 {
				ref := store.Opt[string]{V: "member-" + strconv.Itoa(done), Set: true}
				if _, err := tx.IssueCard(store.Access{Shop: ready.Shop()}, ready.ProgramIDs["standard"], store.CardFields{ExternalRef: ref}, store.SourceAPI); err != nil {
					return err
				}
				done++
			}
			return nil
		}})
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkDrain measures the time from the first to the last arrival of a hundred thousand queued
// deliveries to one receiver that answers at once. The memory is the maximum of the process.
// Each delivery is about a card of its own, or they are about a thousand cards in turn, or every
// tenth is about the same card. The cases differ since first attempts about a card do not overlap.
func BenchmarkDrain(b *testing.B) {
	thousand := func(i int) int { return i % 1000 }
	tenth := func(i int) int {
		if i%10 == 0 {
			return 1000
		}
		return i % 1000
	}
	b.Run("OwnCards", func(b *testing.B) { drain(b, nil) })
	b.Run("ThousandCards", func(b *testing.B) { drain(b, thousand) })
	b.Run("TenthOnOneCard", func(b *testing.B) { drain(b, tenth) })
}

// drain measures one case of BenchmarkDrain. card returns the number of the card, below 1,001,
// that delivery i is about; if card is nil, each delivery is about a card of its own.
func drain(b *testing.B, card func(i int) int) {
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
		fillHooked(b, file, receiver.URL, queued, card)
		cmd := exec.Command(binary(), "serve", "--db", file, "--listen", "127.0.0.1:0", "--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8")
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		last := <-all
		kb := memory(cmd.Process.Pid, "VmHWM:")
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		receiver.Close()
		st, err := store.Open(file, store.Options{MustExist: true})
		if err != nil {
			b.Fatal(err)
		}
		var pending int64
		if err := st.View(0, func(v *store.View) (err error) { pending, err = v.CountPendingDeliveries(1); return err }); err != nil || pending != 0 {
			b.Fatal(pending, err)
		}
		st.Close()
		b.ReportMetric(float64(queued)/last.Sub(first).Seconds(), "deliveries/s")
		b.ReportMetric(float64(kb)/1024, "MiB-at-most")
	}
}

// fillHooked creates a file with a webhook and n pending deliveries: of new cards, or of top-ups
// of the cards that card returns.
func fillHooked(b *testing.B, file, url string, n int, card func(i int) int) {
	fillDev(b, file, 0)
	st, err := store.Open(file, store.Options{IDSecret: seed.IDSecret, Ephemeral: true})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	ready, err := seed.Demo(st, "http://127.0.0.1")
	if err != nil {
		b.Fatal(err)
	}
	access, program := store.Access{Shop: ready.Shop()}, ready.ProgramIDs["prepaid"]
	till, err := st.IdentifyTill(store.Hash(seed.TillToken))
	if err != nil {
		b.Fatal(err)
	}
	write := func(do func(*store.Tx) error) {
		if err := st.Write(b.Context(), store.Write{Actor: store.Actor{Type: "system"}, Do: do}); err != nil {
			b.Fatal(err)
		}
	}
	var ids []string
	issue := func(tx *store.Tx, _ int) error {
		c, err := tx.IssueCard(access, program, store.CardFields{}, store.SourceAPI)
		ids = append(ids, c.ID)
		return err
	}
	topUp := func(tx *store.Tx, i int) error {
		_, err := tx.TopUp(till.Till, ids[card(i)], store.AmountFields{AmountCents: store.Opt[int64]{V: 1, Set: true}})
		return err
	}
	repeat := func(n int, do func(*store.Tx, int) error) {
		for done := 0; done < n; {
			write(func(tx *store.Tx) error {
				for range min(1000, n-done) {
					if err := do(tx, done); err != nil {
						return err
					}
					done++
				}
				return nil
			})
		}
	}
	event, do := "card.added", issue
	if card != nil {
		repeat(1001, issue)
		event, do = "value.changed", topUp
	}
	write(func(tx *store.Tx) error {
		tx.CheckedTarget = url
		_, err := tx.CreateWebhook(access, program, store.WebhookFields{URL: store.Opt[string]{V: url, Set: true}, Events: store.Opt[[]string]{V: []string{event}, Set: true}})
		return err
	})
	repeat(n, do)
}
