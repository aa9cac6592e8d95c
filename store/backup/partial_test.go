package backup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRawAppearsLate checks that a link or a folder which appears at the name of the
// unrewritten pages after newPartial has checked it is refused and stays.
func TestRawAppearsLate(t *testing.T) {
	t.Parallel()
	for kind, create := range map[string]func(path string) error{
		"a symbolic link": func(path string) error { return os.Symlink("precious", path) },
		"a folder":        func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		name := filepath.Join(t.TempDir(), "copy.db")
		p := check(newPartial(name))
		if err := create(p.raw()); err != nil {
			t.Skip(err)
		}
		if err := p.newRaw(); err == nil || !strings.HasPrefix(err.Error(), p.raw()+": is not a regular file, but "+kind) {
			t.Errorf("%s: %v", kind, err)
		}
		if _, err := os.Lstat(p.raw()); err != nil {
			t.Errorf("%s is gone: %v", kind, err)
		}
		p.discard()
	}
}
