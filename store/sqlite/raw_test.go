package sqlite

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"modernc.org/libc"
	"modernc.org/memory"
	"zombiezen.com/go/sqlite"
)

// TestLayout checks that the libraries have the fields that raw.go and freed.go read, and that no other file of
// the package reads any.
func TestLayout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of    any
		field string
		want  any
	}{
		{sqlite.Conn{}, "tls", (*libc.TLS)(nil)},
		{sqlite.Conn{}, "conn", uintptr(0)},
		{sqlite.Stmt{}, "stmt", uintptr(0)},
		{memory.Allocator{}, "lists", [64]uintptr{}},
		{memory.Allocator{}, "pages", [64]uintptr{}},
	} {
		f, ok := reflect.TypeOf(c.of).FieldByName(c.field)
		if !ok || f.Type != reflect.TypeOf(c.want) {
			t.Errorf("%T has no field %s of type %T: read raw.go and freed.go again for this version of the library", c.of, c.field, c.want)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 5 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, name := range files {
		if name == "raw.go" || strings.HasPrefix(name, "freed") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{`"unsafe"`, `"modernc.org/`, "FieldByName"} {
			if strings.Contains(string(text), word) {
				t.Errorf("%s has %s", name, word)
			}
		}
	}
}

// TestDefendWritesNowhere checks that defend passes SQLite all arguments that it reads. It
// makes the memory that is allocated next contain an address that cannot be written.
func TestDefendWritesNowhere(t *testing.T) {
	t.Parallel()
	const garbage, large = 0x01, 40_000
	c := open(t)
	memory := func(size int) (uintptr, []byte) {
		p := libc.Xmalloc(c.raw.tls, libc.Tsize_t(size))
		return p, libc.GoBytes(p, size)
	}
	p, content := memory(large)
	for i := range content {
		content[i] = garbage
	}
	libc.Xfree(c.raw.tls, p)
	for range 1 << 20 {
		p, content := memory(16)
		defer libc.Xfree(c.raw.tls, p)
		if content[15] == garbage {
			break
		}
	}
	if err := c.raw.defend(true); err != nil {
		t.Fatal(err)
	}
}
