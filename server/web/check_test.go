package web

import "testing"

// must returns the result of a call that has no error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// noError fails a test with an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
