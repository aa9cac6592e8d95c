package web

import (
	"fmt"
	"math"
	"testing"
)

func TestContrast(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{{"#000000", "#FFFFFF", 21}, {"#ffffff", "#FFFFFF", 1}, {"#777777", "#FFFFFF", 4.48}, {"#FF0000", "#FFFFFF", 4},
		{"#FFFFFF", "#0000FF", 8.59}} {
		if got := Contrast(c.a, c.b); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%s on %s: %.3f, want %.2f", c.a, c.b, got, c.want)
		}
	}
}

// TestReadableColour checks that text has enough contrast, whatever colours the shop chose.
func TestReadableColour(t *testing.T) {
	if got := ReadableColour("#111827", "#FFFFFF"); got != "#111827" {
		t.Errorf("a readable colour was replaced: %s", got)
	}
	grounds := []string{"#FF0000", "#00FF00", "#0000FF", "#FFFF00", "#D97706", "#0EA5E9"}
	for level := range 256 {
		grounds = append(grounds, fmt.Sprintf("#%02X%02[1]X%02[1]X", level))
	}
	for _, ground := range grounds {
		for _, text := range []string{ground, "#FFFFFF", "#000000", "#777777"} {
			if c := Contrast(ReadableColour(text, ground), ground); c < MinContrast {
				t.Errorf("%s on %s: contrast %.2f", text, ground, c)
			}
		}
		if c := Contrast(BlackOrWhite(ground), ground); c < MinContrast {
			t.Errorf("on %s: contrast %.2f", ground, c)
		}
	}
}
