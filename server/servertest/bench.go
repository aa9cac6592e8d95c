package servertest

import "testing"

// Sized returns the full size of a benchmark or, with go test -short, a small one
// that only shows that the benchmark works.
func Sized[T any](full, small T) T {
	if testing.Short() {
		return small
	}
	return full
}
