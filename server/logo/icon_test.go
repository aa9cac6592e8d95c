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
