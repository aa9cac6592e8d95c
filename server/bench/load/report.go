package main

import (
	"fmt"
	"math"
	"time"
)

// kinds are the columns of the table. Most are kinds of requests: till is the writes at
// a till, and walk is one page of the list that the readers walk. The time of a webhook
// is that from the event to its arrival.
var kinds = []string{"card", "lookup", "list", "stats", "till", "issue", "walk", "webhook"}

// histogram counts durations in buckets whose bounds are 2^(n/16) microseconds.
type histogram [512]int

func (h *histogram) add(d time.Duration) {
	h[min(int(16*math.Log2(max(1, d.Seconds()*1e6))), len(h)-1)]++
}

func (h *histogram) total() (n int) {
	for _, count := range h {
		n += count
	}
	return n
}

// quantile returns the q-quantile of the durations in milliseconds, which may be up to
// 5 % too large; 0 if there are none.
func (h *histogram) quantile(q float64) float64 {
	rest := int(math.Ceil(q * float64(h.total())))
	for i, count := range h {
		if rest -= count; count > 0 && rest <= 0 {
			return math.Exp2(float64(i+1)/16) / 1000
		}
	}
	return 0
}

// period holds the measurements of a part of the time. Sizes are in bytes.
type period struct {
	took            map[string]*histogram // by kind
	rss, wal, queue float64               // largest values
	from, to        map[string]float64    // the server's metrics when it began and when it ended
}

func newPeriod() *period {
	p := &period{took: map[string]*histogram{}}
	for _, k := range kinds {
		p.took[k] = &histogram{}
	}
	return p
}

// grown returns how much a metric grew.
func (p *period) grown(name string) float64 { return p.to[name] - p.from[name] }

const mib = 1 << 20

// line prints a line of the table.
func line(text string, value func(kind string) string) {
	text = fmt.Sprintf("%-10s", text)
	for _, k := range kinds {
		text += fmt.Sprintf("%10s", value(k))
	}
	fmt.Println(text)
}

// report prints the lines of a period, and the table's header before the first.
func (l *load) report(at int) {
	l.mu.Lock() // a client may still be adding to the period
	defer l.mu.Unlock()
	if at == 0 {
		fmt.Println()
		line("ended at", func(kind string) string { return kind })
	}
	p, seconds := l.periods[at], l.every().Seconds()
	end := (l.every() * time.Duration(at+1)).Round(100 * time.Millisecond)
	line(end.String(), func(kind string) string { return fmt.Sprintf("%.0f/s", float64(p.took[kind].total())/seconds) })
	line("  p50 ms", func(kind string) string { return fmt.Sprintf("%.2f", p.took[kind].quantile(0.5)) })
	line("  p99 ms", func(kind string) string { return fmt.Sprintf("%.2f", p.took[kind].quantile(0.99)) })
	const groups = "punchcard_write_group_size"
	fmt.Printf("  RSS %.0f MiB, file %.0f MiB, log at most %.1f MiB; %.1f writes a commit; at most %.0f webhooks wait; errors %d\n",
		p.rss/mib, p.to[fileSize]/mib, p.wal/mib, p.grown(groups+"_sum")/max(1, p.grown(groups+"_count")), p.queue, l.faults.Load())
}

const fileSize = "punchcard_db_bytes"
