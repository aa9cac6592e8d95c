//go:build !linux

package store

import "os"

// writeOut would give a growing file to the disk slice by slice; here all of it
// is left to the sync at the end.
func writeOut(*os.File) (done func(bool) error) { return func(bool) error { return nil } }
