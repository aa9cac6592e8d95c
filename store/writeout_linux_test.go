package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Slices are given to the disk once they are full, and the rest at the end; what
// the disk refuses is an error.
func TestWriteSlices(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "growing"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		size  int64
		whole bool
		want  int64
	}{
		{0, false, 0}, {0, true, 0}, {slice - 1, false, 0}, {slice, false, slice}, {3*slice - 1, false, 2 * slice}, {3*slice - 1, true, 3 * slice}, {3 * slice, true, 3 * slice},
	} {
		if err := f.Truncate(c.size); err != nil {
			t.Fatal(err)
		}
		if at, err := writeSlices(f, 0, c.whole); at != c.want || err != nil {
			t.Errorf("%d bytes, whole: %t: got as far as %d, %v; want %d", c.size, c.whole, at, err, c.want)
		}
	}
	if err := writeOut(f)(true); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := writeOut(f)(true); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed file: %v", err)
	}
}
