package sqlite

import (
	"bytes"
	"slices"
	"testing"

	"modernc.org/libc"
)

// TestClearFreed checks that ClearFreed overwrites blocks of all sizes, those that were freed alone and those of a
// region that was free as a whole and is in use again. It runs alone, since others take what is freed.
func TestClearFreed(t *testing.T) {
	c := open(t)
	mark := bytes.Repeat([]byte("to clear"), 2)
	const region = 1 << 16
	for size := 64; size <= 8192; size *= 2 {
		end := func(p uintptr) []byte { return libc.GoBytes(p, size)[size-len(mark):] }
		blocks := func() (list []uintptr) {
			for range 4 * region / size {
				p := libc.Xmalloc(c.raw.tls, libc.Tsize_t(size))
				copy(end(p), mark)
				list = append(list, p)
			}
			return list
		}
		for _, whole := range []bool{false, true} {
			var kept, freed []uintptr
			for i, p := range blocks() {
				if !whole && i%3 == 0 {
					kept = append(kept, p)
					continue
				}
				libc.Xfree(c.raw.tls, p)
				freed = append(freed, p)
			}
			isKept := func(p uintptr) bool { // only regions with a block in use stay readable
				return slices.ContainsFunc(kept, func(k uintptr) bool { return k/region == p/region })
			}
			for whole && !slices.ContainsFunc(freed, isKept) {
				kept = append(kept, libc.Xmalloc(c.raw.tls, libc.Tsize_t(size)))
			}
			freed = slices.DeleteFunc(freed, func(p uintptr) bool { return !isKept(p) || slices.Contains(kept, p) })
			marked := func() (n int) {
				for _, p := range freed {
					n += bytes.Count(end(p), mark)
				}
				return n
			}
			if marked() == 0 {
				t.Fatalf("no freed block of %d bytes has what it had: the test checks nothing", size)
			}
			if err := ClearFreed(); err != nil {
				t.Fatal(err)
			}
			if n := marked(); n > 0 {
				t.Errorf("%d of %d freed blocks of %d bytes have what they had; as a whole: %v", n, len(freed), size, whole)
			}
			for _, p := range kept {
				libc.Xfree(c.raw.tls, p)
			}
		}
	}
}
