package wallettest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"sync"

	"golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"rsc.io/qr"
)

// The sizes of a drawn pass in pixels, two of which are a point.
const (
	passWidth  = 750
	passHeight = 980
	passEdge   = 30
	passHead   = 132
)

// regular is the font Go Regular, reduced to Latin, Greek and Cyrillic letters without hints, which takes a third of the bytes:
//
//	pyftsubset Go-Regular.ttf --unicodes=U+20-7E,U+A0-17F,U+370-45F,U+2010-2026,U+20AC --no-hinting --notdef-outline
//		--drop-tables+=DSIG,GDEF,GPOS,GSUB,kern --name-IDs=0,13 --output-file=go-regular.ttf && gzip -9n go-regular.ttf
//
// Its license is in the file and in font/gofont/ttfs/README of golang.org/x/image.
//
//go:embed go-regular.ttf.gz
var regular []byte

// loadFont reads regular when the first pass is drawn.
var loadFont = sync.OnceValues(func() (*opentype.Font, error) {
	r, err := gzip.NewReader(bytes.NewReader(regular))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return opentype.Parse(raw)
})

func decodePNG(b []byte) (image.Image, error) { return png.Decode(bytes.NewReader(b)) }

// Strip returns the strip picture of the largest scale; nil if there is none.
func (p *Pass) Strip() []byte { return p.largest("strip") }

func (p *Pass) largest(kind string) []byte {
	for _, scale := range []string{"@3x", "@2x", ""} {
		if b := p.files[kind+scale+".png"]; b != nil {
			return b
		}
	}
	return nil
}

// drawing is a drawing of a pass.
type drawing struct {
	*image.RGBA
	font                 *opentype.Font
	label, text, surface color.Color
}

// Picture draws the front of a pass in a language, as PNG.
func (p *Pass) Picture(language string) ([]byte, error) {
	f, err := loadFont()
	if err != nil {
		return nil, err
	}
	colour := func(s, otherwise string) color.Color {
		rgb, _ := parseRGB(cmp.Or(s, otherwise))
		return color.RGBA{rgb[0], rgb[1], rgb[2], 255}
	}
	c := &p.content
	d := &drawing{
		RGBA:    image.NewRGBA(image.Rect(0, 0, passWidth, passHeight)),
		font:    f,
		surface: colour(c.BackgroundColor, "rgb(60, 65, 76)"),
		text:    colour(c.ForegroundColor, "rgb(255, 255, 255)"),
		label:   colour(cmp.Or(c.LabelColor, c.ForegroundColor), "rgb(255, 255, 255)"),
	}
	draw.Draw(d, d.Bounds(), image.NewUniform(d.surface), image.Point{}, draw.Src)
	places := map[string][]PassField{}
	for _, field := range p.Fields(language) {
		places[field.Place] = append(places[field.Place], field)
	}
	d.head(p, places["header"], language)
	y := passHead
	if strip, err := decodePNG(p.Strip()); err == nil {
		h := strip.Bounds().Dy() * passWidth / strip.Bounds().Dx()
		draw.CatmullRom.Scale(d, image.Rect(0, y, passWidth, y+h), strip, strip.Bounds(), draw.Over, nil)
		d.row(places["primary"], y+20, 96, 32)
		y += h + 20
	} else if len(places["primary"]) > 0 {
		d.row(places["primary"], y+10, 84, 26)
		y += 150
	}
	for _, place := range []string{"secondary", "auxiliary"} {
		if len(places[place]) > 0 {
			d.row(places[place], y, 40, 22)
			y += 96
		}
	}
	if len(c.Barcodes) > 0 {
		if err := d.code(c.Barcodes[0]); err != nil {
			return nil, err
		}
	}
	if p.Voided {
		d.void()
	}
	d.round()
	var b bytes.Buffer
	err = png.Encode(&b, d.RGBA)
	return b.Bytes(), err
}

// head draws the logo, its text and the header fields.
func (d *drawing) head(p *Pass, fields []PassField, language string) {
	x := passEdge
	if logo, err := decodePNG(p.largest("logo")); err == nil {
		size := logo.Bounds().Size()
		h := 100
		w := size.X * h / size.Y
		draw.CatmullRom.Scale(d, image.Rect(x-10, 16, x-10+w, 16+h), logo, logo.Bounds(), draw.Over, nil)
		x += w
	}
	right := passWidth - passEdge
	for i := len(fields) - 1; i >= 0; i-- {
		f := fields[i]
		label := strings.ToUpper(f.Label)
		labelWidth, valueWidth := d.width(label, 22), d.width(f.Value, 44)
		d.write(label, right-labelWidth, 52, right, 22, d.label)
		d.write(f.Value, right-valueWidth, 98, right, 44, d.text)
		right -= max(labelWidth, valueWidth) + 30
	}
	d.write(p.Text(p.content.LogoText, language), x, 78, right-10, 36, d.text)
}

// row draws fields side by side, with the label above the value. A value that is too long is made smaller.
func (d *drawing) row(fields []PassField, y, size, labelSize int) {
	width := (passWidth - 2*passEdge) / max(1, len(fields))
	for i, f := range fields {
		label, value := strings.ToUpper(f.Label), size
		for value > size*6/10 && d.width(f.Value, value) > width-16 {
			value--
		}
		x := passEdge + i*width
		end := x + width
		at := func(s string, size int) int {
			if i > 0 && i == len(fields)-1 {
				return max(x, end-d.width(s, size))
			}
			return x
		}
		d.write(label, at(label, labelSize), y+labelSize, end, labelSize, d.label)
		d.write(f.Value, at(f.Value, value), y+labelSize+size, end, value, d.text)
	}
}

// code draws the code, with the text beneath.
func (d *drawing) code(b passBarcode) error {
	code, err := qr.Encode(b.Message, qr.M)
	if err != nil {
		return err
	}
	const bottom = passHeight - 40
	module := 260 / code.Size
	side := module * code.Size
	box := image.Rect(0, 0, side+48, side+48)
	if b.AltText != "" {
		box.Max.Y += 34
	}
	box = box.Add(image.Pt((passWidth-box.Dx())/2, bottom-box.Dy()))
	draw.Draw(d, box, image.White, image.Point{}, draw.Src)
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				at := box.Min.Add(image.Pt(24+x*module, 24+y*module))
				draw.Draw(d, image.Rectangle{at, at.Add(image.Pt(module, module))}, image.Black, image.Point{}, draw.Src)
			}
		}
	}
	d.write(b.AltText, (passWidth-d.width(b.AltText, 26))/2, box.Max.Y-16, box.Max.X, 26, color.Black)
	return nil
}

// void fades a pass that is no longer valid.
func (d *drawing) void() {
	draw.Draw(d, d.Bounds(), image.NewUniform(color.RGBA{110, 110, 110, 150}), image.Point{}, draw.Over)
}

// round cuts off the corners.
func (d *drawing) round() {
	const r = 28
	for y := range r {
		for x := range r {
			if dx, dy := r-x, r-y; dx*dx+dy*dy > r*r {
				for _, at := range []image.Point{{x, y}, {passWidth - 1 - x, y}, {x, passHeight - 1 - y},
					{passWidth - 1 - x, passHeight - 1 - y}} {
					d.Set(at.X, at.Y, color.Transparent)
				}
			}
		}
	}
}

// face returns the letters of a size in pixels.
func (d *drawing) face(size int) font.Face {
	face, _ := opentype.NewFace(d.font, &opentype.FaceOptions{Size: float64(size), DPI: 72, Hinting: font.HintingNone})
	return face
}

// width returns the width of a text in pixels.
func (d *drawing) width(s string, size int) int { return font.MeasureString(d.face(size), s).Ceil() }

// write draws a text, cut off before end.
func (d *drawing) write(s string, x, y, end, size int, c color.Color) {
	s = strings.ReplaceAll(s, "\n", " ")
	runes := []rune(s)
	for len(runes) > 1 && x+d.width(s, size) > end {
		runes = runes[:len(runes)-1]
		s = strings.TrimRight(string(runes), " ") + "…"
	}
	w := font.Drawer{Dst: d.RGBA, Src: image.NewUniform(c), Face: d.face(size), Dot: fixed.P(x, y)}
	w.DrawString(s)
}
