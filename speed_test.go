package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"punchcard/server/dev"
	"punchcard/store"
)

// BenchmarkDev: exec to the ready line of dev, and the memory of the idle
// process, of a new database and with a million cards in the file.
//
//	go test . -run '^$' -bench . -benchtime 1x -timeout 30m
func BenchmarkDev(b *testing.B) {
	b.Run("new", func(b *testing.B) { measureDev(b, 15) })
	b.Run("million", func(b *testing.B) {
		file := filepath.Join(b.TempDir(), "million.db")
		fillDev(b, file, 1_000_000)
		b.ResetTimer()
		measureDev(b, 5, "--db", file)
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

// timeDev runs dev once: how long to its ready line, and what it then holds.
func timeDev(b *testing.B, args ...string) (took time.Duration, kb int64) {
	cmd := exec.Command(binary, append([]string{"dev", "--listen", "127.0.0.1:0"}, args...)...)
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
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err == nil {
		_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
		line, _, _ := strings.Cut(string(rest), "\n")
		kb, _ = strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line), "kB")), 10, 64)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	return took, kb
}

// fillDev makes a dev file with so many cards.
func fillDev(b *testing.B, file string, n int) {
	st, err := store.Open(file, store.Options{IDSecret: dev.IDSecret, Ephemeral: true})
	if err != nil {
		b.Fatal(err)
	}
	ready, err := dev.Seed(st, "http://127.0.0.1")
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
