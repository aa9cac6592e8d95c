// Package qr draws QR codes as SVG, and as text for terminals.
package qr

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"rsc.io/qr/coding"
)

// plans caches the layouts by version (size). Making one takes longer than drawing
// a code, and a server uses only one or two of the forty.
var plans [41]struct {
	once sync.Once
	plan *coding.Plan
	err  error
}

// margin is the width of the quiet zone that the standard requires, in modules.
const margin = 4

// SVG returns the markup of a QR code for text, of error correction level M. It has
// single quotes, which need no escaping in JSON, and scales to any size. Text of
// more than 2331 bytes is an error.
func SVG(text string) (string, error) {
	code, err := encode(text)
	if err != nil {
		return "", err
	}
	side := code.Size + 2*margin
	b := make([]byte, 0, 4<<10)
	b = fmt.Appendf(
		b,
		"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %[1]d %[1]d' shape-rendering='crispEdges' role='img' aria-label='QR code'>"+
			"<path fill='#fff' d='M0 0h%[1]dv%[1]dH0z'/><path stroke='#000' d='",
		side,
	)
	for y := range code.Size {
		b = appendRow(b, code, y)
	}
	return string(append(b, "'/></svg>"...)), nil
}

// Text returns a QR code for text as lines for a terminal, in which a character shows two
// modules, one above the other. It draws the light modules, for terminals with a dark background.
func Text(text string) (string, error) {
	code, err := encode(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for y := -margin; y < code.Size+margin; y += 2 {
		for x := -margin; x < code.Size+margin; x++ {
			// Black reports false outside of the code.
			b.WriteString([]string{"█", "▄", "▀", " "}[bit(code.Black(x, y))+2*bit(code.Black(x, y+1))])
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// encode returns the modules of a code.
func encode(text string) (*coding.Code, error) {
	s := coding.String(text)
	v := coding.Version(1)
	for ; v <= coding.MaxVersion; v++ {
		if s.Bits(v) <= v.DataBytes(coding.M)*8 {
			break
		}
	}
	if v > coding.MaxVersion {
		return nil, fmt.Errorf("qr: %d bytes do not fit", len(text))
	}
	p := &plans[v]
	p.once.Do(func() { p.plan, p.err = coding.NewPlan(v, coding.M, 0) })
	if p.err != nil {
		return nil, p.err
	}
	return p.plan.Encode(s)
}

// appendRow appends the path of a row of modules, as strokes of width one along
// its middle: "M4 4.5h7m2 0h1" is a bar of seven modules, a gap of two and a bar of
// one.
func appendRow(b []byte, code *coding.Code, y int) []byte {
	row := code.Bitmap[y*code.Stride:]
	black := func(x int) bool { return x < code.Size && row[x>>3]&(0x80>>(x&7)) != 0 }
	end := -1 // of the previous bar
	for x := 0; x < code.Size; x++ {
		if !black(x) {
			continue
		}
		if end < 0 {
			b = strconv.AppendInt(append(b, 'M'), int64(x+margin), 10)
			b = strconv.AppendInt(append(b, ' '), int64(y+margin), 10)
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
