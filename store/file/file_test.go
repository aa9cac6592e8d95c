package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestResolve checks where links lead, and that a loop of links is an error.
func TestResolve(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.Mkdir(at("sub"), 0o700), os.Symlink("sub/b", at("a")), os.Symlink("../c", at("sub/b")), os.Symlink(at("none"), at("c")), os.Symlink("loop", at("loop")),
		os.Symlink("sub", at("folder"))); err != nil {
		t.Skip(err)
	}
	for path, want := range map[string]string{at("x"): at("x"), at("c"): at("none"), at("a"): at("none"), at("sub"): at("sub"), at("folder/b"): at("none")} {
		if got, err := Resolve(path); err != nil || filepath.Clean(got) != want {
			t.Errorf("%s leads to %s, %v, want %s", path, got, err, want)
		}
	}
	if got, err := Resolve(at("loop")); err == nil || !strings.HasPrefix(err.Error(), at("loop")+": ") {
		t.Errorf("a loop leads to %q, %v", got, err)
	}
}

// TestCreateAndOpen checks that a file is created once and for its owner only, and that links and
// folders are not opened.
func TestCreateAndOpen(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "link")
	if err := Create(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 || info.Size() != 0 {
		t.Errorf("created %v, %v", info, err)
	}
	if err := Create(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created twice: %v", err)
	}
	if err := os.Symlink(filepath.Join(dir, "none"), link); err != nil {
		t.Skip(err)
	}
	if err := Create(link); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created behind a link: %v", err)
	}
	for _, at := range []string{link, dir} {
		if f, err := Open(at, os.O_RDWR); err == nil || !strings.HasPrefix(err.Error(), at+": is not a regular file") {
			t.Errorf("opened %v, %v", f, err)
		}
		if l, err := TakeLock(at); err == nil || !strings.HasPrefix(err.Error(), at+": is not a regular file") {
			t.Errorf("locked %v, %v", l, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "none")); err == nil {
		t.Error("a file was created behind the link")
	}
}

// TestLock checks that a lock is held once, its mark, and what it does with a file of other content
// or another name.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := TakeLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TakeLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("taken twice: %v", err)
	}
	if err := l.Mark("mark", "mark"); err != nil || !Marked(path, "mark") || Marked(path, "other") {
		t.Errorf("marked: %v", err)
	}
	if empty, err := l.Empty(); empty || err != nil {
		t.Errorf("a marked lock is empty: %v, %v", empty, err)
	}
	if err := errors.Join(l.Mark("", "mark"), l.Mark("mark")); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil || Marked(path, "mark") {
		t.Errorf("the mark is there after the end of the lock, or it did not end: %v", err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err = TakeLock(path); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Mark("", "mark"); err == nil {
		t.Error("a file with other content is marked")
	}
	if err := os.Rename(path, path+"2"); err != nil {
		t.Fatal(err)
	}
	if current, err := l.Current(); current || err != nil {
		t.Errorf("a renamed lock is current: %v, %v", current, err)
	}
}
