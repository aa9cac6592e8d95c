package web

import (
	"fmt"
	"math"
)

// MinContrast is the contrast that text requires (WCAG 2, level AA).
const MinContrast = 4.5

// ReadableColour returns the text colour if it has enough contrast to the
// background, and black or white otherwise.
func ReadableColour(text, background string) string {
	if Contrast(text, background) >= MinContrast {
		return text
	}
	return BlackOrWhite(background)
}

// BlackOrWhite returns the one with the better contrast to a colour. Black is a very dark
// grey where that is enough. On some greys only real black is.
func BlackOrWhite(colour string) string {
	white, grey := Contrast("#FFFFFF", colour), Contrast("#111111", colour)
	switch {
	case max(white, grey) < MinContrast:
		return "#000000"
	case white > grey:
		return "#FFFFFF"
	}
	return "#111111"
}

// Contrast returns the contrast ratio of two colours, from 1 to 21.
func Contrast(a, b string) float64 {
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
