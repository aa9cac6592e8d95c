package logo

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
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
		made, err := Make(t.Context(), c.upload)
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
	made, err := Make(t.Context(), upload)
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
		"long":      {pngOf(t, picture(1, maxLength+1)), ErrPixels},
		"scans":     {withScans(t, 101), ErrScans},
		"many":      {withScans(t, 20_000), ErrScans},
	} {
		if made, err := Make(t.Context(), c.upload); err != c.want {
			t.Errorf("%s: %d bytes, %v, want %v", name, len(made), err, c.want)
		}
	}
	if n := testing.AllocsPerRun(1, func() { Make(t.Context(), bomb) }); n > 100 {
		t.Errorf("a bomb takes %v allocations", n)
	}
}

// progressive is the beginning of a progressive JPEG of 1500 x 1500 gray pixels: its frame, and the
// code of one symbol, which ends the blocks of a scan.
const progressive = "\xff\xd8\xff\xc2\x00\x0b\x08\x05\xdc\x05\xdc\x01\x01\x11\x00" +
	"\xff\xc4\x00\x14\x10\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe0" +
	"\xff\xdb\x00\x43\x00"

// withScans returns a JPEG with a number of scans, of which each has only ends of 32640 blocks,
// so that a few bytes take as long as all of its pixels.
func withScans(t *testing.T, n int) []byte {
	b := append([]byte(progressive), bytes.Repeat([]byte{1}, 64)...)
	scan := append([]byte("\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x00"), bytes.Repeat([]byte{0x3f, 0x7f}, 2)...)
	for range n {
		b = append(b, scan...)
	}
	return append(b, 0xff, 0xd9)
}

// TestScans counts the scans of pictures that encoders make, and of one whose segments look like
// scans.
func TestScans(t *testing.T) {
	photo := encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, picture(600, 600), nil) })
	comment := append([]byte("\xff\xd8\xff\xfe\x00\x06\xff\xda\xff\xda\xff"), photo[2:]...)
	for name, c := range map[string]struct {
		b    []byte
		want int
	}{"photo": {photo, 1}, "comment": {comment, 1}, "cut": {photo[:20], 0}, "made": {withScans(t, 7), 7},
		"png": {pngOf(t, picture(1, 1)), 0}} {
		if n := scans(c.b); n != c.want {
			t.Errorf("%s: %d scans, want %d", name, n, c.want)
		}
	}
}

// TestMakeEnds checks that reading a picture ends with the request, also while it waits for
// another one, and in the middle of a JPEG whose scans take long.
func TestMakeEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	decoding <- struct{}{}
	done := make(chan error)
	go func() { _, err := Make(ctx, withScans(t, maxScans)); done <- err }()
	cancel()
	if err := <-done; err != context.Canceled {
		t.Errorf("while it waits: %v", err)
	}
	<-decoding
	// The context ends once a part of the picture was read.
	ctx, cancel = context.WithCancel(t.Context())
	upload := bytes.NewReader(withScans(t, maxScans))
	_, err := jpeg.Decode(&reader{ctx, upload})
	if err != nil {
		t.Fatalf("the picture cannot be read at all: %v", err)
	}
	upload.Seek(0, io.SeekStart)
	size := upload.Len()
	r := &reader{ctx, upload}
	_, err = jpeg.Decode(readerFunc(func(b []byte) (int, error) {
		if upload.Len() < size/2 {
			cancel()
		}
		return r.Read(b)
	}))
	if err != context.Canceled || upload.Len() < size/2-64 {
		t.Errorf("%v with %d of %d bytes left", err, upload.Len(), size)
	}
}

// readerFunc is a reader that is a function.
type readerFunc func(b []byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// FuzzMake checks that no upload makes Make panic, and that each logo is a PNG that is small enough.
func FuzzMake(f *testing.F) {
	f.Add([]byte("RIFF____WEBPVP8L"))
	f.Add([]byte("\xff\xd8\xff"))
	f.Fuzz(func(t *testing.T, upload []byte) {
		if made, err := Make(t.Context(), upload); err == nil {
			if c, err := png.DecodeConfig(bytes.NewReader(made)); err != nil || c.Width > MaxSide || c.Height > MaxSide {
				t.Errorf("%+v, %v", c, err)
			}
		}
	})
}
