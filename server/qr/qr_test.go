package qr

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"rsc.io/qr/coding"
)

const link = "https://cards.example.com/install/a8Fq2Lx0Zk7mPq3R5tUv9wXy"

// raster is the picture's modules, margin included; true is dark.
type raster [][]bool

// bar matches a bar, a stroke along the middle of its row: the first bar of a row has a start, each
// further one a distance from the one before.
var bar = regexp.MustCompile(`(?:M(\d+) (\d+)\.5|m(\d+) 0)h(\d+)`)

// draw renders the picture of a text. It fails the test unless its markup is one XML document: a white
// square with dark bars.
func draw(t testing.TB, text string) (picture raster, svg string) {
	t.Helper()
	svg, err := SVG(text)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
		ViewBox string   `xml:"viewBox,attr"`
		Paths   []struct {
			D      string `xml:"d,attr"`
			Fill   string `xml:"fill,attr"`
			Stroke string `xml:"stroke,attr"`
		} `xml:"path"`
		Text string `xml:",chardata"`
	}
	d := xml.NewDecoder(strings.NewReader(svg))
	if err := d.Decode(&doc); err != nil || doc.Text != "" {
		t.Fatalf("not well-formed, or there is text: %v", err)
	}
	if rest, err := d.Token(); err != io.EOF {
		t.Fatalf("after the end there is %v, %v", rest, err)
	}
	var side int
	if n, err := fmt.Sscanf(doc.ViewBox, "0 0 %d %d", &side, new(int)); n != 2 || err != nil ||
		doc.ViewBox != fmt.Sprintf("0 0 %d %d", side, side) {
		t.Fatalf("viewBox %q", doc.ViewBox)
	}
	if len(doc.Paths) != 2 || doc.Paths[0].Fill != "#fff" || doc.Paths[0].D != fmt.Sprintf("M0 0h%dv%dH0z", side, side) {
		t.Fatalf("no white background: %d paths", len(doc.Paths))
	}
	if p := doc.Paths[1]; p.Stroke != "#000" || p.Fill != "" {
		t.Fatalf("the modules are %q, not black", p.Stroke)
	}
	picture = make(raster, side)
	for y := range picture {
		picture[y] = make([]bool, side)
	}
	dark := doc.Paths[1].D
	x, y := 0, 0
	for _, m := range bar.FindAllStringSubmatch(dark, -1) {
		if m[1] != "" {
			x, y = integer(t, m[1]), integer(t, m[2])
		} else {
			x += integer(t, m[3])
		}
		width := integer(t, m[4])
		if width == 0 || y >= side || x+width > side {
			t.Fatalf("bar %q in a square of %d", m[0], side)
		}
		for i := x; i < x+width; i++ {
			if picture[y][i] {
				t.Fatalf("(%d,%d) is painted twice", i, y)
			}
			picture[y][i] = true
		}
		x += width
	}
	if rest := bar.ReplaceAllString(dark, ""); rest != "" {
		t.Fatalf("the path has more than bars: %.40q", rest)
	}
	return picture, svg
}

func integer(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// bytesOf returns text of n bytes that needs byte mode.
func bytesOf(n int) string { return strings.Repeat("a/B-_9", n/6+1)[:n] }

// smallest returns the smallest version that has room for n bytes at level M.
func smallest(t testing.TB, n int) coding.Version {
	t.Helper()
	for v := coding.Version(1); v <= coding.MaxVersion; v++ {
		head := 4 + 8
		if v > 9 {
			head = 4 + 16
		}
		if head+8*n <= 8*v.DataBytes(coding.M) {
			return v
		}
	}
	t.Fatalf("no version has room for %d bytes", n)
	return 0
}

// TestSizes compares the pictures of texts of several sizes with those of rsc.io/qr/coding.
func TestSizes(t *testing.T) {
	for _, n := range []int{0, 1, 14, 15, 60, 120, 180, 181, 500, 2330, 2331} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			s := bytesOf(n)
			got, _ := draw(t, s)
			v := smallest(t, n)
			if want := 17 + 4*int(v) + 2*margin; len(got) != want {
				t.Fatalf("side is %d, want %d (version %d)", len(got), want, v)
			}
			plan, err := coding.NewPlan(v, coding.M, 0)
			if err != nil {
				t.Fatal(err)
			}
			want, err := plan.Encode(coding.String(s))
			if err != nil {
				t.Fatal(err)
			}
			for y := range got {
				for x := range got {
					if got[y][x] != want.Black(x-margin, y-margin) {
						t.Fatalf("(%d,%d) is %t", x-margin, y-margin, got[y][x])
					}
				}
			}
		})
	}
}

func TestTooLong(t *testing.T) {
	for _, n := range []int{2332, 3000, 100_000} {
		if svg, err := SVG(bytesOf(n)); err == nil || svg != "" {
			t.Errorf("%d bytes: %d bytes of markup and error %v", n, len(svg), err)
		}
	}
}

// TestNothingToEscape checks that the markup needs no escaping in JSON.
func TestNothingToEscape(t *testing.T) {
	for _, s := range []string{link, "\"<&>'\\", "ünï ✓", "\x00\xff"} {
		_, svg := draw(t, s)
		if strings.ContainsAny(svg, "\"\\&\n") {
			t.Errorf("%q gives markup that needs escaping", s)
		}
	}
}

// TestConcurrent checks that concurrent calls draw the same pictures as later ones.
func TestConcurrent(t *testing.T) {
	texts := []string{bytesOf(20), bytesOf(300), bytesOf(700), bytesOf(1500)}
	got := make([][]string, 8)
	var wg sync.WaitGroup
	for i := range got {
		got[i] = make([]string, len(texts))
		wg.Go(func() {
			for j := range texts {
				k := (i + j) % len(texts)
				got[i][k], _ = SVG(texts[k])
			}
		})
	}
	wg.Wait()
	for k, s := range texts {
		want, err := SVG(s)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i][k] != want {
				t.Fatalf("text %d has another picture", k)
			}
		}
	}
}

// TestText checks that the text has the modules of the picture.
func TestText(t *testing.T) {
	text, err := Text(link)
	if err != nil {
		t.Fatal(err)
	}
	picture, _ := draw(t, link)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != (len(picture)+1)/2 {
		t.Fatalf("%d lines for %d modules", len(lines), len(picture))
	}
	for y, row := range picture {
		line := []rune(lines[y/2])
		if len(line) != len(row) {
			t.Fatalf("line %d has %d characters", y/2, len(line))
		}
		for x, dark := range row {
			light := line[x] == '█' || line[x] == '▀' && y%2 == 0 || line[x] == '▄' && y%2 == 1
			if light == dark {
				t.Fatalf("the module at %d, %d is dark: %t, but the text has %q", x, y, dark, line[x])
			}
		}
	}
	if _, err := Text(strings.Repeat("x", 4000)); err == nil {
		t.Error("a text that does not fit is drawn")
	}
}
