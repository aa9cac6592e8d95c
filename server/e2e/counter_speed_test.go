package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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
	"punchcard/server/wallet/wallettest"
	"punchcard/store"
	"punchcard/store/sqlite"
)

var counterRate = flag.Float64("counter-rate", 2000, "how many stamps a second the clients of BenchmarkCounter ask for")

// counterShop is a file with cards of which a tenth has a pass on a phone, and with a webhook that gets every stamp.
type counterShop struct {
	file           string
	ids            []string
	apns           *wallettest.APNs
	stamped        atomic.Int64
	hooked, pushed atomic.Int64 // webhooks and pushes that arrived
	backups        int
}

func newCounterShop(b *testing.B) *counterShop {
	s := &counterShop{file: filepath.Join(b.TempDir(), "counter.db"), apns: wallettest.NewAPNs()}
	b.Cleanup(s.apns.Close)
	s.apns.Wake = func(string) bool { s.pushed.Add(1); return true }
	s.ids, _ = fillPages(b, s.file, servertest.Sized(100_000, 200), 0)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		s.hooked.Add(1)
	}))
	b.Cleanup(receiver.Close)
	st, ready := openDev(b, s.file)
	servertest.Write(b, st, func(tx *store.Tx) error {
		tx.CheckedTarget = receiver.URL
		_, err := tx.CreateWebhook(store.Access{Shop: ready.Shop()}, ready.ProgramIDs["standard"], store.WebhookFields{
			URL:    store.Opt[string]{V: receiver.URL, Set: true},
			Events: store.Opt[[]string]{V: []string{"stamp.assigned"}, Set: true},
		})
		return err
	})
	noError(b, st.Close())
	c := require.Must(sqlite.Open(s.file, sqlite.ReadWrite, "busy_timeout=5000"))
	defer c.Close()
	for _, sql := range []string{
		`INSERT INTO apple_passes (card_id, shop_id, program_id, generation, hash, modified_at, downloaded)
			SELECT id, shop_id, program_id, code_generation, x'00', created_at/1000*1000, 0 FROM cards WHERE id%10=0`,
		`INSERT INTO apple_devices (card_id, shop_id, generation, device, push_token, created_at, told)
			SELECT card_id, shop_id, generation, 'd'||card_id, printf('%08x', card_id), modified_at, ''||id FROM apple_passes`,
		"UPDATE cards SET copies=2 WHERE id IN (SELECT card_id FROM apple_passes)",
	} {
		if _, err := c.Exec(sql); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// serve starts the server in a process of its own, which sends pushes to the stand-in of Apple.
func (s *counterShop) serve(b *testing.B) (addr string) {
	conf, _ := json.Marshal(passServer{s.file, "127.0.0.1:0", s.apns.URL, wallettest.Demo().Issuer.Raw, certificateOf(s.apns.URL)})
	cmd := exec.Command(require.Must(os.Executable()))
	cmd.Env = environment([]string{passServerVariable + "=" + string(conf)})
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	noError(b, err)
	b.Cleanup(func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() })
	return servingAddress(b, out)
}

// stampAtRate has clients give stamps to random cards at fixed times for a while. It returns how long each took from when it
// was due.
func (s *counterShop) stampAtRate(b *testing.B, addr string, d time.Duration) (took []time.Duration) {
	const clients = 64
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	for n := range clients {
		wg.Go(func() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer c.Close()
			r := bufio.NewReader(c)
			var own []time.Duration
			for {
				due := start.Add(time.Duration(float64(n) / *counterRate * float64(time.Second)))
				if n += clients; due.Sub(start) > d {
					break
				}
				<-time.After(time.Until(due))
				askForStamp(c, addr, seed.TillToken, s.ids[rand.IntN(len(s.ids))],
					fmt.Sprintf("Idempotency-Key: %d-%d\r\n", start.UnixNano(), n))
				if err := readAnswer(r, 201); err != nil {
					b.Error(err)
					return
				}
				own = append(own, time.Since(due))
			}
			s.stamped.Add(int64(len(own)))
			mu.Lock()
			took = append(took, own...)
			mu.Unlock()
		})
	}
	wg.Wait()
	return took
}

// backUp makes one backup after the other until ctx ends.
func (s *counterShop) backUp(b *testing.B, ctx context.Context) {
	to := s.file + ".copy"
	for ctx.Err() == nil {
		out, err := exec.CommandContext(ctx, binary(), "backup", to, "--db", s.file, "--force").CombinedOutput()
		if err == nil {
			s.backups++
		} else if ctx.Err() == nil {
			b.Errorf("backup: %v: %s", err, out)
			return
		}
	}
}

// bareLoop makes the transaction of a stamp one after the other for a while, without a server, and returns how long each took.
func bareLoop(b *testing.B, st *store.Store, ids []string, d time.Duration) (took []time.Duration) {
	till, err := st.IdentifyTill(store.Hash(seed.TillToken))
	if err != nil || till == nil {
		b.Fatal(till, err)
	}
	for start := time.Now(); time.Since(start) < d; {
		began := time.Now()
		servertest.Write(b, st, func(tx *store.Tx) error {
			_, err := tx.Stamp(till.Till, ids[rand.IntN(len(ids))], store.StampFields{})
			return err
		})
		took = append(took, time.Since(began))
	}
	return took
}

// BenchmarkCounter has 64 clients give 2,000 stamps a second to 100,000 cards, each answered when it is on disk, while a
// receiver gets every stamp, the phones of the passes of every tenth card are woken, and backups are made without a pause.
// Times count from when a stamp was due. In turns with that it makes the same transactions, one after the other, on a
// copy of the file without a server: what the disk allows.
//
//	go test ./server/e2e -run '^$' -bench Counter -benchtime 1x -v
//	go test ./server/e2e -run '^$' -bench Counter -benchtime 1x -v -counter-rate 300    # on a slower machine
func BenchmarkCounter(b *testing.B) {
	s := newCounterShop(b)
	bare := filepath.Join(b.TempDir(), "bare.db")
	noError(b, os.WriteFile(bare, require.Must(os.ReadFile(s.file)), 0o600))
	st := require.Must(store.Open(bare, store.Options{MustExist: true}))
	defer st.Close()
	addr := s.serve(b)
	ms := func(took []time.Duration, part int) float64 {
		return float64(took[(len(took)-1)*part/100].Microseconds()) / 1000
	}
	for b.Loop() {
		figures := map[string][]float64{}
		for range servertest.Sized(3, 1) {
			loop := bareLoop(b, st, s.ids, servertest.Sized(5*time.Second, 20*time.Millisecond))
			ctx, cancel := context.WithCancel(b.Context())
			var backup sync.WaitGroup
			backup.Go(func() { s.backUp(b, ctx) })
			start := time.Now()
			took := s.stampAtRate(b, addr, servertest.Sized(15*time.Second, 50*time.Millisecond))
			rate := float64(len(took)) / time.Since(start).Seconds()
			cancel()
			backup.Wait()
			if b.Failed() {
				return
			}
			slices.Sort(loop)
			slices.Sort(took)
			for name, v := range map[string]float64{
				"stamps/s": rate, "ms-stamp": ms(took, 50), "ms-stamp-99%": ms(took, 99), "ms-bare": ms(loop, 50),
				"ms-bare-99%": ms(loop, 99),
				"bare/s":      float64(len(loop)) / servertest.Sized(5*time.Second, 20*time.Millisecond).Seconds(),
			} {
				figures[name] = append(figures[name], v)
			}
		}
		for name, values := range figures {
			b.Logf("%s: %.1f", name, values)
			b.ReportMetric(middle(values), name)
		}
	}
	late := time.After(waitLimit)
	for s.hooked.Load() < s.stamped.Load() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-late:
			b.Fatalf("of %s stamps %d webhooks arrived", strconv.FormatInt(s.stamped.Load(), 10), s.hooked.Load())
		}
	}
	b.ReportMetric(float64(s.pushed.Load())/float64(s.stamped.Load()), "pushes/stamp")
	b.ReportMetric(float64(s.backups), "backups")
}
