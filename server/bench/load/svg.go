package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

// panel is a chart of the picture: the curves with these names over the time.
type panel struct {
	title  string
	curves []string
	labels []string // of the lines, if there are several
}

// panels are the charts in three columns, with those that decide first.
var panels = []panel{
	{"memory, MiB", []string{"memory", "heap"}, []string{"resident", "heap in use"}},
	{"open descriptors", []string{"descriptors"}, nil},
	{"goroutines", []string{"goroutines"}, nil},
	{"log of the process, bytes a minute", []string{"log of the process"}, nil},
	{"write-ahead log, MiB", []string{"write-ahead log"}, nil},
	{"growth of the file, bytes per write", []string{"file per write"}, nil},
	{"GET of a card, ms", []string{"card p50", "card p99"}, []string{"median", "99th percentile"}},
	{"write at a till, ms", []string{"till p50", "till p99"}, []string{"median", "99th percentile"}},
	{"page of the dashboard, ms", []string{"page p50", "page p99"}, []string{"median", "99th percentile"}},
}

// The sizes of the picture in pixels.
const (
	columns              = 3
	panelWide, panelHigh = 330, 190
	plotX, plotY         = 52, 42 // of the plot in the panel
	plotWide, plotHigh   = 262, 104
)

const svgStyle = `<style>
svg{background:#fff;color:#1f2328;font:12px system-ui,-apple-system,"Segoe UI",sans-serif}
text{fill:currentColor}.n{fill:#59636e;font-size:11px}.t{font-weight:600}
.g{stroke:#d1d9e0}.q{fill:#818b981f}.a,.b{fill:none;stroke-width:1.8;stroke-linejoin:round}
.a{stroke:#0969da}.b{stroke:#bc4c00}.la,.lb{font-size:11px}.la{fill:#0969da}.lb{fill:#bc4c00}
@media (prefers-color-scheme:dark){svg{background:#0d1117;color:#f0f6fc}.n{fill:#9198a1}.g{stroke:#3d444d}
.a{stroke:#4493f8}.b{stroke:#f0883e}.la{fill:#4493f8}.lb{fill:#f0883e}}
</style>
`

// draw writes the picture of the curves. The quarters that a verdict compares are shaded.
func draw(path string, samples []sample) error {
	var b strings.Builder
	wide, high := columns*panelWide, (len(panels)+columns-1)/columns*panelHigh
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %d" role="img">`+"\n"+
		"<title>The server under a steady load: a value for each minute</title>\n"+svgStyle, wide, high)
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", i%columns*panelWide, i/columns*panelHigh)
		p.draw(&b, samples)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return os.WriteFile(path, []byte(b.String()), 0o666)
}

func (p panel) draw(b *strings.Builder, samples []sample) {
	top := 0.0
	for _, name := range p.curves {
		top = max(top, slices.Max(values(samples, name)))
	}
	top = roundUp(top)
	length := samples[len(samples)-1].Minutes
	x := func(minutes float64) float64 { return plotX + plotWide*minutes/length }
	y := func(value float64) float64 { return plotY + plotHigh*(1-value/top) }
	for _, n := range []float64{2, 4} {
		fmt.Fprintf(b, `<rect class="q" x="%.1f" y="%d" width="%.1f" height="%d"/>`, x(length*(n-1)/4), plotY, plotWide/4.0, plotHigh)
	}
	fmt.Fprintf(b, `<text class="t" x="%d" y="18">%s</text>`+"\n", plotX, p.title)
	for _, value := range []float64{0, top / 2, top} {
		fmt.Fprintf(b, `<path class="g" d="M%d %.1fh%d"/><text class="n" x="%d" y="%.1f" text-anchor="end">%s</text>`, plotX, y(value),
			plotWide, plotX-6, y(value)+4, number(value))
	}
	for quarter := range 5 {
		minutes := length * float64(quarter) / 4
		text, anchor := number(math.Round(minutes*10)/10), "middle"
		if quarter == 4 {
			text, anchor = text+" min", "end"
		}
		fmt.Fprintf(b, `<text class="n" x="%.1f" y="%d" text-anchor="%s">%s</text>`, x(minutes), plotY+plotHigh+16, anchor, text)
	}
	for i, name := range p.curves {
		line, v := "ab"[i:i+1], values(samples, name)
		_, _, ratio, _ := find(name).verdict(v)
		label := fmt.Sprintf("last quarter %.2f × the second", ratio)
		if p.labels != nil {
			label = fmt.Sprintf("%s %.2f ×", p.labels[i], ratio)
		}
		fmt.Fprintf(b, "\n"+`<text class="l%s" x="%d" y="34">%s</text><polyline class="%[1]s" points="`, line, plotX+i*120, label)
		for j, value := range v {
			fmt.Fprintf(b, "%.1f,%.1f ", x(samples[j].Minutes), y(value))
		}
		b.WriteString(`"/>`)
	}
	b.WriteString("\n")
}

// roundUp returns the next number of the form 1, 1.5, 2, 3, 4, 5, 6 or 8 times a power of ten.
func roundUp(value float64) float64 {
	if value <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(value)))
	for _, n := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8} {
		if n*unit >= value {
			return n * unit
		}
	}
	return 10 * unit
}

// number formats a number of an axis.
func number(value float64) string { return fmt.Sprintf("%.4g", value) }
