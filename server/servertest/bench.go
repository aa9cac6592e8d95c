package servertest

import "testing"

// Sized returns the size that a benchmark is measured with, or the small one
// that shows no more than that it works, where go test is given -short.
func Sized[T any](full, small T) T {
	if testing.Short() {
		return small
	}
	return full
}
