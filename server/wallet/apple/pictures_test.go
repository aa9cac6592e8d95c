package apple

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"slices"
	"sync"
	"testing"

	"punchcard/server/logo"
	"punchcard/server/servertest/require"
)

// warm is the look of a card with prizes.
var warm = Look{
	Brand: "#C2410C", OnBrand: "#FFFFFF", Background: "#FFF7ED", Ink: "#111111",
	Stamps: 3, Total: 10, Prizes: []int64{5, 10},
}

// readLogo returns a logo of 512 pixels as it is stored.
var readLogo = sync.OnceValues(func() ([]byte, error) {
	upload, err := os.ReadFile("../../tillpage/assets/icon_large.png")
	if err != nil {
		return nil, err
	}
	return logo.Make(context.Background(), upload)
})

// TestPictures checks the sizes of all pictures, and what the strips show.
func TestPictures(t *testing.T) {
	for _, c := range []struct {
		stamps, total int64
		at            image.Point // in the strip, in points
		colour        string      // there
	}{
		{3, 10, image.Pt(50, 42), "#C2410C"},   // the first stamp is there
		{3, 10, image.Pt(290, 102), "#F1E9E0"}, // the last is not
		{10, 10, image.Pt(290, 102), "#C2410C"},
		{11, 10, image.Pt(290, 102), "#C2410C"},
		{1, 1, image.Pt(187, 105), "#C2410C"},
		{25, 30, image.Pt(2, 2), "#FFF7ED"},
		{499, 1000, image.Pt(185, 72), "#C2410C"}, // a bar
		{499, 1000, image.Pt(190, 72), "#F1E9E0"},
		{0, 1000, image.Pt(30, 72), "#F1E9E0"},
		{1100, 1000, image.Pt(358, 72), "#FFF7ED"}, // it does not reach beyond its end
		{10, 10, image.Pt(307, 97), "#FFFFFF"},     // the star of a prize
		{0, 0, image.Pt(10, 10), "#F8E1D2"},        // the band of a card without stamps
	} {
		l := warm
		l.Stamps, l.Total, l.Band = c.stamps, c.total, true
		pictures := require.Must(new(Cache).Pictures(l, nil))
		for ending, scale := range scales {
			for name, size := range map[string]image.Point{"icon": {29, 29}, "logo": {50, 50}, "strip": {375, 144}} {
				m, err := png.Decode(bytes.NewReader(pictures[name+ending]))
				if err != nil {
					t.Fatal(name, ending, err)
				}
				if m.Bounds().Size() != size.Mul(scale) {
					t.Errorf("%s%s has %s pixels", name, ending, m.Bounds().Size())
				}
				if name != "strip" {
					continue
				}
				got := m.At(c.at.X*scale, c.at.Y*scale)
				r, g, b, _ := got.RGBA()
				if hex := fmt.Sprintf("#%02X%02X%02X", r>>8, g>>8, b>>8); hex != c.colour {
					t.Errorf("%d of %d: at %s of strip%s is %s, not %s", c.stamps, c.total, c.at, ending, hex, c.colour)
				}
			}
		}
		if len(pictures) != 9 {
			t.Errorf("there are %d pictures", len(pictures))
		}
	}
}

// TestPicturesWithLogo checks that a logo is on the stamps, keeps its shape, and stands out from a stamp of its colour.
func TestPicturesWithLogo(t *testing.T) {
	wide := image.NewNRGBA(image.Rect(0, 0, 400, 100))
	for i := range wide.Pix {
		wide.Pix[i] = []uint8{0xC2, 0x41, 0x0C, 0xFF}[i%4]
	}
	var b bytes.Buffer
	png.Encode(&b, wide)
	l := warm
	l.LogoHash = "wide"
	pictures := require.Must(new(Cache).Pictures(l, func() ([]byte, error) { return b.Bytes(), nil }))
	m, _ := png.Decode(bytes.NewReader(pictures["logo@2x.png"]))
	if m.Bounds().Size() != image.Pt(320, 100) {
		t.Errorf("the logo has %s pixels", m.Bounds().Size())
	}
	strip, _ := png.Decode(bytes.NewReader(pictures["strip.png"]))
	if got := strip.At(67, 30); got != (color.RGBA{255, 255, 255, 255}) {
		t.Errorf("above the logo of a stamp is %v", got)
	}
	for _, bad := range []func() ([]byte, error){
		func() ([]byte, error) { return nil, os.ErrClosed },
		func() ([]byte, error) { return []byte("no PNG"), nil },
	} {
		if _, err := new(Cache).Pictures(l, bad); err == nil {
			t.Error("a logo that cannot be read is no error")
		}
	}
}

// TestStripWithoutContrast checks that stamps in the colour of the pass are drawn in that of its text.
func TestStripWithoutContrast(t *testing.T) {
	l := warm
	l.Brand = l.Background
	pictures := require.Must(new(Cache).Pictures(l, nil))
	strip, _ := png.Decode(bytes.NewReader(pictures["strip.png"]))
	if got := strip.At(50, 42); got != (color.RGBA{17, 17, 17, 255}) {
		t.Errorf("a stamp is %v", got)
	}
}

// TestArrange checks that the stamps of all numbers fit, in rows that differ by at most one.
func TestArrange(t *testing.T) {
	for total := 1; total <= maxDrawn; total++ {
		cell, rows := arrange(total)
		sum := 0
		for _, n := range rows {
			sum += n
		}
		if sum != total || slices.Max(rows)-slices.Min(rows) > 1 || !slices.IsSortedFunc(rows, func(a, b int) int { return b - a }) {
			t.Errorf("%d stamps in rows of %v", total, rows)
		}
		if float64(rows[0])*cell > stripWidth-2*marginX || float64(len(rows))*cell > stripHeight-2*marginY || cell < 20 {
			t.Errorf("%d stamps of %.1f points do not fit in rows of %v", total, cell, rows)
		}
	}
}

// TestCache checks that pictures are drawn once, that every part of a look counts, and that the cache is bounded.
func TestCache(t *testing.T) {
	reads := 0
	read := func() ([]byte, error) { reads++; return readLogo() }
	var c Cache
	look := warm
	look.LogoHash = "1"
	first, _ := c.Pictures(look, read)
	other := look
	other.Stamps = 4
	second, _ := c.Pictures(other, read)
	again, _ := c.Pictures(look, read)
	if reads != 2 { // for the marks, and for all strips
		t.Errorf("the logo was read %d times", reads)
	}
	if &first["strip.png"][0] != &again["strip.png"][0] || &first["icon.png"][0] != &second["icon.png"][0] {
		t.Error("a picture was drawn twice")
	}
	if bytes.Equal(first["strip.png"], second["strip.png"]) {
		t.Error("another count has the same strip")
	}
	other = look
	other.LogoHash = "2"
	c.Pictures(other, read)
	if reads != 4 {
		t.Error("another logo has the same pictures")
	}
	other.Total = 0
	if without, _ := c.Pictures(other, read); len(without) != 6 || reads != 4 {
		t.Errorf("without a strip there are %d pictures, and the logo was read %d times", len(without), reads)
	}
	c.size = maxCached + 1
	other.Stamps, other.Total = 5, 10
	if c.Pictures(other, read); len(c.kept) != 1 {
		t.Errorf("the cache holds %d looks", len(c.kept))
	}
}

// BenchmarkStrip draws the strip of a card at all three scales.
func BenchmarkStrip(b *testing.B) {
	withLogo := warm
	withLogo.LogoHash = "1"
	many := warm
	many.Stamps, many.Total = 31, 60
	for name, l := range map[string]Look{"stamps": warm, "logo": withLogo, "many": many} {
		b.Run(name, func(b *testing.B) {
			var c Cache
			for i := 0; b.Loop(); i++ {
				l.Ink = fmt.Sprintf("#%06X", i) // so that the strip is not in the cache
				small := func() ([]byte, error) { return c.smallLogo(l.LogoHash, readLogo) }
				require.Must(c.get(l, small, (*painter).strips))
			}
		})
	}
}
