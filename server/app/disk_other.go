//go:build !unix

package app

// diskSpace returns nothing, since the size of disks is not known here.
func diskSpace(string) (free, all int64) { return 0, 0 }
