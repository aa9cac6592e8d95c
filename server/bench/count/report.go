package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxShown is the number of differences of a kind that the report prints.
const maxShown = 20

// report collects what was counted and what differs, by kind.
type report struct {
	kinds       []string
	counted     map[string]int
	found       map[string]int
	shown       map[string][]string
	notes       []string
	differences int
}

func newReport() *report {
	return &report{counted: map[string]int{}, found: map[string]int{}, shown: map[string][]string{}}
}

// count adds n to what was counted of a kind.
func (r *report) count(kind string, n int) {
	if _, known := r.counted[kind]; !known {
		r.kinds = append(r.kinds, kind)
	}
	r.counted[kind] += n
}

// differ records a difference of a kind.
func (r *report) differ(kind, format string, args ...any) {
	r.count(kind, 0)
	r.differences++
	r.found[kind]++
	if len(r.shown[kind]) < maxShown {
		r.shown[kind] = append(r.shown[kind], fmt.Sprintf(format, args...))
	}
}

// equal counts a value and records a difference if it is not the one that was counted.
func equal[T comparable](r *report, kind, what string, said, counted T) {
	r.count(kind, 1)
	if said != counted {
		r.differ(kind, "%s: said %v, counted %v", what, said, counted)
	}
}

// note adds a line that is no difference, such as what could not be counted.
func (r *report) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// print writes the report: what was counted, the differences, and one line that sums both up.
func (r *report) print(w io.Writer) {
	var sum []string
	for _, k := range r.kinds {
		fmt.Fprintf(w, "%9d %s", r.counted[k], k)
		if n := r.found[k]; n > 0 {
			fmt.Fprintf(w, ", %d differ", n)
		}
		fmt.Fprintln(w)
		if n := r.counted[k]; n > 0 {
			sum = append(sum, fmt.Sprintf("%d %s", n, k))
		}
	}
	for _, n := range r.notes {
		fmt.Fprintln(w, "note:", n)
	}
	for _, k := range r.kinds {
		for i, line := range r.shown[k] {
			if i == 0 {
				fmt.Fprintf(w, "\n%s, %d differences\n", k, r.found[k])
			}
			fmt.Fprintln(w, "  "+line)
		}
	}
	differences := "none"
	if r.differences > 0 {
		differences = fmt.Sprint(r.differences)
	}
	fmt.Fprintf(w, "counted twice: %s; differences: %s\n", strings.Join(sum, ", "), differences)
}
