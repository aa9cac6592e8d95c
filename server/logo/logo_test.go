package logo

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"
)

// picture returns a picture whose left half is transparent and whose right half is red.
func picture(width, height int) image.Image {
	p := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := width / 2; x < width; x++ {
			p.SetNRGBA(x, y, color.NRGBA{R: 255, A: 255})
		}
	}
	return p
}

// encoded returns what encode writes.
func encoded(t *testing.T, encode func(b *bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pngOf(t *testing.T, p image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, p) })
}

// webpPixel is a lossless WebP of one opaque pixel.
const webpPixel = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

// TestMake checks the size of logos of each format, and the pixels of one that is made smaller.
func TestMake(t *testing.T) {
	pixel, err := base64.StdEncoding.DecodeString(webpPixel)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		upload []byte
		want   image.Point
	}{
		"small":     {pngOf(t, picture(40, 20)), image.Pt(40, 20)},
		"large":     {pngOf(t, picture(2048, 1024)), image.Pt(512, 256)},
		"narrow":    {pngOf(t, picture(4, 3000)), image.Pt(1, 512)},
		"jpeg":      {encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, picture(600, 600), nil) }), image.Pt(512, 512)},
		"webp":      {pixel, image.Pt(1, 1)},
		"an offset": {pngOf(t, picture(100, 100).(*image.NRGBA).SubImage(image.Rect(50, 0, 100, 100))), image.Pt(50, 100)},
	} {
		made, err := Make(c.upload)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := png.Decode(bytes.NewReader(made))
		if err != nil || p.Bounds().Size() != c.want || p.Bounds().Min != (image.Point{}) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
		if name == "large" {
			_, _, _, left := p.At(10, 10).RGBA()
			red, _, _, right := p.At(500, 10).RGBA()
			if left != 0 || red != 0xffff || right != 0xffff {
				t.Errorf("the left has alpha %d, the right %d", left, right)
			}
		}
	}
}

// withChunk inserts a chunk after the header of a PNG.
func withChunk(file []byte, kind string, data []byte) []byte {
	const header = 8 + 25
	var chunk []byte
	chunk = binary.BigEndian.AppendUint32(chunk, uint32(len(data)))
	chunk = append(append(chunk, kind...), data...)
	chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
	return append(append(append([]byte{}, file[:header]...), chunk...), file[header:]...)
}

// TestMakeDropsMetadata checks that a text in the upload is not in the logo.
func TestMakeDropsMetadata(t *testing.T) {
	upload := withChunk(pngOf(t, picture(10, 10)), "tEXt", []byte("Author\x00Ada Lovelace"))
	made, err := Make(upload)
	if err != nil || bytes.Contains(made, []byte("Ada")) || !bytes.Contains(upload, []byte("Ada")) {
		t.Errorf("%q, %v", made, err)
	}
}

// TestMakeRefuses checks that other files are refused, and that a file with a header of too many
// pixels, a bomb, is refused before it is decoded.
func TestMakeRefuses(t *testing.T) {
	good := pngOf(t, picture(10, 10))
	bomb := append([]byte{}, good...)
	binary.BigEndian.PutUint32(bomb[16:], 50_000)
	binary.BigEndian.PutUint32(bomb[20:], 50_000)
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	for name, c := range map[string]struct {
		upload []byte
		want   error
	}{
		"nothing": {nil, ErrFormat}, "text": {[]byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), ErrFormat},
		"gif":       {encoded(t, func(b *bytes.Buffer) error { return gif.Encode(b, picture(4, 4), nil) }), ErrFormat},
		"cut":       {good[:len(good)/2], ErrFormat},
		"cut early": {good[:10], ErrFormat},
		"bomb":      {bomb, ErrPixels},
	} {
		if made, err := Make(c.upload); err != c.want {
			t.Errorf("%s: %d bytes, %v, want %v", name, len(made), err, c.want)
		}
	}
	if n := testing.AllocsPerRun(1, func() { Make(bomb) }); n > 100 {
		t.Errorf("a bomb takes %v allocations", n)
	}
}

// FuzzMake checks that no upload makes Make panic, and that each logo is a PNG that is small enough.
func FuzzMake(f *testing.F) {
	f.Add([]byte("RIFF____WEBPVP8L"))
	f.Add([]byte("\xff\xd8\xff"))
	f.Fuzz(func(t *testing.T, upload []byte) {
		if made, err := Make(upload); err == nil {
			if c, err := png.DecodeConfig(bytes.NewReader(made)); err != nil || c.Width > MaxSide || c.Height > MaxSide {
				t.Errorf("%+v, %v", c, err)
			}
		}
	})
}
