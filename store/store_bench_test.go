package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
)

// BenchmarkFsync measures one fsync, which the writes of the other benchmarks wait for.
func BenchmarkFsync(b *testing.B) {
	file, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	frame := make([]byte, 4096+24) // a page in the WAL
	for b.Loop() {
		if _, err := file.Write(frame); err != nil {
			b.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

// durable returns a fixture on a file with synchronous=FULL.
func durable(b *testing.B, opts Options) *fixture {
	f := &fixture{t: b, clock: newClock()}
	opts.Now = f.clock.now
	f.Store = open(b, filepath.Join(b.TempDir(), "cards.db"), opts)
	f.a = f.shop(ShopFields{})
	return f
}

// BenchmarkWriteGrouped issues cards by 64 callers with remembered responses and fsync.
func BenchmarkWriteGrouped(b *testing.B) {
	for _, most := range []int{0, 1} {
		b.Run(fmt.Sprintf("MaxGroup=%d", most), func(b *testing.B) {
			f := durable(b, Options{MaxGroup: most})
			program := f.program(f.a, stamps("Coffee"))
			body := make([]byte, 600)
			for i := range body {
				body[i] = 'x'
			}
			var next atomic.Int64
			b.SetParallelism(64 / runtime.GOMAXPROCS(0))
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					n := fmt.Sprint("n", next.Add(1))
					if err := f.do(func(tx *Tx) error {
						if _, err := tx.IssueCard(f.a, program, CardFields{ExternalRef: set(n), HolderEmail: set("ada@example.com")}, SourceAPI); err != nil {
							return err
						}
						return tx.Remember(idempotencyKey(2, n, ""), Remembered{Status: 201, Body: body})
					}); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}

func BenchmarkCardRead(b *testing.B) {
	f := durable(b, Options{Ephemeral: true})
	for range 3 {
		f.location(f.a)
	}
	program := f.program(f.a, stamps("Coffee"))
	var cards []string
	f.must(func(tx *Tx) error {
		for i := range 10_000 {
			c, err := tx.IssueCard(f.a, program, CardFields{ExternalRef: set(fmt.Sprint("n", i)), HolderName: set("Ada"), HolderEmail: set("ada@example.com")}, SourceAPI)
			if err != nil {
				return err
			}
			cards = append(cards, c.ID)
		}
		return nil
	})
	rng := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.read(cards[rng.IntN(len(cards))]); err != nil {
			b.Fatal(err)
		}
	}
}
