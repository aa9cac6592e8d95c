// Package logo makes logos from uploaded pictures, and icons with them.
package logo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"time"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// The bounds of logos.
const (
	MaxBytes  = 10 << 20   // of an upload
	MaxSide   = 512        // of a logo, in pixels
	maxPixels = 40_000_000 // of an upload
	maxLength = 65_535     // of a side of an upload, in pixels; making a very long picture smaller takes much memory
	maxScans  = 100        // of a JPEG: each takes as long as the whole picture, and a few bytes
	timeLimit = 10 * time.Second
)

// The reasons why a picture is refused. Their texts are predicates.
var (
	ErrFormat = errors.New("must be a PNG, JPEG or WebP picture")
	ErrPixels = fmt.Errorf("must have at most %d million pixels, and sides of at most %d", maxPixels/1_000_000, maxLength)
	ErrScans  = fmt.Errorf("is a JPEG with more than %d scans: save it again in another program", maxScans)
	ErrTime   = errors.New("is too slow to read: try again, or save it as a PNG first")
)

// formats are the formats of uploads, by how their bytes begin. The package image is
// not asked, since a format that another package registers would be taken too.
var formats = []struct {
	begins func(b []byte) bool
	config func(r io.Reader) (image.Config, error)
	decode func(r io.Reader) (image.Image, error)
}{
	{func(b []byte) bool { return bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")) }, png.DecodeConfig, png.Decode},
	{func(b []byte) bool { return bytes.HasPrefix(b, []byte("\xff\xd8\xff")) }, jpeg.DecodeConfig, jpeg.Decode},
	{func(b []byte) bool { return len(b) > 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP" }, webp.DecodeConfig, webp.Decode},
}

// decoding holds the picture that is being decoded. There is one at a time: a progressive JPEG
// of maxPixels takes 600 MB.
var decoding = make(chan struct{}, 1)

// Make returns a picture as a PNG of at most MaxSide pixels in each direction, with its
// transparency and without whatever else the upload holds. The dimensions and the number of
// scans are checked before the picture is decoded. It waits while another picture is decoded, and
// ends when ctx does. The error is ErrFormat, ErrPixels, ErrScans, ErrTime or that of ctx.
func Make(ctx context.Context, upload []byte) (logo []byte, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, timeLimit, ErrTime)
	defer cancel()
	for _, f := range formats {
		if !f.begins(upload) {
			continue
		}
		c, err := f.config(&reader{limited, bytes.NewReader(upload)})
		switch {
		case err != nil || c.Width < 1 || c.Height < 1:
			return nil, cmp.Or(context.Cause(limited), ErrFormat)
		case c.Width > maxLength || c.Height > maxLength || c.Width*c.Height > maxPixels:
			return nil, ErrPixels
		case scans(upload) > maxScans:
			return nil, ErrScans
		}
		select {
		case decoding <- struct{}{}:
			defer func() { <-decoding }()
		case <-limited.Done():
			return nil, context.Cause(limited)
		}
		picture, err := f.decode(&reader{limited, bytes.NewReader(upload)})
		if ended := context.Cause(limited); ended != nil || err != nil {
			return nil, cmp.Or(ended, ErrFormat)
		}
		var b bytes.Buffer
		err = png.Encode(&b, Shrink(picture, MaxSide))
		return b.Bytes(), err
	}
	return nil, ErrFormat
}

// reader reads an upload until its context ends. Decoders cannot be interrupted otherwise, so it
// returns a few bytes at a time: those of about one scan.
type reader struct {
	ctx  context.Context
	from *bytes.Reader
}

func (r *reader) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.from.Read(b[:min(len(b), 64)])
}

// scans returns the number of scans of a JPEG, 0 for other formats. Like the decoder, it looks
// for the next marker after each segment, so it finds each scan that the decoder finds.
func scans(b []byte) (n int) {
	if !bytes.HasPrefix(b, []byte("\xff\xd8")) {
		return 0
	}
	for b = b[2:]; ; {
		i := bytes.IndexByte(b, 0xff)
		if i < 0 || i+1 >= len(b) {
			return n
		}
		marker := b[i+1]
		switch {
		case marker == 0xff: // a byte that fills up
			b = b[i+1:]
			continue
		case marker == 0xd9: // the end of the picture
			return n
		case marker == 0xda:
			n++
		}
		b = b[i+2:]
		if marker == 0 || marker >= 0xd0 && marker <= 0xd7 { // no segment follows
			continue
		}
		if len(b) < 2 {
			return n
		}
		b = b[min(len(b), max(2, int(binary.BigEndian.Uint16(b)))):]
	}
}

// Shrink returns a copy of a picture that is at most side pixels wide and high.
func Shrink(picture image.Image, side int) image.Image {
	size := picture.Bounds().Size()
	if longest := max(size.X, size.Y); longest > side {
		scale := func(n int) int { return max(1, int(math.Round(float64(n)*float64(side)/float64(longest)))) }
		size = image.Pt(scale(size.X), scale(size.Y))
	}
	copied := image.NewNRGBA(image.Rectangle{Max: size})
	kernel(picture.Bounds().Dx(), size.X).Scale(copied, copied.Bounds(), picture, picture.Bounds(), draw.Src, nil)
	return copied
}
