//go:build !linux

package command

// lowerPriority does nothing, since only Linux has priorities of threads.
func lowerPriority() {}
