package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"punchcard/store"
	"punchcard/store/sqlite"
)

// Restored is what a restore did.
type Restored struct {
	Size int64  // of the database, in bytes
	Kept string // the file that was replaced, under its new name; empty where there was none
}

// Restore puts a copy of the backup in the place of the database db, which
// nobody may be using. The backup is verified before anything is changed; it
// may be any punchcard database, and stays as it is. A database that is
// replaced (Force) is kept as db.before-restore- and the time now.
//
// A crash at any line leaves the old database or the new one; see swap. The
// errors are one line that names the file at fault.
func Restore(ctx context.Context, backup, db string, now time.Time, o Options) (r Restored, err error) {
	if err := store.CheckPath(backup, true); err != nil {
		return r, err
	}
	if err := store.CheckPath(db, false); err != nil {
		return r, err
	}
	if a, err := os.Stat(backup); err == nil {
		if b, err := os.Stat(db); err == nil && os.SameFile(a, b) {
			return r, fmt.Errorf("%s: is the database itself", backup)
		}
	}
	if !o.Force {
		for _, end := range []string{"", "-wal", "-journal"} {
			if _, err := os.Lstat(db + end); err == nil {
				return r, fmt.Errorf("%s: %w", db+end, ErrExists)
			}
		}
	}
	lock, err := lockForRestore(db)
	if err != nil {
		return r, err
	}
	defer func() {
		err = errors.Join(err, os.Truncate(db+".lock", 0), lock.Close())
	}()
	if err := forgetLinks(db); err != nil {
		return r, err
	}
	p, err := newPartial(db)
	if err != nil {
		return r, err
	}
	defer p.discard()
	if err := fillFrom(ctx, p, backup, now, o.Quick); err != nil {
		return r, err
	}
	info, err := os.Stat(p.path)
	if err == nil {
		err = likeOld(p.path, db)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", db, cause(err))
	}
	r.Size = info.Size()
	r.Kept, err = swap(p, fmt.Sprintf("%s.before-restore-%s", db, now.UTC().Format(TimeLayout)))
	return r, err
}

// lockForRestore takes the lock of the one server that a database may have, and
// marks it, so that commands that begin now are refused too. Those that have
// the database open already are found by swap.
func lockForRestore(db string) (*flock.Flock, error) {
	lock := flock.New(db + ".lock")
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("%s: cannot write next to the database: %w", db, cause(err))
	}
	if !ok {
		return nil, fmt.Errorf("%w; stop it first", store.LockedError(db))
	}
	if err := os.WriteFile(db+".lock", []byte(store.RestoreMark), 0o600); err != nil {
		lock.Close()
		return nil, fmt.Errorf("%s: cannot write next to the database: %w", db, cause(err))
	}
	return lock, nil
}

// forgetLinks removes the names that a restore killed in the middle of swap
// has given to the database that is still in its place.
func forgetLinks(db string) error {
	own, err := os.Stat(db)
	if err != nil {
		return nil
	}
	names, err := filepath.Glob(escapeGlob(db) + ".before-restore-*")
	if err != nil {
		return fmt.Errorf("%s: %w", db, err)
	}
	for _, name := range names {
		if other, err := os.Lstat(name); err == nil && os.SameFile(own, other) {
			if err := os.Remove(name); err != nil {
				return fmt.Errorf("%s: %w", name, cause(err))
			}
		}
	}
	return nil
}

// escapeGlob writes a path so that filepath.Glob takes it as it is.
func escapeGlob(path string) (escaped string) {
	for _, r := range path {
		switch r {
		case '*', '?', '[':
			escaped += "[" + string(r) + "]"
		case '\\':
			escaped += `\\`
		default:
			escaped += string(r)
		}
	}
	return escaped
}

// fillFrom copies the backup into p, verifies what was copied, and syncs it.
func fillFrom(ctx context.Context, p *partial, backup string, now time.Time, quick bool) error {
	from, err := openBackup(ctx, backup)
	if err != nil {
		return store.OpenError(backup, err)
	}
	_, err = store.SchemaVersion(from, backup)
	if ctx.Err() != nil {
		err = copyError(ctx, p.name, backup, ctx.Err())
	}
	if err == nil {
		if err = copyDatabase(ctx, from, p.path); err == nil {
			err = settle(p.path, backup, true)
		}
		if err != nil {
			err = copyError(ctx, p.name, backup, err)
		}
	}
	if cerr := from.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := verify(ctx, p.path, backup, quick); err != nil {
		return refusedCopy(ctx, p.name, err)
	}
	err = store.SkipKeys(p.path, now)
	if err == nil {
		err = settleHeader(p.path, withLog, true)
	}
	if err != nil {
		return copyError(ctx, p.name, backup, err)
	}
	return nil
}

// openBackup opens a backup for reading. What has a log or a journal beside it
// is read with that; else nothing is made beside it, since it may be where
// nothing can be written.
func openBackup(ctx context.Context, path string) (*sqlite.Conn, error) {
	if small, err := os.Stat(path); err == nil && small.Size() < sqlite.MinSize {
		return nil, sqlite.ErrNotADB
	}
	for _, end := range []string{"-wal", "-journal"} {
		if _, err := os.Stat(path + end); err == nil {
			return sqlite.Open(path, sqlite.ReadOnly, "busy_timeout=5000")
		}
	}
	return openImmutable(ctx, path)
}

// swap puts the new database, which is whole and synced, in the place of the
// old one, which it keeps under the name kept, if there is one. It returns the
// name. Others may have begun to use the old one before the lock was taken; it
// refuses then.
//
// An old database is its file and a log of commits that are not in the file
// yet (or, after a crash, a journal of what must be taken out of it). SQLite
// finds these by name: the old log beside the new file would be played into it,
// and the old file without its log lacks commits. So the log goes first, and
// into the old file:
//
//  1. quiesce: SQLite itself moves the log into the file and empties it, which
//     a crash may interrupt anywhere; what it leaves is the old database. From
//     before that on the connection holds the file's exclusive lock: whoever
//     wants to read or write it waits, so that nothing new comes into the log.
//     What still lies beside the file is empty, and is removed.
//  2. link: the file gets a second name. Crash: the old database, with two
//     names; forgetLinks takes the second away in the next restore.
//  3. syncFolder: without it a power loss could keep the renaming of 4 and not
//     the link, and the old file would be gone.
//  4. rename: the first name goes from the old file to the new one, in one
//     step. Crash before: the old database; after: the new one. There is no log
//     for either.
//  5. syncFolder: now it lasts. A power loss before leaves either.
//  6. The lock on the old file ends.
//
// A file that SQLite cannot open (which may be why it is replaced) has no state
// that could get lost. It is linked, and log and journal are moved aside under
// its new name, before the renaming; a crash in between leaves it as unusable
// as it was.
func swap(p *partial, kept string) (string, error) {
	db := p.name
	if _, err := os.Stat(db); errors.Is(err, os.ErrNotExist) {
		// A log without its database is of no use, but would be played into the
		// new one: it goes first. A crash leaves no database, as before.
		for _, end := range beside {
			if err := os.Remove(db + end); err != nil && !errors.Is(err, os.ErrNotExist) {
				return "", fmt.Errorf("%s: %w", db+end, cause(err))
			}
		}
		if err := syncFolder(db); err != nil {
			return "", err
		}
		return "", p.commit()
	}
	old, err := quiesce(db)
	switch {
	case err == nil:
		defer old.Close()
	case errors.Is(err, sqlite.ErrNotADB), errors.Is(err, sqlite.ErrCorrupt):
	case errors.Is(err, sqlite.ErrBusy):
		return "", fmt.Errorf("%s: another process is using the database", db)
	default:
		return "", fmt.Errorf("%s: %w", db, sqlite.Class(err))
	}
	if kept, err = linkFree(db, kept); err != nil {
		return "", fmt.Errorf("%s: cannot be kept: %w", db, cause(err))
	}
	for _, end := range beside {
		// What cannot be opened keeps all but the -shm, which says nothing
		// without a log.
		if old != nil || end == "-shm" {
			err = os.Remove(db + end)
		} else {
			err = os.Rename(db+end, kept+end)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("%s: %w", db+end, cause(err))
		}
	}
	if err := syncFolder(db); err != nil {
		return "", err
	}
	return kept, p.commit()
}

// quiesce brings a database into one file, with an empty log, and returns the
// connection that holds its exclusive lock.
func quiesce(db string) (*sqlite.Conn, error) {
	c, err := sqlite.Open(db, sqlite.ReadWrite, "busy_timeout=1000", "locking_mode=EXCLUSIVE", "synchronous=FULL")
	if err != nil {
		return nil, err
	}
	// The lock comes with the first transaction, and stays.
	err = c.Script("BEGIN EXCLUSIVE; COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
	if err == nil {
		if info, serr := os.Stat(db + "-wal"); serr == nil && info.Size() > 0 {
			err = sqlite.ErrBusy
		}
	}
	if err == nil {
		_, err = c.Exec("BEGIN EXCLUSIVE")
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// linkFree gives the file a second name, which is free: name, or name and a
// number.
func linkFree(file, name string) (string, error) {
	for n, try := 2, name; ; n++ {
		err := os.Link(file, try)
		if !errors.Is(err, os.ErrExist) || n > 100 {
			return try, err
		}
		try = fmt.Sprintf("%s-%d", name, n)
	}
}
