package logo

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"
)

// drawIcon returns an icon, and the colour of a pixel of it.
func drawIcon(t *testing.T, size int, logo []byte) (icon image.Image, at func(x, y int) color.NRGBA) {
	t.Helper()
	b, err := Icon(size, "#102030", "#FFFFFF", logo)
	if err != nil {
		t.Fatal(err)
	}
	if icon, err = png.Decode(bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	return icon, func(x, y int) color.NRGBA { return color.NRGBAModel.Convert(icon.At(x, y)).(color.NRGBA) }
}

// TestIcon checks the size and the colours of icons, with a logo and without.
func TestIcon(t *testing.T) {
	back, white, red := color.NRGBA{0x10, 0x20, 0x30, 255}, color.NRGBA{255, 255, 255, 255}, color.NRGBA{200, 0, 0, 255}
	for _, size := range []int{180, 192, 512} {
		icon, at := drawIcon(t, size, nil)
		if icon.Bounds() != image.Rect(0, 0, size, size) {
			t.Errorf("%d: %v", size, icon.Bounds())
		}
		if at(0, 0) != back || at(size-1, size-1) != back || at(size/2, size/4) != white || at(size*46/100, size*59/100) != back {
			t.Errorf("%d: %v %v %v", size, at(0, 0), at(size/2, size/4), at(size*46/100, size*59/100))
		}
	}
	picture := image.NewNRGBA(image.Rect(0, 0, 40, 10))
	for x := range 20 {
		for y := range 10 {
			picture.SetNRGBA(x, y, red)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	_, at := drawIcon(t, 200, b.Bytes())
	if at(60, 100) != red || at(140, 100) != back || at(60, 60) != back || at(20, 100) != back {
		t.Errorf("%v %v %v %v", at(60, 100), at(140, 100), at(60, 60), at(20, 100))
	}
	if _, err := Icon(180, "#102030", "#FFFFFF", []byte("no picture")); err == nil {
		t.Error("a logo that is no picture is drawn")
	}
}

// TestWithPalette checks that a picture of at most 256 colours stays as it is, that colours of one with more become similar
// ones, and that a picture of very many or very different colours gets no palette.
func TestWithPalette(t *testing.T) {
	for _, test := range []struct {
		colours, step, difference int
		palette                   bool
	}{{1, 8, 0, true}, {256, 8, 0, true}, {257, 8, 8, true}, {1024, 8, 0, false}, {1024, 1, 24, true}, {1025, 1, 0, false}} {
		m := image.NewRGBA(image.Rect(0, 0, 60, 60))
		for i := range 60 * 60 {
			n := i % test.colours
			m.SetRGBA(i%60, i/60, color.RGBA{uint8(n % 32 * test.step), uint8(n / 32 * test.step), 7, 255})
		}
		got := WithPalette(m)
		if _, ok := got.(*image.Paletted); ok != test.palette {
			t.Errorf("%d colours: got a %T", test.colours, got)
		}
		largest := 0
		for i := range 60 * 60 {
			a, b := m.RGBAAt(i%60, i/60), color.RGBAModel.Convert(got.At(i%60, i/60)).(color.RGBA)
			for _, d := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
				largest = max(largest, d, -d)
			}
		}
		if largest > test.difference {
			t.Errorf("%d colours: a colour differs by %d, more than %d", test.colours, largest, test.difference)
		}
	}
}
