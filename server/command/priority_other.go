//go:build !linux

package command

// stepBack does nothing: only Linux has priorities of threads.
func stepBack() {}
