//go:build unix

package app

import (
	"math"

	"golang.org/x/sys/unix"
)

// openFiles returns the number of files that the process may open, connections
// included.
func openFiles() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil || uint64(l.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(l.Cur)
}
