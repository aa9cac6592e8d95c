//go:build !unix

package app

import "math"

// openFiles returns the number of files that the process may open, which is not
// known here.
func openFiles() int { return math.MaxInt32 }
