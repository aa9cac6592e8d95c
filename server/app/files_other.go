//go:build !unix

package app

import "math"

// openFiles is how many files the process may have open; here it knows no bound.
func openFiles() int { return math.MaxInt32 }
