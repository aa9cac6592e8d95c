package holder

import (
	"math"
	"testing"
)

func TestContrast(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{{"#000000", "#FFFFFF", 21}, {"#ffffff", "#FFFFFF", 1}, {"#777777", "#FFFFFF", 4.48}, {"#FF0000", "#FFFFFF", 4}, {"#FFFFFF", "#0000FF", 8.59}} {
		if got := contrast(c.a, c.b); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%s on %s: %.3f, want %.2f", c.a, c.b, got, c.want)
		}
	}
}

// TestReadableColour checks that text has enough contrast, whatever colours the shop chose.
func TestReadableColour(t *testing.T) {
	if got := readableColour("#111827", "#FFFFFF"); got != "#111827" {
		t.Errorf("a readable colour was replaced: %s", got)
	}
	for _, ground := range []string{"#000000", "#FFFFFF", "#808080", "#757575", "#FF0000", "#00FF00", "#0000FF", "#FFFF00", "#D97706", "#0EA5E9"} {
		for _, text := range []string{ground, "#FFFFFF", "#000000", "#777777"} {
			if c := contrast(readableColour(text, ground), ground); c < minContrast-0.3 {
				t.Errorf("%s on %s: contrast %.2f", text, ground, c)
			}
		}
		if c := contrast(blackOrWhite(ground), ground); c < minContrast-0.3 {
			t.Errorf("on %s: contrast %.2f", ground, c)
		}
	}
}
