package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// kinds are kinds of requests: till is the writes at a till, and walk is one page of the list
// that the readers walk. The time of a webhook is that from the event to its arrival.
var (
	mixKinds  = []string{"card", "lookup", "list", "stats", "till", "issue", "webhook"}
	walkKinds = []string{"walk"}
	soakKinds = []string{"page", "form", "holder", "stream", "mcp", "refused"} // see client.other
	kinds     = slices.Concat(mixKinds, walkKinds, soakKinds)
)

// columns returns the kinds in the table.
func (l *load) columns() []string {
	if l.soak {
		return slices.Concat(mixKinds, soakKinds)
	}
	return slices.Concat(mixKinds, walkKinds)
}

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

// period holds the measurements of a part of the time.
type period struct {
	took     map[string]*histogram // by kind
	largest  map[string]float64    // values of the server's metrics
	lowest   map[string]float64
	from, to map[string]float64 // the server's metrics when it began and when it ended
}

func newPeriod() *period {
	p := &period{took: map[string]*histogram{}, largest: map[string]float64{}, lowest: map[string]float64{}}
	for _, k := range kinds {
		p.took[k] = &histogram{}
	}
	return p
}

// add adds the server's metrics at one time, the latest so far.
func (p *period) add(metrics map[string]float64) {
	p.to = metrics
	for name, value := range metrics {
		p.largest[name] = max(p.largest[name], value)
		if low, ok := p.lowest[name]; !ok || value < low {
			p.lowest[name] = value
		}
	}
}

// grown returns how much a metric grew.
func (p *period) grown(name string) float64 { return p.to[name] - p.from[name] }

const mib = 1 << 20

// line prints a line of the table.
func (l *load) line(text string, value func(kind string) string) {
	text = fmt.Sprintf("%-10s", text)
	for _, k := range l.columns() {
		text += fmt.Sprintf("%10s", value(k))
	}
	fmt.Println(text)
}

// report prints the lines of a period, and the table's header before the first. It adds the
// period's sample.
func (l *load) report(at int) {
	l.mu.Lock() // a client may still be adding to the period
	defer l.mu.Unlock()
	if at == 0 {
		fmt.Println()
		l.line("ended at", func(kind string) string { return kind })
	}
	p, seconds := l.periods[at], l.every().Seconds()
	end := (l.every() * time.Duration(at+1)).Round(100 * time.Millisecond)
	l.line(end.String(), func(kind string) string { return fmt.Sprintf("%.1f/s", float64(p.took[kind].total())/seconds) })
	l.line("  p50 ms", func(kind string) string { return fmt.Sprintf("%.2f", p.took[kind].quantile(0.5)) })
	l.line("  p99 ms", func(kind string) string { return fmt.Sprintf("%.2f", p.took[kind].quantile(0.99)) })
	s := sample{end.Minutes(), p.values(seconds)}
	const groups = "punchcard_write_group_size"
	fmt.Printf("  RSS %.0f MiB, file %.0f MiB, log at most %.1f MiB; %.1f writes a commit; at most %.0f webhooks wait; errors %d\n",
		s.Values["memory"], p.to[fileSize]/mib, s.Values["write-ahead log"], p.grown(groups+"_sum")/max(1, p.grown(groups+"_count")),
		p.largest[queue], l.faults.Load())
	fmt.Printf("  descriptors %.0f, goroutines %.0f; the process logged %.0f bytes and took %.1f %% of a core; %.0f bytes of file a "+
		"write\n",
		s.Values["descriptors"], s.Values["goroutines"], p.grown(logged), s.Values["processor"], s.Values["file per write"])
	l.samples = append(l.samples, s)
}

// values returns the values of the curves.
func (p *period) values(seconds float64) map[string]float64 {
	writes, answers := p.took["till"].total()+p.took["issue"].total(), 0
	v := map[string]float64{
		"heap":               p.largest["go_memstats_heap_inuse_bytes"] / mib,
		"log of the process": p.grown(logged) * 60 / seconds,
		"write-ahead log":    p.largest["punchcard_wal_bytes"] / mib,
		"file per write":     p.grown(fileSize) / float64(max(1, writes)),
		"processor":          p.grown("process_cpu_seconds_total") * 100 / seconds,
	}
	for name, of := range map[string]struct {
		metric string
		unit   float64
	}{"memory": {"process_resident_memory_bytes", mib}, "descriptors": {"process_open_fds", 1}, "goroutines": {"go_goroutines", 1}} {
		v[name], v[name+", lowest"] = p.largest[of.metric]/of.unit, p.lowest[of.metric]/of.unit
	}
	for kind, h := range p.took {
		v[kind+" p50"], v[kind+" p99"] = h.quantile(0.5), h.quantile(0.99)
		if kind != "webhook" {
			answers += h.total()
		}
	}
	v["answers"] = float64(answers) / seconds
	return v
}

const (
	fileSize = "punchcard_db_bytes"
	queue    = "punchcard_webhook_queue"
	logged   = "bytes of the log" // which the program counts itself
)
