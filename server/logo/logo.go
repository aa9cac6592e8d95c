// Package logo makes logos from uploaded pictures, and icons with them.
package logo

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"sync"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// The bounds of logos.
const (
	MaxBytes  = 2 << 20    // of an upload
	MaxSide   = 512        // of a logo, in pixels
	maxPixels = 12_600_000 // of an upload; one with 4096 × 3072 has fewer
)

// The reasons why a picture is refused. Their texts are predicates.
var (
	ErrFormat = errors.New("must be a PNG, JPEG or WebP picture")
	ErrPixels = fmt.Errorf("must have at most %d million pixels", maxPixels/1_000_000)
)

// formats are the formats of uploads, by how their bytes begin. The package image is
// not asked, since a format that another package registers would be taken too.
var formats = []struct {
	begins func(b []byte) bool
	config func(b []byte) (image.Config, error)
	decode func(b []byte) (image.Image, error)
}{
	{
		func(b []byte) bool { return bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")) },
		func(b []byte) (image.Config, error) { return png.DecodeConfig(bytes.NewReader(b)) },
		func(b []byte) (image.Image, error) { return png.Decode(bytes.NewReader(b)) },
	},
	{
		func(b []byte) bool { return bytes.HasPrefix(b, []byte("\xff\xd8\xff")) },
		func(b []byte) (image.Config, error) { return jpeg.DecodeConfig(bytes.NewReader(b)) },
		func(b []byte) (image.Image, error) { return jpeg.Decode(bytes.NewReader(b)) },
	},
	{
		func(b []byte) bool { return len(b) > 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP" },
		func(b []byte) (image.Config, error) { return webp.DecodeConfig(bytes.NewReader(b)) },
		func(b []byte) (image.Image, error) { return webp.Decode(bytes.NewReader(b)) },
	},
}

// decoding lets one picture be decoded at a time: each may take 100 MB.
var decoding sync.Mutex

// Make returns a picture as a PNG of at most MaxSide pixels in each direction, with its
// transparency and without whatever else the upload holds. The dimensions are checked
// before the picture is decoded. The error is ErrFormat or ErrPixels.
func Make(upload []byte) (logo []byte, err error) {
	for _, f := range formats {
		if !f.begins(upload) {
			continue
		}
		c, err := f.config(upload)
		switch {
		case err != nil || c.Width < 1 || c.Height < 1:
			return nil, ErrFormat
		case c.Width > maxPixels || c.Height > maxPixels || c.Width*c.Height > maxPixels:
			return nil, ErrPixels
		}
		decoding.Lock()
		defer decoding.Unlock()
		picture, err := f.decode(upload)
		if err != nil {
			return nil, ErrFormat
		}
		var b bytes.Buffer
		err = png.Encode(&b, shrink(picture))
		return b.Bytes(), err
	}
	return nil, ErrFormat
}

// shrink returns a copy of a picture that is at most MaxSide pixels wide and high.
func shrink(picture image.Image) image.Image {
	size := picture.Bounds().Size()
	if most := max(size.X, size.Y); most > MaxSide {
		scale := func(n int) int { return max(1, int(math.Round(float64(n)*MaxSide/float64(most)))) }
		size = image.Pt(scale(size.X), scale(size.Y))
	}
	copied := image.NewNRGBA(image.Rectangle{Max: size})
	draw.CatmullRom.Scale(copied, copied.Bounds(), picture, picture.Bounds(), draw.Src, nil)
	return copied
}
