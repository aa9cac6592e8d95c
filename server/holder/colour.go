package holder

import (
	"fmt"
	"math"
)

// minContrast is the contrast that text requires (WCAG 2, level AA).
const minContrast = 4.5

// readableColour returns the text colour if it has enough contrast to the
// background, and black or white otherwise.
func readableColour(text, background string) string {
	if contrast(text, background) >= minContrast {
		return text
	}
	return blackOrWhite(background)
}

// blackOrWhite returns the one with the better contrast to a colour.
func blackOrWhite(colour string) string {
	if contrast("#FFFFFF", colour) > contrast("#111111", colour) {
		return "#FFFFFF"
	}
	return "#111111"
}

// contrast returns the contrast ratio of two colours, from 1 to 21.
func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance returns the relative luminance of a colour in the form #RRGGBB, from 0
// to 1.
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
