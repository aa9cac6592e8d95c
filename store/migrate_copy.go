package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"punchcard/store/file"
	"punchcard/store/sqlite"
)

// Migration describes a migration that has ended.
type Migration struct {
	From, To int64  // versions of the schema
	Copy     string // the file as it was before; empty: there is no copy
}

// Migrate brings the file at the path to the current schema as Open does with Options.Serve. It
// leaves a file that has this schema alone, which may be served.
func Migrate(path string, opts Options) (done Migration, err error) {
	if path, err = CheckPath(path, true); err != nil {
		return done, err
	}
	have, err := Inspect(cmp.Or(opts.Context, context.Background()), path)
	if err != nil || have == version() {
		return Migration{From: have, To: have}, err
	}
	opts.Serve, opts.MustExist, opts.Readers = true, true, 1
	opts.Migrated = func(m Migration) { done = m }
	s, err := Open(path, opts)
	if err != nil {
		return done, err
	}
	return done, s.Close()
}

// ErrNotCopied is the error of a migration that was not begun, since the file could not be
// copied.
var ErrNotCopied = errors.New("not migrated, since it cannot be copied before")

// CopySuffix and a version of the schema follow the name of a database in the name of its copy
// from before a migration.
const CopySuffix = ".schema-"

// copyBefore copies the file, whose schema has the version, before it is migrated, and returns
// the path of the copy. The copy is complete and synced, or it has the suffix ".partial", which
// the next one removes. It replaces a copy that an earlier attempt to migrate the file has left.
//
// The caller holds the serve lock, so that no other process makes this copy, and SQLite's lock
// of writers, so that the copy has all that the migration changes.
func (s *Store) copyBefore(version int64) (string, error) {
	name := fmt.Sprint(s.path, CopySuffix, version)
	partial := name + ".partial"
	err := cmp.Or(file.Check(name), file.Check(partial))
	if err == nil {
		err = s.checkEarlierCopy(name, version)
	}
	if err == nil {
		if err = os.Remove(partial); err == nil || errors.Is(err, fs.ErrNotExist) {
			err = file.Create(partial)
		}
	}
	if err == nil {
		if err = s.copyTo(partial); err == nil {
			err = os.Rename(partial, name)
		}
		if err != nil {
			os.Remove(partial)
		} else {
			err = file.SyncFolder(name)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %w", s.path, ErrNotCopied, sqlite.Class(file.Line(name, err)))
	}
	return name, nil
}

// checkEarlierCopy returns an error if there is a file at the path that is not a copy of a
// database of the version.
func (s *Store) checkEarlierCopy(path string, version int64) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if have, err := Inspect(s.opts.Context, path); err != nil || have != version {
		return fmt.Errorf("%s: is somebody's file, and no such copy", path)
	}
	return nil
}

// copyTo copies the file to an empty one and syncs it.
func (s *Store) copyTo(path string) error {
	from, err := sqlite.OpenContext(s.opts.Context, s.path, sqlite.ReadWrite, s.busyTimeout(), "query_only=1")
	if err != nil {
		return err
	}
	err = CopyPages(s.opts.Context, from, path, s.opts.Progress)
	if err = errors.Join(err, from.Close()); err != nil {
		return err
	}
	s.opts.Progress.Begin("writing the copy to the disk")
	return SetHeader(path, WithJournal, true)
}

// PruneCopies removes the copies from before migrations that were made before a time.
func (s *Store) PruneCopies(before time.Time) error {
	return s.removeCopies(func(_ int64, info fs.FileInfo) bool { return info.ModTime().Before(before) })
}

// removeCopies removes the copies from before migrations, complete or not, for which old returns
// true. version is the version of their schema.
func (s *Store) removeCopies(old func(version int64, info fs.FileInfo) bool) error {
	folder, base := filepath.Split(s.path)
	entries, err := os.ReadDir(filepath.Clean(folder))
	if err != nil {
		return file.Line(s.path, err)
	}
	var errs []error
	for _, e := range entries {
		text, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".partial"), base+CopySuffix)
		version, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil || fmt.Sprint(version) != text || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil || !old(version, info) { // another process may have removed it
			continue
		}
		if err := os.Remove(folder + e.Name()); err != nil {
			errs = append(errs, file.Line(folder+e.Name(), err))
		}
	}
	return errors.Join(errs...)
}
