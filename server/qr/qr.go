// Package qr draws QR codes as SVG.
package qr

import (
	"fmt"
	"strconv"
	"sync"

	"rsc.io/qr/coding"
)

// plans are the layouts by version (size); making one costs more than the
// drawing, and a server uses one or two of the forty.
var plans [41]struct {
	once sync.Once
	plan *coding.Plan
	err  error
}

// quiet is the width in modules of the margin that the standard asks for.
const quiet = 4

// SVG draws text as a QR code of error correction level M. The markup uses
// single quotes, so that it needs no escaping inside JSON; it scales to any
// size. Text of more than 2331 bytes is an error.
func SVG(text string) (string, error) {
	s := coding.String(text)
	v := coding.Version(1)
	for ; v <= coding.MaxVersion; v++ {
		if s.Bits(v) <= v.DataBytes(coding.M)*8 {
			break
		}
	}
	if v > coding.MaxVersion {
		return "", fmt.Errorf("qr: %d bytes do not fit", len(text))
	}
	p := &plans[v]
	p.once.Do(func() { p.plan, p.err = coding.NewPlan(v, coding.M, 0) })
	if p.err != nil {
		return "", p.err
	}
	code, err := p.plan.Encode(s)
	if err != nil {
		return "", err
	}
	side := int64(code.Size + 2*quiet)
	b := make([]byte, 0, 4<<10)
	b = append(b, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 "...)
	b = append(strconv.AppendInt(b, side, 10), ' ')
	b = strconv.AppendInt(b, side, 10)
	b = append(b, "' shape-rendering='crispEdges' role='img' aria-label='QR code'><path fill='#fff' d='M0 0h"...)
	b = append(strconv.AppendInt(b, side, 10), 'v')
	b = strconv.AppendInt(b, side, 10)
	b = append(b, "H0z'/><path stroke='#000' d='"...)
	for y := range code.Size {
		b = appendRow(b, code, y)
	}
	return string(append(b, "'/></svg>"...)), nil
}

// appendRow draws a row of modules as strokes of width one along its middle:
// "M4 4.5h7m2 0h1" is a bar of seven, a gap of two, a bar of one.
func appendRow(b []byte, code *coding.Code, y int) []byte {
	row := code.Bitmap[y*code.Stride:]
	black := func(x int) bool { return x < code.Size && row[x>>3]&(0x80>>(x&7)) != 0 }
	end := -1 // of the bar before
	for x := 0; x < code.Size; x++ {
		if !black(x) {
			continue
		}
		if end < 0 {
			b = strconv.AppendInt(append(b, 'M'), int64(x+quiet), 10)
			b = strconv.AppendInt(append(b, ' '), int64(y+quiet), 10)
			b = append(b, ".5h"...)
		} else {
			b = strconv.AppendInt(append(b, 'm'), int64(x-end), 10)
			b = append(b, " 0h"...)
		}
		from := x
		for black(x) {
			x++
		}
		b = strconv.AppendInt(b, int64(x-from), 10)
		end = x
	}
	return b
}
