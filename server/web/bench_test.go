package web

import (
	"io"
	"os"
	"runtime"
	"testing"
)

// BenchmarkPage measures a page with a table of 50 rows.
func BenchmarkPage(b *testing.B) {
	templates := parseSamples(b)
	p := PrinterFor("it")
	data := newSample(p, "Giulia")
	for len(data.Cards) < 50 {
		data.Cards = append(data.Cards, data.Cards[0])
	}
	for b.Loop() {
		if err := templates.Render(io.Discard, "cards", data, p); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstPage measures the first answer of a page, which parses it, and reports
// the memory that the parsed page keeps.
func BenchmarkFirstPage(b *testing.B) {
	p := PrinterFor("it")
	data := newSample(p, "Giulia")
	var kept []*Templates
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		templates, err := Parse(os.DirFS("testdata/look"))
		if err != nil {
			b.Fatal(err)
		}
		kept = append(kept, templates)
		if err := templates.Render(io.Discard, "cards", data, p); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(kept)), "kept-B/op")
	runtime.KeepAlive(kept)
}
