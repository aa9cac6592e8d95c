package logo

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"

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
	draw.Draw(icon, icon.Bounds(), image.NewUniform(ParseColour(background)), image.Point{}, draw.Src)
	if len(logo) == 0 {
		r := float32(size) * circlePart
		DrawDisc(icon, r, ParseColour(mark))
		DrawCheck(icon, r, ParseColour(background))
	} else {
		picture, err := png.Decode(bytes.NewReader(logo))
		if err != nil {
			return nil, err
		}
		DrawLogo(icon, picture, logoPart)
	}
	return Encode(icon)
}

// Encode returns a picture as PNG.
func Encode(picture image.Image) ([]byte, error) {
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, picture)
	return b.Bytes(), err
}

// Limits of WithPalette.
const (
	maxColours    = 1024 // of the picture
	maxDifference = 24   // of a colour from the nearest one of the palette, in red, green or blue
)

// WithPalette returns a copy of an opaque picture with a palette of its 256 most frequent colours. Others, shades at the
// edges of shapes, become the nearest of these. A picture of too many or too different colours is returned as it is. With a
// palette, a PNG is half as large and made in half the time.
func WithPalette(m *image.RGBA) image.Image {
	type run struct {
		colour color.RGBA
		length int
	}
	var runs []run
	counts := map[color.RGBA]int{}
	for pixels := m.Pix; len(pixels) > 0; {
		first, n := [4]byte(pixels), 1
		for 4*n < len(pixels) && [4]byte(pixels[4*n:]) == first {
			n++
		}
		c := color.RGBA{first[0], first[1], first[2], first[3]}
		runs = append(runs, run{c, n})
		if counts[c] += n; len(counts) > maxColours {
			return m
		}
		pixels = pixels[4*n:]
	}
	frequent := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	few := image.NewPaletted(m.Rect, nil)
	index := map[color.RGBA]uint8{}
	for i, c := range frequent {
		if i < 256 {
			few.Palette = append(few.Palette, c)
		}
		index[c] = uint8(few.Palette.Index(c))
		near := few.Palette[index[c]].(color.RGBA)
		for _, d := range []int{int(c.R) - int(near.R), int(c.G) - int(near.G), int(c.B) - int(near.B)} {
			if max(d, -d) > maxDifference {
				return m
			}
		}
	}
	pixels := few.Pix
	for _, r := range runs {
		colour := index[r.colour]
		for i := range r.length {
			pixels[i] = colour
		}
		pixels = pixels[r.length:]
	}
	return few
}

// ParseColour returns a colour of the form #RRGGBB.
func ParseColour(hex string) color.NRGBA {
	c := color.NRGBA{A: 255}
	fmt.Sscanf(hex, "#%02x%02x%02x", &c.R, &c.G, &c.B)
	return c
}

// DrawLogo draws a logo in the middle of a picture, as large as fits into a part of its width and height.
func DrawLogo(picture draw.Image, logo image.Image, part float64) {
	box, size := picture.Bounds().Size(), logo.Bounds().Size()
	scale := part * min(float64(box.X)/float64(max(size.X, 1)), float64(box.Y)/float64(max(size.Y, 1)))
	w, h := max(1, int(float64(size.X)*scale)), max(1, int(float64(size.Y)*scale))
	at := image.Pt((box.X-w)/2, (box.Y-h)/2)
	kernel(size.X, w).Scale(picture, image.Rectangle{at, at.Add(image.Pt(w, h))}, logo, logo.Bounds(), draw.Over, nil)
}

// kernel returns the method that scales a picture from one width to another: for a much smaller one, a method that is as good
// in half the time.
func kernel(from, to int) *draw.Kernel {
	if from > 2*to {
		return draw.BiLinear
	}
	return draw.CatmullRom
}

// DrawDisc draws a disc of radius r in the middle of a picture.
func DrawDisc(picture draw.Image, r float32, c color.Color) {
	const k = 0.5523 // control points of a quarter of a circle
	fill(picture, c, func(z *vector.Rasterizer, x, y float32) {
		z.MoveTo(x+r, y)
		z.CubeTo(x+r, y+k*r, x+k*r, y+r, x, y+r)
		z.CubeTo(x-k*r, y+r, x-r, y+k*r, x-r, y)
		z.CubeTo(x-r, y-k*r, x-k*r, y-r, x, y-r)
		z.CubeTo(x+k*r, y-r, x+r, y-k*r, x+r, y)
	})
}

// DrawCheck draws the check mark of a disc of radius r.
func DrawCheck(picture draw.Image, r float32, c color.Color) {
	DrawShape(picture, r, c, [][2]float32{{-.52, .03}, {-.38, -.11}, {-.14, .13}, {.38, -.39}, {.52, -.25}, {-.14, .41}})
}

// DrawShape draws the shape with an outline in units of r from the middle of a picture.
func DrawShape(picture draw.Image, r float32, c color.Color, outline [][2]float32) {
	fill(picture, c, func(z *vector.Rasterizer, x, y float32) {
		z.MoveTo(x+outline[0][0]*r, y+outline[0][1]*r)
		for _, p := range outline[1:] {
			z.LineTo(x+p[0]*r, y+p[1]*r)
		}
	})
}

// fill draws a shape, whose outline is drawn about the middle x, y of a picture.
func fill(picture draw.Image, c color.Color, outline func(z *vector.Rasterizer, x, y float32)) {
	size := picture.Bounds().Size()
	z := vector.NewRasterizer(size.X, size.Y)
	outline(z, float32(size.X)/2, float32(size.Y)/2)
	z.ClosePath()
	z.Draw(picture, picture.Bounds(), image.NewUniform(c), image.Point{})
}
