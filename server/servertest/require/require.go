// Package require ends tests with the errors that they do not expect. It imports no other
// package of the module, so that tests inside of any package may use it.
package require

import "testing"

// NoError ends a test with an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must returns v and panics if err is not nil.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
