package store

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkCounting: stamps by 64 callers at four locations, each answer on
// disk (synchronous=FULL), against the same where nothing is counted: every
// write's counts are dropped before the group's commit, so that writeCounts
// has none to write, and the trigger on cards is gone. What is left there is
// the adding up in memory, whose time is reported beside it.
func BenchmarkCounting(b *testing.B) {
	const callers = 64
	cards, rounds, each := 100_000, 9, 2*time.Second
	if testing.Short() { // only to show that it works
		cards, rounds, each = 5000, 1, 20*time.Millisecond
	}
	ready := func(count bool) func() float64 {
		f := durable(b, Options{})
		fields := stamps("Coffee")
		fields.RepeatAfterReset = set(true) // a full card goes on with the next one
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
		return func() float64 {
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
							_, err := tx.Stamp(at, ids[rand.IntN(cards)], StampFields{})
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

// adding is what a stamp's counting takes before anything is written, in
// microseconds: of sixty-four at four locations, in one group.
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
