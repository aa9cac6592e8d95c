package web

import (
	"encoding/xml"
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punchcard/server/servertest/require"
)

// TestGoldenCharts compares the charts with the files in testdata/charts.
func TestGoldenCharts(t *testing.T) {
	p := PrinterFor("it")
	week := []Point{
		{"16 nov", "lunedì 16 novembre", 12},
		{"17 nov", "martedì 17 novembre", 0},
		{"18 nov", "mercoledì 18 novembre", 31},
		{"19 nov", "", -4},
	}
	var heat [7][24]int64
	heat[time.Saturday][11], heat[time.Monday][8] = 134, 20
	first := time.Date(2026, 11, 4, 0, 0, 0, 0, time.UTC)
	for name, chart := range map[string]template.HTML{
		"bars": BarChart(p, Chart{ID: "c", Title: "Timbri", Key: "Giorno"}, week),
		"none": BarChart(p, Chart{ID: "c", Title: "Timbri"}, nil),
		"lines": LineChart(p, Chart{
			ID: "c", Title: "Saldi", Key: "Giorno", Format: func(v int64) string { return p.Money(v, "EUR") },
		}, []string{"1", "2", "3"}, nil, Series{"Ora", []int64{0, 1250}}, Series{"Prima", []int64{300, 900, 4100}}),
		"heat":  Heatmap(p, Chart{ID: "c", Title: "Timbri", Bare: true}, heat),
		"year":  YearHeatmap(p, Chart{ID: "c", Title: "Timbri"}, first, []int64{1, 2, 3, 4, 0, 8, 8, 1, 0, 5}),
		"split": SplitBar(p, Chart{ID: "c", Title: "Tessere", Key: "Tipo"}, []Part{{"Apple", 3}, {"Google", 1}, {"<b>", 0}}),
	} {
		checkXML(t, name, string(chart))
		file := filepath.Join("testdata", "charts", name+".html")
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte(chart+"\n"), 0o644))
		}
		want := require.Must(os.ReadFile(file))
		if string(chart)+"\n" != string(want) {
			t.Errorf("%s: the chart differs from %s; look at it and run the test with -update", name, file)
		}
	}
}

// checkXML checks that a chart is well-formed, and that no number in it is NaN or infinite.
func checkXML(t *testing.T, name, chart string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(chart))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
			break
		}
	}
	for _, bad := range []string{"NaN", "Inf", "%!", "e+"} {
		if strings.Contains(chart, bad) {
			t.Errorf("%s contains %s", name, bad)
		}
	}
}

// TestEmptyCharts checks charts without figures and with very large ones.
func TestEmptyCharts(t *testing.T) {
	p := PrinterFor("en")
	for i, values := range [][]int64{nil, {0}, {1}, {-5, -1}, {math.MaxInt64 / 8, 1}, make([]int64, 400)} {
		var points []Point
		var parts []Part
		for _, v := range values {
			points, parts = append(points, Point{Value: v}), append(parts, Part{Value: v})
		}
		c := Chart{ID: "c", Title: "x"}
		checkXML(t, fmt.Sprint("bars ", i), string(BarChart(p, c, points)))
		checkXML(t, fmt.Sprint("lines ", i), string(LineChart(p, c, nil, nil, Series{"a", values}, Series{"b", nil})))
		checkXML(t, fmt.Sprint("year ", i), string(YearHeatmap(p, c, time.Unix(0, 0).UTC(), values)))
		checkXML(t, fmt.Sprint("split ", i), string(SplitBar(p, c, parts)))
	}
	checkXML(t, "heat", string(Heatmap(p, Chart{ID: "c", Title: "x"}, [7][24]int64{})))
}

// TestAxis checks that the axis has at most four steps, which are round, and reaches the highest
// figure.
func TestAxis(t *testing.T) {
	for highest, want := range map[int64]axis{
		0: {1, 1}, 1: {1, 1}, 4: {1, 4}, 5: {2, 3}, 9: {5, 2}, 21: {10, 3}, 188: {50, 4}, 201: {100, 3},
		1_000_000: {500_000, 2},
	} {
		if got := newAxis(highest); got != want {
			t.Errorf("%d: %v, want %v", highest, got, want)
		}
	}
}

// TestLevels checks that only 0 has level 0, and that the legend names the ranges of the
// levels.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		v, highest int64
		want       int
	}{{0, 0, 0}, {0, 10, 0}, {1, 1000, 1}, {250, 1000, 1}, {251, 1000, 2}, {1000, 1000, 4}, {1, 1, 4}, {1, 2, 2}} {
		if got := level(c.v, c.highest); got != c.want {
			t.Errorf("%d of %d: level %d, want %d", c.v, c.highest, got, c.want)
		}
	}
	var m markup
	m.heatLegend(Chart{Format: PrinterFor("en").Number}, 91)
	for i, want := range []string{"</svg>0</li>", "</svg>1–22</li>", "</svg>23–45</li>", "</svg>46–68</li>", "</svg>69–91</li>"} {
		if !strings.Contains(m.String(), want) {
			t.Errorf("level %d: no %s in %s", i, want, m.String())
		}
	}
}
