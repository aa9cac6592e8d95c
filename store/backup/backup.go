// Package backup copies a punchcard database to a file while it is served, does
// so on a schedule in a folder, and puts a copy back in the place of a database.
package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"punchcard/store"
	"punchcard/store/sqlite"
)

// Options say how a database is copied to a file or back.
type Options struct {
	// Force replaces a file that is there.
	Force bool
	// Quick leaves out the invariants when the copy is verified; they take long
	// on a big file.
	Quick bool
	// Copied, if set, is called when the pages have been copied: what follows
	// holds nobody up any more and may take its time.
	Copied func()
}

// beside are the files that SQLite keeps next to a database.
var beside = []string{"-wal", "-shm", "-journal"}

// Create copies the database db to the file while it may be served, also by
// another process: the file then holds all that was committed when Create
// began. It returns the copy's size in bytes.
//
// The pages are copied beside the file, verified, rewritten without anything
// that was erased, synced, verified again and then given the file's name, with
// mode 0600: it is whole or not there, and one that it replaces (Force) is there
// until then. db is not changed, and not migrated.
// Where ctx ends first nothing is left. The errors are one line that names the
// file at fault.
func Create(ctx context.Context, db, file string, o Options) (size int64, err error) {
	if err := store.CheckPath(db, true); err != nil {
		return 0, err
	}
	if err := checkTarget(db, file, o.Force); err != nil {
		return 0, err
	}
	// Before anything is written: what is no database is refused in its name.
	if err := store.Inspect(db); err != nil {
		return 0, err
	}
	p, err := newPartial(file)
	if err != nil {
		return 0, err
	}
	defer p.discard()
	from, err := copySource(db)
	if err != nil {
		return 0, store.OpenError(db, err)
	}
	if err = p.newRaw(); err == nil {
		err = copyDatabase(ctx, from, p.raw())
	}
	if err == nil {
		emptyLog(from)
	}
	if cerr := from.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = settle(p.raw(), db, false) // it does not stay
	}
	if err != nil {
		return 0, copyError(ctx, file, db, err)
	}
	if o.Copied != nil {
		o.Copied()
	}
	if err := verify(ctx, p.raw(), db, o.Quick); err != nil {
		return 0, refusedCopy(ctx, file, err)
	}
	if err := rewrite(ctx, p.raw(), p.path); err != nil {
		return 0, copyError(ctx, file, db, err)
	}
	if err := verify(ctx, p.path, file, true); err != nil {
		return 0, refusedCopy(ctx, file, err)
	}
	info, err := os.Stat(p.path)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, cause(err))
	}
	if err := checkTarget(db, file, o.Force); err != nil { // it may have come meanwhile
		return 0, err
	}
	return info.Size(), p.commit()
}

// settle makes one file of the copied pages; with sync it makes them last.
func settle(path, db string, sync bool) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return fmt.Errorf("%s: is not a punchcard database, but an empty file", db)
	}
	return settleHeader(path, withJournal, sync)
}

// copyError says which copy failed, and why.
func copyError(ctx context.Context, to, from string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: not made: %w", to, ctx.Err())
	}
	return fmt.Errorf("%s: not made from %s: %w", to, from, sqlite.Class(cause(err)))
}

// refusedCopy says that a copy did not pass, and what of it can be done
// without.
func refusedCopy(ctx context.Context, to string, err error) error {
	var f damage
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: not made: %w", to, ctx.Err())
	case errors.As(err, &f) && !strings.HasPrefix(string(f), "integrity"):
		return fmt.Errorf("%s: not made: %w; check lists all, and without the invariants (quick) it is copied all the same", to, err)
	}
	return fmt.Errorf("%s: not made: %w", to, err)
}

// ErrExists is the refusal to replace a file without Force.
var ErrExists = errors.New("exists already")

// checkTarget refuses a file that a copy of db must not take the place of.
func checkTarget(db, file string, force bool) error {
	if dir, err := os.Stat(filepath.Dir(file)); err != nil || !dir.IsDir() {
		return fmt.Errorf("%s: the folder %s does not exist", file, filepath.Dir(file))
	}
	target, err := os.Stat(file)
	there := err == nil
	for _, end := range append([]string{"", ".lock"}, beside...) {
		own, err := os.Stat(db + end)
		if err == nil && there && os.SameFile(own, target) || samePath(db+end, file) {
			return fmt.Errorf("%s: is the database itself, or belongs to it", file)
		}
	}
	for _, end := range beside {
		if _, err := os.Lstat(file + end); err == nil {
			return fmt.Errorf("%s: %s is beside it: it is a database in use, or the rest of one", file, filepath.Base(file)+end)
		}
	}
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", file, cause(err))
	case there && target.IsDir():
		return fmt.Errorf("%s: is a folder, not a file", file)
	case !info.Mode().IsRegular() && info.Mode()&os.ModeSymlink == 0:
		return fmt.Errorf("%s: is not a regular file", file)
	case !force:
		return fmt.Errorf("%s: %w", file, ErrExists)
	}
	return nil
}

// samePath tells whether two paths, made absolute, are written alike.
func samePath(a, b string) bool {
	a, aerr := filepath.Abs(a)
	b, berr := filepath.Abs(b)
	return aerr == nil && berr == nil && a == b
}
