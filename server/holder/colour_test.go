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

// TestInk: whatever the shop chose, text can be read.
func TestInk(t *testing.T) {
	if got := ink("#111827", "#FFFFFF"); got != "#111827" {
		t.Errorf("a good choice was not kept: %s", got)
	}
	for _, ground := range []string{"#000000", "#FFFFFF", "#808080", "#757575", "#FF0000", "#00FF00", "#0000FF", "#FFFF00", "#D97706", "#0EA5E9"} {
		for _, text := range []string{ground, "#FFFFFF", "#000000", "#777777"} {
			if c := contrast(ink(text, ground), ground); c < readable-0.3 {
				t.Errorf("%s on %s: contrast %.2f", text, ground, c)
			}
		}
		if c := contrast(on(ground), ground); c < readable-0.3 {
			t.Errorf("on %s: contrast %.2f", ground, c)
		}
	}
}
