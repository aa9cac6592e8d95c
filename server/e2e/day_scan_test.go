package e2e

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"rsc.io/qr/coding"
)

var bars = regexp.MustCompile(`(?:M(\d+) (\d+)\.5|m(\d+) 0)h(\d+)`)

// scan decodes the QR code of a page without error correction: byte mode, level M, mask 0, at most
// version 9.
func scan(t *testing.T, page string) string {
	t.Helper()
	_, svg, found := strings.Cut(page, "<svg")
	svg, _, closed := strings.Cut(svg, "</svg>")
	_, box, _ := strings.Cut(svg, "viewBox='0 0 ")
	side, err := strconv.Atoi(box[:max(0, strings.IndexByte(box, ' '))])
	if !found || !closed || err != nil {
		t.Fatalf("no QR code: %v in %s", err, page)
	}
	dark := map[[2]int]bool{}
	x, y := 0, 0
	for _, m := range bars.FindAllStringSubmatch(svg, -1) {
		n := func(i int) int { v, _ := strconv.Atoi(m[i]); return v }
		if m[1] != "" {
			x, y = n(1), n(2)
		} else {
			x += n(3)
		}
		for range n(4) {
			dark[[2]int{x, y}] = true
			x++
		}
	}
	const quiet = 4
	plan, err := coding.NewPlan(coding.Version((side-2*quiet-17)/4), coding.M, 0)
	if err != nil || plan.Version > 9 {
		t.Fatalf("a QR code of side %d: %v", side, err)
	}
	raw := make([]byte, plan.DataBytes)
	for y, row := range plan.Pixel {
		for x, pixel := range row {
			o := pixel.Offset()
			if pixel.Role() == coding.Data && dark[[2]int{x + quiet, y + quiet}] != (pixel&coding.Black != 0) {
				raw[o/8] |= 0x80 >> (o & 7)
			}
		}
	}
	length := int(raw[0]&15)<<4 | int(raw[1]>>4)
	if raw[0]>>4 != 4 || length+2 > len(raw) {
		t.Fatalf("the QR code contains % x", raw)
	}
	text := make([]byte, length)
	for i := range text {
		text[i] = raw[i+1]<<4 | raw[i+2]>>4
	}
	return string(text)
}
