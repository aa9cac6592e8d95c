package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/store/sqlite"
)

// older creates a file of the version before this one in a folder of its own.
func older(t *testing.T) (path string) {
	path = filepath.Join(t.TempDir(), "older.db")
	createOlder(t, path, version()-1, "")
	return path
}

// contents returns the names, modes and checksums of the files in the folder of a path.
func contents(t *testing.T, path string) (all []string) {
	for _, e := range check(os.ReadDir(filepath.Dir(path))) {
		all = append(all, e.Name()+" "+fingerprint(t, filepath.Join(filepath.Dir(path), e.Name())))
	}
	return all
}

// copyOf returns the path of the copy from before the migration of a file of older.
func copyOf(path string) string { return fmt.Sprint(path, CopySuffix, version()-1) }

// TestOlderNeedsServe opens an older file without the serve lock. Nothing changes, also where a
// killed process has left a log.
func TestOlderNeedsServe(t *testing.T) {
	t.Parallel()
	for _, journal := range []string{"DELETE", "WAL"} {
		for _, opts := range []Options{{}, {MustExist: true}} {
			path := older(t)
			createWithScript(t, path, "PRAGMA journal_mode="+journal)
			before := contents(t, path)
			refuses(t, path, opts, ErrOlder.Error())
			if findings, err := CheckQuick(t.Context(), path, nil); err != nil || len(findings) > 0 {
				t.Errorf("a quick check: %v, %v", findings, err)
			}
			if after := contents(t, path); !slices.Equal(after, before) {
				t.Errorf("%s: the folder has\n%s\nand had\n%s", journal, strings.Join(after, "\n"), strings.Join(before, "\n"))
			}
		}
	}
	path := older(t)
	c := check(sqlite.Open(path, sqlite.ReadWrite, "journal_mode=WAL"))
	defer c.Close()
	succeed(c.Script("UPDATE meta SET auth_epoch=auth_epoch+1"))
	killed := filepath.Join(t.TempDir(), "killed.db")
	for _, suffix := range []string{"", "-wal"} {
		writeText(t, killed+suffix, string(check(os.ReadFile(path+suffix))))
	}
	log := fingerprint(t, killed+"-wal")
	refuses(t, killed, Options{MustExist: true}, ErrOlder.Error())
	if after := fingerprint(t, killed+"-wal"); after != log {
		t.Errorf("the log changed from %s to %s", log, after)
	}
}

// TestCommandsLeaveTheJournalMode checks that a command that reads a backup does not write to it.
func TestCommandsLeaveTheJournalMode(t *testing.T) {
	t.Parallel()
	path := newDatabase(t)
	createWithScript(t, path, "PRAGMA journal_mode=DELETE")
	before := contents(t, path)
	s := open(t, path, Options{MustExist: true})
	read := func(v *View) error { return errorOf(v.conn.Number("SELECT count(*) FROM shops")) }
	succeed(errors.Join(s.View(0, read), s.Close()))
	if after := contents(t, path); !slices.Equal(after, before) {
		t.Errorf("the folder has\n%s\nand had\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
}

// TestMigrationCopies checks the copy from before a migration: its content and mode, what was
// there before it, and when copies are removed.
func TestMigrationCopies(t *testing.T) {
	t.Parallel()
	path := older(t)
	stale, unfinished, foreign := path+CopySuffix+"3", copyOf(path)+".partial", path+CopySuffix+"x"
	for _, name := range []string{stale, unfinished, foreign} {
		writeText(t, name, "mine")
	}
	createOlder(t, copyOf(path), version()-1, "") // of an earlier attempt
	createWithScript(t, path, "UPDATE meta SET auth_epoch=77")
	var done []Migration
	open(t, path, Options{Serve: true, Migrated: func(m Migration) { done = append(done, m) }}).Close()
	if want := []Migration{{version() - 1, version(), copyOf(path)}}; !slices.Equal(done, want) {
		t.Errorf("migrated %v, want %v", done, want)
	}
	if info := check(os.Lstat(copyOf(path))); info.Mode() != 0o600 {
		t.Errorf("the copy has the mode %v", info.Mode())
	}
	c := check(sqlite.Open(copyOf(path), sqlite.Immutable))
	defer c.Close()
	v, verr := c.Number("PRAGMA user_version")
	epoch, err := c.Number("SELECT auth_epoch FROM meta")
	if err := errors.Join(verr, err); err != nil || v != version()-1 || epoch != 77 {
		t.Errorf("the copy has schema %d and epoch %d, %v", v, epoch, err)
	}
	if left := check(filepath.Glob(path + CopySuffix + "*")); !slices.Equal(left, []string{copyOf(path), foreign}) {
		t.Errorf("after the migration there are %q", left)
	}

	// A file of this version is not copied, and copies are removed after their time.
	s := open(t, path, Options{Serve: true, Migrated: func(m Migration) { t.Errorf("migrated again: %v", m) }})
	if err := s.PruneCopies(time.Now().Add(-time.Hour)); err != nil || fingerprint(t, copyOf(path)) == "" {
		t.Error(err)
	}
	if _, err := os.Lstat(copyOf(path)); err != nil {
		t.Errorf("a new copy was removed: %v", err)
	}
	succeed(s.PruneCopies(time.Now().Add(time.Hour)))
	if _, err := os.Lstat(copyOf(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an old copy was not removed: %v", err)
	}
}

// TestMigrationWithoutCopy checks that a file that cannot be copied is not migrated, unless
// no copy is wanted.
func TestMigrationWithoutCopy(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func(path string) error{
		"a symbolic link":      func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "none"), path) },
		"a folder":             func(path string) error { return os.Mkdir(path, 0o700) },
		"somebody's file":      func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("mine\n", 500)), 0o644) },
		"a symbolic link ":     func(path string) error { return os.Symlink("older.db", path+".partial") },
		"a folder ":            func(path string) error { return os.Mkdir(path+".partial", 0o700) },
		"such copy, but newer": func(path string) error { return os.WriteFile(path, newFile(), 0o600) },
	} {
		path := older(t)
		succeed(create(copyOf(path)))
		createWithScript(t, path, "PRAGMA journal_mode=WAL")
		before := contents(t, path)
		says := strings.TrimSpace(name)
		if strings.Contains(says, "copy") {
			says = "no such copy"
		}
		s, err := Open(path, Options{Serve: true})
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, ErrNotCopied) || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
		after := slices.DeleteFunc(contents(t, path), func(line string) bool { return strings.HasPrefix(line, "older.db.lock ") })
		if !slices.Equal(after, before) {
			t.Errorf("%s: the folder has\n%s\nand had\n%s", name, strings.Join(after, "\n"), strings.Join(before, "\n"))
		}
		if m, err := Migrate(path, Options{NoCopy: true}); err != nil || m.Copy != "" || m.To != version() {
			t.Errorf("%s, without a copy: %v, %v", name, m, err)
		}
	}
}
