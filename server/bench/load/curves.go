package main

import (
	"fmt"
	"slices"
	"strings"
)

// curve is a figure that each period has.
type curve struct {
	name, unit string
	// limit is how much the curve may grow whatever its ratio. 0: it decides nothing.
	limit float64
	steps bool // the curve grows in steps, so that its mean is taken, not its median
}

// curves are those of the server, and the latencies of each kind. Where nothing else is said, a value is the largest in a
// period. It depends on what else the machine does, since requests that wait need memory, so it may grow by more than
// the lowest one, which shows what is not freed. On a machine whose load changes all the time, the lowest one depends on
// it too, but less.
var curves = []curve{
	{name: "memory", unit: "MiB", limit: 32},
	{name: "memory, lowest", unit: "MiB", limit: 16},
	{name: "heap", unit: "MiB"},
	{name: "descriptors", limit: 32},
	{name: "descriptors, lowest", limit: 16},
	{name: "goroutines", limit: 64},
	{name: "goroutines, lowest", limit: 32},
	{name: "log of the process", unit: "bytes a minute", limit: 1024},
	{name: "write-ahead log", unit: "MiB", limit: 24},
	{name: "file per write", unit: "bytes", steps: true},
	{name: "processor", unit: "% of one core"},
	{name: "answers", unit: "a second"},
}

func init() {
	for _, k := range kinds {
		curves = append(curves, curve{name: k + " p50", unit: "ms"}, curve{name: k + " p99", unit: "ms"})
	}
}

// find returns the curve with a name.
func find(name string) curve {
	return curves[slices.IndexFunc(curves, func(c curve) bool { return c.name == name })]
}

// grows is the ratio of the last quarter to the second above which a curve has grown.
const grows = 1.05

// sample has the values of a period by the names of the curves. Latencies are in milliseconds, with names such as "card p99".
type sample struct {
	Minutes float64 // from the start to the end of the period
	Values  map[string]float64
}

// quarter returns the median of the values in one of the four quarters of the time, 1 to 4.
func (c curve) quarter(values []float64, n int) float64 {
	part := slices.Clone(values[(len(values)*(n-1)+3)/4 : (len(values)*n+3)/4])
	if c.steps {
		sum := 0.0
		for _, value := range part {
			sum += value
		}
		return sum / float64(len(part))
	}
	slices.Sort(part)
	return (part[(len(part)-1)/2] + part[len(part)/2]) / 2
}

// verdict compares the last quarter with the second.
func (c curve) verdict(values []float64) (second, last, ratio float64, grown bool) {
	second, last = c.quarter(values, 2), c.quarter(values, 4)
	ratio = last / second
	if second == last {
		ratio = 1 // also of zeros
	}
	return second, last, ratio, c.limit > 0 && last-second > c.limit && last > second*grows
}

// values returns a curve's values.
func values(samples []sample, name string) []float64 {
	var v []float64
	for _, s := range samples {
		v = append(v, s.Values[name])
	}
	return v
}

// judge prints the verdict of each curve, and returns the names of those that have grown and may not.
func judge(samples []sample) (grown []string) {
	fmt.Printf("\n%-32s%12s%12s%8s\n", "median in the", "2nd quarter", "last", "ratio")
	for _, c := range curves {
		v := values(samples, c.name)
		if !slices.ContainsFunc(v, func(x float64) bool { return x != 0 }) && c.unit == "ms" {
			continue // a kind that the mix does not have
		}
		second, last, ratio, bad := c.verdict(v)
		word := ""
		if c.limit > 0 {
			word = "flat"
		}
		if bad {
			word = "GROWN"
			grown = append(grown, c.name)
		}
		name := c.name
		if c.unit != "" {
			name += ", " + c.unit
		}
		fmt.Println(strings.TrimRight(fmt.Sprintf("%-32s%12.2f%12.2f%8.2f  %s", name, second, last, ratio, word), " "))
	}
	return grown
}
