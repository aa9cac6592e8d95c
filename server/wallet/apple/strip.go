package apple

import (
	"image"
	"image/color"
	"image/draw"
	"math"
	"slices"

	"punchcard/server/logo"
)

const (
	marginX, marginY = 20, 12 // around the stamps, in points
	stampPart        = .88    // side of a stamp in that of its cell
	maxCell          = 88     // side of a cell, in points
	minLogoCell      = 36     // a stamp in a smaller cell shows no logo
	logoPart         = .6     // of the side of a stamp
	maxDrawn         = 60     // stamps; a bar shows more
)

// strips returns the strip of stamps.
func (p *painter) strips() (all Files, err error) {
	all = Files{}
	for ending, scale := range scales {
		if all["strip"+ending], err = logo.Encode(logo.WithPalette(p.strip(scale))); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// strip returns the strip of stamps as a picture.
func (p *painter) strip(scale int) *image.RGBA {
	strip := p.canvas(stripWidth*scale, stripHeight*scale)
	switch {
	case p.Total == 0:
		p.band(strip, scale)
		return strip
	case p.Total > maxDrawn:
		p.bar(strip, scale)
		return strip
	}
	cell, rows := arrange(int(p.Total))
	side := int(cell * stampPart * float64(scale))
	place := func(middle float64, i, count int) int {
		return int(math.Round((middle+(float64(i)-float64(count-1)/2)*cell)*float64(scale))) - side/2
	}
	tiles := map[[2]bool]*image.RGBA{}
	n := int64(0)
	for y, count := range rows {
		for x := range count {
			n++
			kind := [2]bool{n <= p.Stamps, slices.Contains(p.Prizes, n)}
			if tiles[kind] == nil {
				tiles[kind] = p.stamp(side, kind[0], kind[1], cell >= minLogoCell)
			}
			at := image.Pt(place(stripWidth/2., x, count), place(stripHeight/2., y, len(rows)))
			draw.Draw(strip, image.Rectangle{at, at.Add(image.Pt(side, side))}, tiles[kind], image.Point{}, draw.Src)
		}
	}
	return strip
}

// canvas returns a picture in the colour of the pass.
func (p *painter) canvas(width, height int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(m, m.Bounds(), image.NewUniform(p.background), image.Point{}, draw.Src)
	return m
}

// arrange returns the side of the cell of a stamp in points, and the number of stamps in each row. Rows differ by at
// most one stamp.
func arrange(total int) (cell float64, rows []int) {
	best, points := 0, 0.0
	for n := 1; n <= total; n++ {
		columns := (total + n - 1) / n
		c := min(float64(stripWidth-2*marginX)/float64(columns), float64(stripHeight-2*marginY)/float64(n), maxCell)
		p := c
		if total%n == 0 {
			p *= 1.15 // equal rows look better
		}
		if p > points*1.05 { // a further row must be worth it
			cell, best, points = c, n, p
		}
	}
	for i := range best {
		rows = append(rows, (total+best-1-i)/best)
	}
	return cell, rows
}

// stamp returns the picture of a stamp that the card has, or of its place. That of a prize has a star.
func (p *painter) stamp(side int, has, prize, withLogo bool) *image.RGBA {
	tile := p.canvas(side, side)
	r := float32(side) / 2
	line := max(1, r*.07)
	if !has {
		logo.DrawDisc(tile, r, p.edge())
		logo.DrawDisc(tile, r-line, p.empty())
		if prize {
			logo.DrawShape(tile, r, mix(p.ink, p.background, .55), star)
		}
		return tile
	}
	logo.DrawDisc(tile, r, p.brand)
	switch {
	case prize:
		logo.DrawShape(tile, r, p.onBrand, star)
	case p.picture != nil && withLogo:
		if distance(average(p.picture), p.brand) < minDistance {
			logo.DrawDisc(tile, r-1.5*line, p.onBrand)
		}
		logo.DrawLogo(tile, p.picture, logoPart)
	default:
		logo.DrawCheck(tile, r, p.onBrand)
	}
	return tile
}

// edge is the colour of the line around what is empty.
func (p *painter) edge() color.Color { return mix(p.ink, p.background, .38) }

// empty is the colour of what is empty.
func (p *painter) empty() color.Color { return mix(p.ink, p.background, .06) }

// star is the outline of a star in radii of a stamp.
var star = func() (outline [][2]float32) {
	for i := range 10 {
		r, angle := .62-.35*float64(i%2), float64(i)*math.Pi/5
		outline = append(outline, [2]float32{float32(r * math.Sin(angle)), float32(.03 - r*math.Cos(angle))})
	}
	return outline
}()

// band draws a band on which the ink of the pass can be read, with rings at its right end.
func (p *painter) band(strip *image.RGBA, scale int) {
	colour := func(ring int) *image.Uniform {
		return image.NewUniform(mix(p.brand, p.background, .12+.06*float64(ring)))
	}
	draw.Draw(strip, strip.Bounds(), colour(0), image.Point{}, draw.Src)
	for ring := 1; ring <= 3; ring++ {
		r := (170 - 40*ring) * scale
		tile := image.NewRGBA(image.Rect(0, 0, 2*r, 2*r))
		logo.DrawDisc(tile, float32(r), colour(ring).C)
		at := image.Pt((stripWidth-40)*scale-r, (stripHeight-30)*scale-r)
		draw.Draw(strip, tile.Bounds().Add(at), tile, image.Point{}, draw.Over)
	}
}

// bar draws a bar instead of many stamps.
func (p *painter) bar(strip *image.RGBA, scale int) {
	const height, line = 36, 2
	width := stripWidth - 2*marginX
	pill := func(inset, length int, c color.Color) {
		h := (height - 2*inset) * scale
		length = max(length*scale, h)
		y := (stripHeight*scale - h) / 2
		left := image.Rect((marginX+inset)*scale, y, (marginX+inset)*scale+h, y+h)
		right := left.Add(image.Pt(length-h, 0))
		for _, end := range []image.Rectangle{left, right} {
			logo.DrawDisc(strip.SubImage(end).(*image.RGBA), float32(h)/2, c)
		}
		draw.Draw(strip, image.Rect(left.Min.X+h/2, y, right.Min.X+h/2, y+h), image.NewUniform(c), image.Point{}, draw.Src)
	}
	pill(0, width, p.edge())
	pill(line, width-2*line, p.empty())
	if p.Stamps > 0 {
		pill(line, int(int64(width-2*line)*p.Stamps/p.Total), p.brand)
	}
}
