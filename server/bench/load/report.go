package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

const mib = 1 << 20

func ms(d time.Duration) string { return strconv.FormatFloat(d.Seconds()*1000, 'f', 2, 64) }

// header prints the header of the table.
func (l *load) header(w io.Writer) {
	fmt.Fprintf(w, "\n%-10s", "ended at")
	for k := range kinds {
		fmt.Fprintf(w, "%10s", k)
	}
	fmt.Fprintln(w)
}

// report prints the lines of a period.
func (l *load) report(w io.Writer, at int) {
	p, seconds := l.rows[at], l.length.Seconds()/float64(len(l.rows))
	line := func(name string, value func(h *histogram) string) {
		fmt.Fprintf(w, "%-10s", name)
		for k := range kinds {
			fmt.Fprintf(w, "%10s", value(&p.took[k]))
		}
		fmt.Fprintln(w)
	}
	line(time.Duration(math.Round(seconds*float64(at+1)*10)*1e8).String(), func(h *histogram) string { return fmt.Sprintf("%.0f/s", float64(h.total())/seconds) })
	line("  p50 ms", func(h *histogram) string { return ms(h.quantile(0.5)) })
	line("  p99 ms", func(h *histogram) string { return ms(h.quantile(0.99)) })
	before := l.before
	if at > 0 {
		before = l.rows[at-1].metrics
	}
	fmt.Fprintf(w, "  RSS %.0f MiB, file %.0f MiB, log at most %.1f MiB; %.1f writes a commit; webhooks %.0f/s, p99 of their lag %s, at most %.0f wait; errors %d\n",
		p.rss/mib, p.db/mib, p.wal/mib, (p.metrics[groups+"_sum"]-before[groups+"_sum"])/max(1, p.metrics[groups+"_count"]-before[groups+"_count"]),
		(p.metrics[delivered]-before[delivered])/seconds, lag(before, p.metrics), p.queue, p.faults)
}

const (
	delivered = `punchcard_webhook_attempts_total{outcome="delivered"}`
	groups    = "punchcard_write_group_size"
)

// lag returns the 99th percentile of the lag of webhooks between two scrapes, rounded
// up to the bound of a bucket.
func lag(before, now map[string]float64) string {
	const name = "punchcard_webhook_lag_seconds"
	n := now[name+"_count"] - before[name+"_count"]
	if n <= 0 {
		return "-"
	}
	least := math.Inf(1)
	for series, count := range now {
		bound, ok := strings.CutPrefix(series, name+`_bucket{le="`)
		if at, err := strconv.ParseFloat(strings.TrimSuffix(bound, `"}`), 64); ok && err == nil && count-before[series] >= 0.99*n {
			least = min(least, at)
		}
	}
	if math.IsInf(least, 1) {
		return "past the buckets"
	}
	return "≤ " + time.Duration(least*float64(time.Second)).String()
}

// third is the sum of the periods in a third of the time.
type third struct {
	took     [kinds]histogram
	rss, wal float64
	written  uint64
	grown    float64 // of the file, in bytes
}

// third returns the sum of the n-th third of the periods.
func (l *load) third(n int) *third {
	size := len(l.rows) / 3
	from := n * size
	t := &third{}
	for _, p := range l.rows[from : from+size] {
		for k := range kinds {
			t.took[k].merge(&p.took[k])
		}
		t.rss, t.wal = max(t.rss, p.rss), max(t.wal, p.wal)
	}
	start := l.filled
	if from > 0 {
		start = l.rows[from-1].db
	}
	t.written = t.took[till].total() + t.took[issue].total()
	t.grown = l.rows[from+size-1].db - start
	return t
}

// summary compares the last third with the first, which shows whether the server
// becomes slower or larger.
func (l *load) summary(w io.Writer) {
	first, last := l.third(0), l.third(2)
	seconds := l.length.Seconds() / 3
	ratio := func(name, unit string, a, b float64) {
		text := "-"
		if a > 0 {
			text = fmt.Sprintf("%.2f", b/a)
		}
		fmt.Fprintf(w, "%-22s%12.2f%12.2f  %-12s%8s\n", name, a, b, unit, text)
	}
	fmt.Fprintf(w, "\n%-22s%12s%12s  %-12s%8s\n", "", "first third", "last third", "", "ratio")
	for k := range kinds {
		a, b := &first.took[k], &last.took[k]
		ratio(k.String(), "/s", float64(a.total())/seconds, float64(b.total())/seconds)
		ratio(k.String()+", p50", "ms", a.quantile(0.5).Seconds()*1000, b.quantile(0.5).Seconds()*1000)
		ratio(k.String()+", p99", "ms", a.quantile(0.99).Seconds()*1000, b.quantile(0.99).Seconds()*1000)
	}
	ratio("resident memory", "MiB, most", first.rss/mib, last.rss/mib)
	ratio("log", "MiB, most", first.wal/mib, last.wal/mib)
	ratio("file", "bytes/write", first.grown/float64(max(1, first.written)), last.grown/float64(max(1, last.written)))
	var n uint64
	for k := range kinds {
		var all histogram
		for _, p := range l.rows {
			all.merge(&p.took[k])
		}
		n += all.total()
	}
	fmt.Fprintf(w, "\n%d answers, %.0f/s", n, float64(n)/l.length.Seconds())
	if behind := l.unsent.Load(); behind > 0 {
		fmt.Fprintf(w, "; %d requests were due and could not be sent any more", behind)
	}
	fmt.Fprintln(w)
}
