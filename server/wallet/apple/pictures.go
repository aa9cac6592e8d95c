package apple

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"sync"

	"punchcard/server/logo"
)

// The sizes of pictures in points. A point has one, two or three pixels.
const (
	iconSide                = 29
	logoWidth, logoHeight   = 160, 50 // at most
	stripWidth, stripHeight = 375, 144
)

// scales are the numbers of pixels of a point, by the ending of the name of a picture.
var scales = map[string]int{".png": 1, "@2x.png": 2, "@3x.png": 3}

// Look is how the pictures of a pass look. Its colours are of the form #RRGGBB.
type Look struct {
	Brand, OnBrand  string  // of stamps, and of what is on them
	Background, Ink string  // of the pass, and of its text
	LogoHash        string  // empty: there is no logo
	Stamps, Total   int64   // Total 0: the card collects no stamps
	Prizes          []int64 // the numbers of stamps for which there are prizes
	Band            bool    // without stamps, the strip is a band in the colour of the program; otherwise there is none
}

// maxCached is the number of bytes of files from which on a cache forgets all of them.
const maxCached = 32 << 20

// Cache keeps pictures and signatures. None of them contains data of a holder. Its zero value is empty.
type Cache struct {
	mu   sync.Mutex
	kept map[string]Files
	size int // of kept, in bytes
}

// Pictures returns the icon, the logo and, if there are stamps or a band, the strip. logo is called if there is a logo and the
// pictures are not in the cache; it returns a PNG.
func (c *Cache) Pictures(l Look, logo func() ([]byte, error)) (Files, error) {
	l.Stamps = min(l.Stamps, l.Total)
	marks := l
	marks.Stamps, marks.Total, marks.Prizes, marks.Band = 0, 0, nil, false
	drawn, err := c.get(marks, logo, (*painter).marks)
	if err != nil || l.Total == 0 && !l.Band {
		return drawn, err
	}
	strips, err := c.get(l, func() ([]byte, error) { return c.smallLogo(l.LogoHash, logo) }, (*painter).strips)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(drawn)
	maps.Copy(all, strips)
	return all, nil
}

// smallLogo returns a logo as large as strips need it.
func (c *Cache) smallLogo(hash string, read func() ([]byte, error)) ([]byte, error) {
	files, err := c.keep(hash, func() (Files, error) {
		raw, err := read()
		if err != nil {
			return nil, err
		}
		picture, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		small, err := logo.Encode(logo.Shrink(picture, 2*maxCell))
		return Files{"logo.png": small}, err
	})
	return files["logo.png"], err
}

// get returns pictures from the cache, or draws them.
func (c *Cache) get(l Look, logo func() ([]byte, error), draw func(*painter) (Files, error)) (Files, error) {
	return c.keep(fmt.Sprint(l), func() (Files, error) {
		painter, err := newPainter(l, logo)
		if err != nil {
			return nil, err
		}
		return draw(painter)
	})
}

// keep returns the files that the cache has for a key, or else creates and keeps them.
func (c *Cache) keep(key string, create func() (Files, error)) (Files, error) {
	c.mu.Lock()
	files, ok := c.kept[key]
	c.mu.Unlock()
	if ok {
		return files, nil
	}
	files, err := create()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || c.size > maxCached {
		c.kept, c.size = map[string]Files{}, 0
	}
	c.kept[key] = files
	for _, file := range files {
		c.size += len(key) + len(file)
	}
	return files, nil
}

// painter draws the pictures of a look.
type painter struct {
	Look
	brand, onBrand, background, ink color.NRGBA
	logo                            []byte
	picture                         image.Image // the logo; nil: none
}

func newPainter(l Look, read func() ([]byte, error)) (*painter, error) {
	p := &painter{
		Look:       l,
		brand:      logo.ParseColour(l.Brand),
		onBrand:    logo.ParseColour(l.OnBrand),
		background: logo.ParseColour(l.Background),
		ink:        logo.ParseColour(l.Ink),
	}
	if distance(p.brand, p.background) < minDistance {
		p.brand, p.onBrand = p.ink, p.background
	}
	if l.LogoHash == "" {
		return p, nil
	}
	var err error
	if p.logo, err = read(); err != nil {
		return nil, err
	}
	p.picture, err = png.Decode(bytes.NewReader(p.logo))
	return p, err
}

// marks returns the icon and the logo.
func (p *painter) marks() (all Files, err error) {
	all = Files{}
	for ending, scale := range scales {
		if all["icon"+ending], err = logo.Icon(iconSide*scale, p.Brand, p.OnBrand, p.logo); err != nil {
			return nil, err
		}
		if all["logo"+ending], err = logo.Encode(p.mark(scale)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// mark returns the logo, or a stamp if there is none.
func (p *painter) mark(scale int) image.Image {
	if p.picture == nil {
		mark := image.NewNRGBA(image.Rect(0, 0, logoHeight*scale, logoHeight*scale))
		r := float32(logoHeight*scale) * .42
		logo.DrawDisc(mark, r, p.brand)
		logo.DrawCheck(mark, r, p.onBrand)
		return mark
	}
	size := p.picture.Bounds().Size()
	width := min(logoWidth, max(1, logoHeight*size.X/max(size.Y, 1)))
	mark := image.NewNRGBA(image.Rect(0, 0, width*scale, logoHeight*scale))
	logo.DrawLogo(mark, p.picture, 1)
	return mark
}

// minDistance is how much the colour of a stamp differs at least from what is around it.
const minDistance = 120

// distance returns how much two colours differ, from 0 to 765.
func distance(a, b color.NRGBA) int {
	d := func(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }
	return d(a.R, b.R) + d(a.G, b.G) + d(a.B, b.B)
}

// mix returns a colour that is part of a and otherwise b.
func mix(a, b color.NRGBA, part float64) color.NRGBA {
	m := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*part + float64(b)*(1-part))) }
	return color.NRGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), 255}
}

// average returns the average colour of a picture where it is not transparent.
func average(picture image.Image) color.NRGBA {
	one := image.NewNRGBA(image.Rect(0, 0, 1, 1))
	logo.DrawLogo(one, picture, 1)
	c := one.NRGBAAt(0, 0)
	c.A = 255
	return c
}
