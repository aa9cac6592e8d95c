package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// BenchmarkHolderStreams compares the stamps per second of serve while 2,000 pages of cards are
// open with those while none is: of stamps on 20,000 random cards, a tenth of which have an open
// page, and of stamps on those with an open page alone, so that every stamp wakes a stream. The
// memory is what the process has more after the first turn with the streams than before.
//
//	go test ./server/e2e -run '^$' -bench HolderStreams -benchtime 1x
func BenchmarkHolderStreams(b *testing.B) {
	streams, cards := servertest.Sized(2000, 20), servertest.Sized(20_000, 40)
	file := filepath.Join(b.TempDir(), "streams.db")
	ids, pages := fillPages(b, file, cards, streams)
	cmd, addr := serveFile(b, file, "--till-rate-limit-per-minute", "0", "--holder-streams", strconv.Itoa(streams))
	defer func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() }()
	turn := servertest.Sized(3*time.Second, 20*time.Millisecond)
	some := func() float64 { return stampLoad(b, addr, turn, ids) }
	watched := func() float64 { return stampLoad(b, addr, turn, ids[:streams]) }
	some() // fills the caches
	for b.Loop() {
		var rates, ratios, watchedRates, watchedRatios []float64
		used := 0.0
		for round := range servertest.Sized(5, 1) {
			without, withoutWatched := some(), watched()
			before := memory(cmd.Process.Pid, "VmRSS:")
			closeStreams := openStreams(b, addr, pages)
			with, withWatched := some(), watched()
			if round == 0 {
				used = float64(memory(cmd.Process.Pid, "VmRSS:")-before) / 1000
			}
			closeStreams()
			rates, ratios = append(rates, with), append(ratios, with/without)
			watchedRates, watchedRatios = append(watchedRates, withWatched), append(watchedRatios, withWatched/withoutWatched)
		}
		b.ReportMetric(used, "MB-more")
		b.ReportMetric(middle(rates), "stamps/s")
		b.ReportMetric(middle(ratios), "ratio")
		b.ReportMetric(middle(watchedRates), "watched-stamps/s")
		b.ReportMetric(middle(watchedRatios), "watched-ratio")
	}
}

// middle returns the median.
func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// fillPages creates a file with n cards and returns their ids, and the paths of the pages of the
// first ones.
func fillPages(b *testing.B, file string, n, first int) (ids, pages []string) {
	b.Helper()
	st := require.Must(store.Open(file, store.Options{IDSecret: seed.IDSecret}))
	ready := require.Must(seed.Demo(st, "http://127.0.0.1"))
	for len(ids) < n {
		servertest.Write(b, st, func(tx *store.Tx) error {
			for range min(1000, n-len(ids)) {
				card, err := tx.IssueCard(store.Access{Shop: ready.Shop()}, ready.ProgramIDs["standard"], store.CardFields{},
					store.SourceAPI)
				if err != nil {
					return err
				}
				if ids = append(ids, card.ID); len(pages) < first {
					pages = append(pages, path.Base(card.InstallURL))
				}
			}
			return nil
		})
	}
	err := st.View(0, func(v *store.View) error {
		for i, token := range pages {
			h, err := v.HolderCard(token)
			if err != nil {
				return err
			}
			pages[i] = "/c/" + h.PageToken
		}
		return nil
	})
	if err == nil {
		err = st.Close()
	}
	noError(b, err)
	return ids, pages
}

// askForStamp sends a request for a stamp on a card. headers are further lines of it.
func askForStamp(c net.Conn, host, token, card, headers string) {
	fmt.Fprintf(c, "POST /till/v1/cards/%s/stamps HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n%s"+
		"Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"count\":1}", card, host, token, headers)
}

// serveFile starts the binary on a file, and returns its process and the address at which it listens.
func serveFile(b *testing.B, file string, args ...string) (cmd *exec.Cmd, addr string) {
	b.Helper()
	cmd = exec.Command(binary(), append([]string{"serve", "--db", file, "--listen", "127.0.0.1:0", "--log-format", "json"}, args...)...)
	out := require.Must(cmd.StderrPipe())
	noError(b, cmd.Start())
	return cmd, servingAddress(b, out)
}

// servingAddress reads the log of serve up to the address at which it listens.
func servingAddress(b *testing.B, log io.Reader) string {
	b.Helper()
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var entry struct{ Msg, Origin string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "serving" {
			go io.Copy(io.Discard, log)
			return entry.Origin[len("http://"):]
		}
	}
	b.Fatalf("the server ended: %v", lines.Err())
	return ""
}

// openStreams opens the stream of each page, waits for its first line, and reads on until the
// returned function closes them all.
func openStreams(b *testing.B, addr string, pages []string) (closeAll func()) {
	b.Helper()
	conns := make([]net.Conn, len(pages))
	var wg sync.WaitGroup
	for i, page := range pages {
		c := require.Must(net.Dial("tcp", addr))
		conns[i] = c
		fmt.Fprintf(c, "GET %s/events HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nAccept-Language: en\r\n\r\n", page, addr)
		buf := make([]byte, 2048)
		for n := 0; !bytes.Contains(buf[:n], []byte("\r\n:\n\n")); {
			more, err := c.Read(buf[n:])
			if err != nil {
				b.Fatalf("%s: %v: %s", page, err, buf[:n])
			}
			n += more
		}
		wg.Go(func() { io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, buf) })
	}
	return func() {
		for _, c := range conns {
			c.Close()
		}
		wg.Wait()
	}
}

// stampLoad gives stamps to random cards over 32 connections for a time, and returns how many
// were given per second.
func stampLoad(b *testing.B, addr string, d time.Duration, ids []string) float64 {
	b.Helper()
	var done atomic.Bool
	var total atomic.Int64
	var wg sync.WaitGroup
	defer time.AfterFunc(d, func() { done.Store(true) }).Stop()
	start := time.Now()
	for range 32 {
		wg.Go(func() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer c.Close()
			r := bufio.NewReader(c)
			for !done.Load() {
				askForStamp(c, addr, seed.TillToken, ids[rand.IntN(len(ids))], "")
				if err := readAnswer(r, 201); err != nil {
					b.Error(err)
					return
				}
				total.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(total.Load()) / time.Since(start).Seconds()
}

// readAnswer reads an answer, which must have the status and state its length.
func readAnswer(r *bufio.Reader, want int) error {
	length, status := 0, 0
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first {
			status, _ = strconv.Atoi(string(line[9:12]))
		}
		if len(line) <= 2 {
			break
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil || status == want {
		return err
	}
	return fmt.Errorf("%d %s", status, body)
}
