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
	if err := errors.Join(os.Mkdir(at("sub"), 0o700), os.Symlink("sub/b", at("a")), os.Symlink(
		"../c", at("sub/b"),
	), os.Symlink(at("none"), at("c")), os.Symlink("loop", at("loop")),
		os.Symlink("sub", at("folder"))); err != nil {
		t.Skip(err)
	}
	for path, want := range map[string]string{
		at("x"): at("x"), at("c"): at("none"), at("a"): at("none"), at("sub"): at("sub"), at("folder/b"): at("none"),
	} {
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
	must(t, Create(path))
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
		_, notOpened := Open(at, os.O_RDWR)
		_, notLocked := TakeLock(at)
		for _, err := range []error{notOpened, notLocked} {
			if err == nil || !strings.HasPrefix(err.Error(), at+": is not a regular file") {
				t.Errorf("opened or locked: %v", err)
			}
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
	must(t, err)
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
	must(t, os.WriteFile(path, []byte("mine"), 0o600))
	l, err = TakeLock(path)
	must(t, err)
	defer l.Close()
	if err := l.Mark("", "mark"); err == nil {
		t.Error("a file with other content is marked")
	}
	must(t, os.Rename(path, path+"2"))
	if current, err := l.Current(); current || err != nil {
		t.Errorf("a renamed lock is current: %v, %v", current, err)
	}
}

// must ends the test if one of the errors is not nil.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
