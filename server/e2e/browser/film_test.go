//go:build browser

package browser

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
	"rsc.io/qr"

	"punchcard/server/servertest/require"
)

// frames is the size of the pictures that the camera of a test makes.
var frames = image.Rect(0, 0, 1280, 720)

// framesPerSecond is how many pictures of a film Chromium shows in a second.
const framesPerSecond = 30

// A photo is a picture with a code.
type photo struct {
	size  image.Rectangle
	text  string  // of the QR code
	bars  string  // of the barcode, where there is no text; empty: there is no code
	side  int     // of the code, in pixels: how wide it is
	angle float64 // by which the code is turned, in degrees
}

// grey is what photos show around a code.
var grey = color.RGBA{0x8a, 0x84, 0x7c, 0xff}

// draw draws a photo: the code in the middle, on grey.
func (p photo) draw(t testing.TB) *image.RGBA {
	t.Helper()
	out := image.NewRGBA(p.size)
	draw.Draw(out, out.Bounds(), image.NewUniform(grey), image.Point{}, draw.Src)
	code := drawBars(p.bars)
	if p.text != "" {
		code = drawCode(t, p.text)
	} else if p.bars == "" {
		return out
	}
	scale := float64(p.side) / float64(code.Bounds().Dx())
	sin, cos := math.Sincos(p.angle * math.Pi / 180)
	sin, cos = sin*scale, cos*scale
	halfX, halfY := float64(code.Bounds().Dx())/2, float64(code.Bounds().Dy())/2
	x, y := float64(p.size.Dx())/2, float64(p.size.Dy())/2
	draw.BiLinear.Transform(out, f64.Aff3{
		cos, -sin, x - cos*halfX + sin*halfY, sin, cos, y - sin*halfX - cos*halfY,
	}, code, code.Bounds(), draw.Src, nil)
	return out
}

// drawCode draws a QR code with its quiet zone, eight pixels for each module.
func drawCode(t testing.TB, text string) *image.RGBA {
	t.Helper()
	const module, margin = 8, 4
	code := require.Must(qr.Encode(text, qr.M))
	side := (code.Size + 2*margin) * module
	out := image.NewRGBA(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			c := color.White
			if code.Black(x/module-margin, y/module-margin) {
				c = color.Black
			}
			out.Set(x, y, c)
		}
	}
	return out
}

// frame returns a picture of the camera's size that shows a screenshot in its middle, as high as
// the picture.
func frame(t testing.TB, screenshot []byte) image.Image {
	t.Helper()
	picture := require.Must(png.Decode(bytes.NewReader(screenshot)))
	out := photo{size: frames}.draw(t)
	width := picture.Bounds().Dx() * frames.Dy() / picture.Bounds().Dy()
	draw.CatmullRom.Scale(out, image.Rect(0, 0, width, frames.Dy()).Add(image.Pt((frames.Dx()-width)/2, 0)), picture, picture.Bounds(),
		draw.Src, nil)
	return out
}

// writeFilm writes a file for View.Camera, in which each of the pictures is seen for a time
// in seconds. It returns its path. The camera shows it again and again.
func writeFilm(t testing.TB, seconds float64, pictures ...image.Image) string {
	t.Helper()
	var film bytes.Buffer
	for _, picture := range pictures {
		one := encodeJPEG(t, picture)
		for range int(math.Round(seconds * framesPerSecond)) {
			film.Write(one)
		}
	}
	return writeFile(t, "film.mjpeg", film.Bytes())
}

func encodeJPEG(t testing.TB, picture image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	noError(t, jpeg.Encode(&b, picture, &jpeg.Options{Quality: 80}))
	return b.Bytes()
}

// writeFile writes a file in a folder of its own and returns its path.
func writeFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	noError(t, os.WriteFile(path, content, 0o600))
	return path
}

// filmOf writes a film of codes, one after the other, each for a time in seconds.
func filmOf(t testing.TB, seconds float64, codes ...string) string {
	t.Helper()
	var pictures []image.Image
	for _, code := range codes {
		pictures = append(pictures, photo{size: frames, text: code, side: 480}.draw(t))
	}
	return writeFilm(t, seconds, pictures...)
}
