//go:build unix

package app

import "golang.org/x/sys/unix"

// diskSpace returns the bytes that are free, and all, of the disk of a folder. Both are 0
// if that is not known.
func diskSpace(dir string) (free, all int64) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, 0
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize)
}
