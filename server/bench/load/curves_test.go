package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestVerdict checks that a soak finds a curve that grows, also slowly and among noise, and
// passes one that is flat, one that only fills up at first, and growth within the limit.
func TestVerdict(t *testing.T) {
	noise := rand.New(rand.NewPCG(1, 2))
	curve := find("memory, lowest")
	for _, c := range []struct {
		name    string
		minutes int
		at      func(part float64) float64 // of the time, 0 to 1
		grown   bool
	}{
		{"a leak of 60 % in the run", 120, func(part float64) float64 { return 80 + 48*part }, true},
		{"a leak of 60 % in a short run", 12, func(part float64) float64 { return 80 + 48*part }, true},
		{"a step in the third quarter", 12, func(part float64) float64 { return 80 + 20*math.Round(part*0.99) }, true},
		{"flat", 120, func(float64) float64 { return 80 }, false},
		{"flat, short", 12, func(float64) float64 { return 80 }, false},
		{"caches that fill", 120, func(part float64) float64 { return 80 - 60*math.Exp(-20*part) }, false},
		{"a peak", 12, func(part float64) float64 { return 80 + 60*max(0, 1-math.Abs(part-0.8)*20) }, false},
		{"from nothing to less than the limit", 12, func(part float64) float64 { return 15 * part }, false},
		{"zeros", 12, func(float64) float64 { return 0 }, false},
		{"less", 12, func(part float64) float64 { return 80 - 20*part }, false},
	} {
		var samples []sample
		for n := range c.minutes {
			value := c.at((float64(n)+0.5)/float64(c.minutes)) * (1 + 0.01*noise.NormFloat64())
			samples = append(samples, sample{float64(n + 1), map[string]float64{"memory": value}})
		}
		second, last, ratio, grown := curve.verdict(values(samples, "memory"))
		if grown != c.grown || math.IsNaN(ratio) {
			t.Errorf("%s: grown %v: %.2f, then %.2f, ratio %.2f", c.name, grown, second, last, ratio)
		}
	}
}
