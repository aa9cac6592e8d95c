package store

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
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

// BenchmarkWriteGrouped issues cards for 64 concurrent callers, with remembered responses and
// fsync, in groups of at most 128 writes and in groups of one.
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

// BenchmarkCardRead reads random cards out of 10,000 by their ids.
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

// BenchmarkCounting measures stamps by 64 callers at four locations, each answer on disk
// (synchronous=FULL), and compares them with stamps that are not counted: the counts are dropped
// before the group's commit, so that writeCounts has nothing to write, and there is no trigger on
// cards. The time for adding up in memory, which remains, is reported separately.
func BenchmarkCounting(b *testing.B) {
	const callers = 64
	cards, rounds, each := 100_000, 9, 2*time.Second
	if testing.Short() { // only to show that it works
		cards, rounds, each = 5000, 1, 20*time.Millisecond
	}
	// ready fills a store and returns a function that measures its stamps per second.
	ready := func(count bool) func() float64 {
		f := durable(b, Options{})
		fields := stamps("Coffee")
		fields.RepeatAfterReset = set(true) // a full card continues with the next one
		program := f.program(f.a, fields)
		var tills []till
		for range 4 {
			tills = append(tills, f.till(f.a))
		}
		var ids []string
		for len(ids) < cards {
			f.must(func(tx *Tx) error {
				for range 5000 {
					c, err := tx.IssueCard(f.a, program, CardFields{}, SourceAPI)
					if err != nil {
						return err
					}
					ids = append(ids, c.ID)
				}
				return nil
			})
		}
		w := Write{Actor: operator}
		if !count {
			f.sql("DROP TRIGGER cards_counted")
			w.Finish = func(tx *Tx, err error) error {
				tx.counts = counts{}
				return err
			}
		}
		return func() float64 { return stampsPerSecond(b, f, w, tills, ids, callers, each) }
	}
	counting, without := ready(true), ready(false)
	for b.Loop() {
		var with, base, ratios []float64
		for range rounds {
			x, y := counting(), without()
			with, base, ratios = append(with, x), append(base, y), append(ratios, y/x)
		}
		for name, v := range map[string][]float64{"stamps/s": with, "uncounted/s": base, "costs-x-uncounted": ratios} {
			slices.Sort(v)
			b.ReportMetric(v[len(v)/2], name)
		}
		memory := adding()
		b.ReportMetric(memory, "µs-in-memory")
		b.ReportMetric(100*(ratios[rounds/2]-1)+100*memory*with[rounds/2]/1e6, "%-in-all")
	}
}

// stampsPerSecond stamps random cards with writes like w for the given time, by callers that share the
// tills.
func stampsPerSecond(b *testing.B, f *fixture, w Write, tills []till, cards []string, callers int, each time.Duration) float64 {
	var done atomic.Bool
	var total atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	time.AfterFunc(each, func() { done.Store(true) })
	for i := range callers {
		wg.Go(func() {
			w, at := w, tills[i%len(tills)].device
			for n := int64(0); ; n++ {
				if done.Load() {
					total.Add(n)
					return
				}
				w.Do = func(tx *Tx) error {
					_, err := tx.Stamp(at, cards[rand.IntN(len(cards))], StampFields{})
					return err
				}
				if err := f.Write(b.Context(), w); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return float64(total.Load()) / time.Since(start).Seconds()
}

// adding returns the time in microseconds that counting one stamp takes before the write, for
// sixty-four stamps at four locations in one group.
func adding() float64 {
	const n = 200_000
	group := make([]*job, 0, 64)
	start := time.Now()
	for i := range int64(n) {
		if i%64 == 0 {
			sumGroup(group)
			group = group[:0]
		}
		tx := Tx{}
		tx.countRow(1, 1, 1+i%4, 1_800_000_000_000, "stamp", 1, 0, 1)
		tx.counts.addTotals(1, totals{span: i, gaps: 1})
		group = append(group, &job{effects: tx.effects})
	}
	return float64(time.Since(start).Nanoseconds()) / 1000 / n
}
