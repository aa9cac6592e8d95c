package logo

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"golang.org/x/image/draw"
	"golang.org/x/image/vector"
)

// The parts of an icon's side. What is outside the circle of 80 % may be cut off by the
// system that shows the icon.
const (
	logoPart   = 0.56 // side of the square with the logo
	circlePart = 0.3  // radius of the stamp, if there is no logo
)

// Icon returns an icon of size pixels as PNG: on a background, the logo or, if logo is
// empty, a stamp in the colour mark. The colours are in the form #RRGGBB.
func Icon(size int, background, mark string, logo []byte) ([]byte, error) {
	icon := image.NewNRGBA(image.Rect(0, 0, size, size))
	draw.Draw(icon, icon.Bounds(), image.NewUniform(parseColour(background)), image.Point{}, draw.Src)
	if len(logo) == 0 {
		drawStamp(icon, parseColour(mark), parseColour(background))
	} else {
		picture, err := png.Decode(bytes.NewReader(logo))
		if err != nil {
			return nil, err
		}
		drawLogo(icon, picture)
	}
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, icon)
	return b.Bytes(), err
}

func parseColour(hex string) color.NRGBA {
	c := color.NRGBA{A: 255}
	fmt.Sscanf(hex, "#%02x%02x%02x", &c.R, &c.G, &c.B)
	return c
}

// drawLogo draws a picture in the middle of an icon.
func drawLogo(icon *image.NRGBA, picture image.Image) {
	side := float64(icon.Bounds().Dx())
	size := picture.Bounds().Size()
	scale := side * logoPart / float64(max(size.X, size.Y, 1))
	w, h := max(1, int(float64(size.X)*scale)), max(1, int(float64(size.Y)*scale))
	at := image.Pt((int(side)-w)/2, (int(side)-h)/2)
	draw.CatmullRom.Scale(icon, image.Rectangle{at, at.Add(image.Pt(w, h))}, picture, picture.Bounds(), draw.Over, nil)
}

// drawStamp draws a disc with a check mark in the middle of an icon.
func drawStamp(icon *image.NRGBA, disc, check color.Color) {
	side := float32(icon.Bounds().Dx())
	middle, r := side/2, side*circlePart
	k := r * 0.5523 // control points of a quarter of a circle
	z := vector.NewRasterizer(icon.Bounds().Dx(), icon.Bounds().Dy())
	z.MoveTo(middle+r, middle)
	z.CubeTo(middle+r, middle+k, middle+k, middle+r, middle, middle+r)
	z.CubeTo(middle-k, middle+r, middle-r, middle+k, middle-r, middle)
	z.CubeTo(middle-r, middle-k, middle-k, middle-r, middle, middle-r)
	z.CubeTo(middle+k, middle-r, middle+r, middle-k, middle+r, middle)
	z.ClosePath()
	z.Draw(icon, icon.Bounds(), image.NewUniform(disc), image.Point{})
	z.Reset(icon.Bounds().Dx(), icon.Bounds().Dy())
	// The outline of the mark, in radii from the middle.
	for i, p := range [][2]float32{{-.52, .03}, {-.38, -.11}, {-.14, .13}, {.38, -.39}, {.52, -.25}, {-.14, .41}} {
		if x, y := middle+p[0]*r, middle+p[1]*r; i == 0 {
			z.MoveTo(x, y)
		} else {
			z.LineTo(x, y)
		}
	}
	z.ClosePath()
	z.Draw(icon, icon.Bounds(), image.NewUniform(check), image.Point{})
}
