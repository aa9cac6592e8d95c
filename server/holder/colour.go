package holder

import (
	"fmt"
	"math"
)

// readable is the contrast that text needs (WCAG 2, level AA).
const readable = 4.5

// ink is the shop's text colour where it can be read on the ground, else black
// or white, whichever can.
func ink(text, ground string) string {
	if contrast(text, ground) >= readable {
		return text
	}
	return on(ground)
}

// on is black or white, whichever is read better on a colour.
func on(colour string) string {
	if contrast("#FFFFFF", colour) > contrast("#111111", colour) {
		return "#FFFFFF"
	}
	return "#111111"
}

// contrast is the ratio of two colours' luminance, 1 to 21.
func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(hex string) float64 {
	var rgb [3]uint8
	fmt.Sscanf(hex, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2])
	var l float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := float64(rgb[i]) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		l += weight * c
	}
	return l
}
