// Package backup copies a punchcard database to a file while it is served, makes
// such copies in a folder on a schedule, and restores a database from a copy.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"punchcard/store"
	"punchcard/store/file"
	"punchcard/store/sqlite"
)

// Options say how a database is copied to a file or back.
type Options struct {
	// Force replaces an existing file.
	Force bool
	// Quick leaves out the invariants, which take long on a big file, when the copy
	// is verified.
	Quick bool
	// Copied, if set, is called when the pages have been copied: what follows does
	// not slow down writers and may run with a low priority.
	Copied func()
	// Progress, if set, is told how far the work is: bytes where the file is written,
	// rows where it is verified.
	Progress store.Progress
}

// depth returns how much of the copy is verified.
func (o Options) depth() store.Depth {
	if o.Quick {
		return store.Integrity
	}
	return store.Invariants
}

// Create copies the database db to the file to while it may be served, also by
// another process: the file then holds all that was committed when Create
// began. It returns the copy's size in bytes.
//
// Create copies the pages to a file beside it, verifies them, rewrites them
// without remains of erased data, syncs the result, verifies its structure and renames it.
// So the file, of mode 0600, is complete or does not exist, and a file that it
// replaces (Force) exists until then. Create does not change or migrate db, and
// leaves nothing behind if ctx ends. Its errors are one line that names the file.
func Create(ctx context.Context, db, to string, o Options) (size int64, err error) {
	if db, err = store.CheckPath(db, true); err != nil {
		return 0, err
	}
	if err := checkTarget(db, to, o.Force); err != nil {
		return 0, err
	}
	// Before anything is written, so that the error names db.
	if _, err := store.Inspect(ctx, db); err != nil {
		if ctx.Err() != nil {
			err = copyError(ctx, to, db, err)
		}
		return 0, err
	}
	p, err := newPartial(to)
	if err != nil {
		return 0, err
	}
	defer p.discard()
	defer o.Progress.End()
	// Not read-only, since the last connection to close, which may be this one,
	// empties the log.
	from, err := sqlite.OpenContext(ctx, db, sqlite.ReadWrite, "busy_timeout=5000", "query_only=1")
	if err != nil {
		return 0, store.OpenError(db, err)
	}
	if err = p.newRaw(); err == nil {
		err = store.CopyPages(ctx, from, p.raw(), o.Progress)
	}
	if err == nil {
		// The log goes into the database as far as other connections allow it, so that
		// no writer has to move all that the log got during the copy.
		from.Exec("PRAGMA wal_checkpoint(PASSIVE)")
	}
	if err = cmp.Or(err, from.Close()); err == nil {
		err = finishCopy(p.raw(), db, false) // not synced, since it is removed below
	}
	if err != nil {
		return 0, copyError(ctx, to, db, err)
	}
	if o.Copied != nil {
		o.Copied()
	}
	if err := verify(ctx, p.raw(), db, o.depth(), o.Progress); err != nil {
		return 0, verifyError(ctx, to, err)
	}
	if err := rewrite(ctx, p.raw(), p.path, o.Progress); err != nil {
		return 0, copyError(ctx, to, db, err)
	}
	// The indexes are copied as they were verified.
	if err := verify(ctx, p.path, to, store.Structure, o.Progress); err != nil {
		return 0, verifyError(ctx, to, err)
	}
	info, err := os.Stat(p.path)
	if err != nil {
		return 0, file.Line(to, err)
	}
	if err := checkTarget(db, to, o.Force); err != nil { // it may have been created meanwhile
		return 0, err
	}
	return info.Size(), p.commit()
}

// finishCopy refuses an empty copy and sets the header of any other to
// store.WithJournal. With sync it syncs the file.
func finishCopy(path, db string, sync bool) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return fmt.Errorf("%s: is not a punchcard database, but an empty file", db)
	}
	return store.SetHeader(path, store.WithJournal, sync)
}

// copyError returns the error of a copy that failed.
func copyError(ctx context.Context, to, from string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: not made: %w", to, ctx.Err())
	}
	return fmt.Errorf("%s: not made from %s: %w", to, from, sqlite.Class(file.Cause(err)))
}

// verifyError returns the error of a copy that did not pass the verification.
func verifyError(ctx context.Context, to string, err error) error {
	var f damage
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: not made: %w", to, ctx.Err())
	case errors.As(err, &f) && !strings.HasPrefix(string(f), "integrity"):
		return fmt.Errorf("%s: not made: %w: %w", to, ErrInvariants, err)
	}
	return fmt.Errorf("%s: not made: %w", to, err)
}

// ErrInvariants is the error of a copy of a file that breaks invariants, which Quick leaves out.
var ErrInvariants = errors.New("an invariant does not hold")

// ErrExists is the error of replacing a file without Force.
var ErrExists = errors.New("exists already")

// checkTarget returns an error if a copy of db must not have the name to.
func checkTarget(db, to string, force bool) error {
	if dir, err := os.Stat(filepath.Dir(to)); err != nil || !dir.IsDir() {
		return fmt.Errorf("%s: the folder %s does not exist", to, filepath.Dir(to))
	}
	target, err := os.Stat(to)
	exists := err == nil
	for _, suffix := range append([]string{"", ".lock"}, store.BesideSuffixes...) {
		own, err := os.Stat(db + suffix)
		if err == nil && exists && os.SameFile(own, target) || samePath(db+suffix, to) {
			return fmt.Errorf("%s: is the database itself, or belongs to it", to)
		}
	}
	for _, suffix := range store.BesideSuffixes {
		if _, err := os.Lstat(to + suffix); err == nil {
			return fmt.Errorf("%s: %s is beside it: it is a database in use, or the rest of one", to, filepath.Base(to)+suffix)
		}
	}
	if exists && target.IsDir() {
		return fmt.Errorf("%s: is a folder, not a file", to)
	}
	if err := file.Check(to); err != nil {
		return err
	}
	if exists && !force {
		return fmt.Errorf("%s: %w", to, ErrExists)
	}
	return nil
}

// samePath reports whether two paths are the same once they are absolute.
func samePath(a, b string) bool {
	a, aerr := filepath.Abs(a)
	b, berr := filepath.Abs(b)
	return aerr == nil && berr == nil && a == b
}
