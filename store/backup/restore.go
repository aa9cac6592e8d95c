package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"punchcard/store"
	"punchcard/store/file"
	"punchcard/store/sqlite"
)

// Restored is the result of Restore.
type Restored struct {
	Size int64  // of the database, in bytes
	Kept string // the new name of the file that was replaced, "" if there was none
	// Review lists what is valid again though it may have been revoked after the backup.
	Review store.Restored
}

// Restore replaces the database db, which no process may be using, by a copy of
// the backup, which may be any punchcard database. It verifies the backup before
// it changes anything. A database that is replaced (Force) is renamed to
// db.before-restore- and the time now. It follows no symbolic link at db or at a file beside it,
// and replaces nothing but an empty file and a punchcard database, which may be damaged.
//
// A crash at any point leaves the old database or the new one; see swap. Its
// errors are one line that names the file.
func Restore(ctx context.Context, backup, db string, now time.Time, o Options) (r Restored, err error) {
	if backup, err = store.CheckPath(backup, true); err != nil {
		return r, err
	}
	if err := file.Check(db); err != nil {
		return r, err
	}
	if db, err = store.CheckPath(db, false); err != nil {
		return r, err
	}
	if err := checkReplaced(ctx, db); err != nil {
		return r, err
	}
	if a, err := os.Stat(backup); err == nil {
		if b, err := os.Stat(db); err == nil && os.SameFile(a, b) {
			return r, fmt.Errorf("%s: is the database itself", backup)
		}
	}
	if !o.Force {
		for _, suffix := range []string{"", "-wal", "-journal"} {
			if _, err := os.Lstat(db + suffix); err == nil {
				return r, fmt.Errorf("%s: %w", db+suffix, ErrExists)
			}
		}
	}
	lock, err := lockForRestore(db)
	if err != nil {
		return r, err
	}
	defer func() {
		err = errors.Join(err, lock.Mark("", store.RestoreMark), lock.Close())
	}()
	p, err := newPartial(db)
	if err != nil {
		return r, err
	}
	defer p.discard()
	defer o.Progress.End()
	if err := removeLinks(p); err != nil {
		return r, err
	}
	if r.Review, err = copyBackup(ctx, p, backup, now, o); err != nil {
		return r, err
	}
	o.Progress.Begin("replacing the database")
	if r.Size, err = copyOwner(p); err != nil {
		return r, err
	}
	r.Kept, err = swap(ctx, p, db+keptSuffix+now.UTC().Format(TimeLayout))
	return r, err
}

// lockForRestore takes the lock of the database's server and marks it, so that
// commands that begin now are refused too. swap finds those that have the
// database open already.
func lockForRestore(db string) (*file.Lock, error) {
	lock, err := store.TakeLock(db, store.RestoreMark)
	if errors.Is(err, file.ErrLocked) {
		return nil, fmt.Errorf("%w; stop it first", err)
	}
	return lock, err
}

// checkReplaced returns an error if there is something at the path that a restore must not
// replace.
func checkReplaced(ctx context.Context, db string) error {
	f, err := file.Open(db, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return store.OpenError(db, file.Cause(err))
	}
	defer f.Close()
	header := make([]byte, 100)
	n, err := io.ReadFull(f, header)
	if n == 0 && errors.Is(err, io.EOF) || store.IsDatabase(header[:n]) {
		return nil
	}
	// Before its first checkpoint all of a database is in its log.
	if _, err := store.Inspect(ctx, db); err != nil {
		return fmt.Errorf("%s: is neither empty nor a punchcard database, so a restore does not replace it; move it away first", db)
	}
	return nil
}

// removeLinks removes the second names that a restore, killed in the middle of
// swap, gave to the database.
func removeLinks(p *partial) error {
	base := filepath.Base(p.name)
	own, err := p.root.Lstat(base)
	if err != nil {
		return nil
	}
	entries, err := fs.ReadDir(p.root.FS(), ".")
	if err != nil {
		return file.Line(p.name, err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), base+keptSuffix) {
			continue
		}
		if other, err := p.root.Lstat(e.Name()); err == nil && os.SameFile(own, other) {
			if err := p.root.Remove(e.Name()); err != nil {
				return file.Line(p.name, err)
			}
		}
	}
	return nil
}

// copyBackup copies the backup into p, verifies the copy, ends its sessions and one-time
// links, which a backup revives, and syncs it.
func copyBackup(ctx context.Context, p *partial, backup string, now time.Time, o Options) (review store.Restored, err error) {
	from, err := openBackup(ctx, backup)
	if err != nil {
		return review, store.OpenError(backup, err)
	}
	_, err = store.SchemaVersion(from, backup)
	if ctx.Err() != nil {
		err = copyError(ctx, p.name, backup, ctx.Err())
	}
	if err == nil {
		if err = store.CopyPages(ctx, from, p.path, o.Progress); err == nil {
			o.Progress.Begin("writing to the disk")
			err = finishCopy(p.path, backup, true)
		}
		if err != nil {
			err = copyError(ctx, p.name, backup, err)
		}
	}
	if err = cmp.Or(err, from.Close()); err != nil {
		return review, err
	}
	if err := verify(ctx, p.path, backup, o.depth(), o.Progress); err != nil {
		return review, verifyError(ctx, p.name, err)
	}
	o.Progress.Begin("ending sessions and links")
	if review, err = store.EndRestored(p.path, now); err == nil {
		err = store.SetHeader(p.path, store.WithLog, true)
	}
	if err != nil {
		return review, copyError(ctx, p.name, backup, err)
	}
	return review, nil
}

// openBackup opens a backup for reading, together with the log or journal beside
// it, if there is one. Without one it creates no file beside the backup, since the
// folder may be read-only.
func openBackup(ctx context.Context, path string) (*sqlite.Conn, error) {
	if info, err := os.Stat(path); err == nil && info.Size() < sqlite.MinSize {
		return nil, sqlite.ErrNotADB
	}
	for _, suffix := range []string{"-wal", "-journal"} {
		if _, err := os.Stat(path + suffix); err == nil {
			return sqlite.OpenContext(ctx, path, sqlite.ReadOnly, "busy_timeout=5000")
		}
	}
	return openImmutable(ctx, path)
}

// swap puts the new database, which is complete and synced, in the place of the
// old one, which it renames to kept. It returns that name, with a number if it
// was taken, or "" if there was no old database. It refuses if a process that
// began before the lock was taken uses the old one.
//
// The old database consists of its file and a log of commits that are not in the
// file yet (or, after a crash, a journal of changes to roll back). SQLite finds
// these by name: it would apply an old log to the new file, and the old file
// without its log lacks commits. So the log is moved into the old file first:
//
//  1. quiesce: SQLite moves the log into the file and truncates it. A crash
//     leaves the old database. The connection holds the file's exclusive lock
//     meanwhile and until step 6, so that readers and writers wait and the log
//     stays empty. The empty files beside the database are removed.
//  2. link: the file gets a second name. A crash leaves the old database with
//     two names; removeLinks removes the second in the next restore.
//  3. syncFolder: otherwise a power loss could keep the rename of step 4 but not
//     the link, and the old file would be lost.
//  4. rename: the first name changes from the old file to the new one in one
//     step. A crash before it leaves the old database, after it the new one.
//     Neither has a log.
//  5. syncFolder: the rename survives power loss. Before, either file may stay.
//  6. The lock on the old file ends.
//
// A file that SQLite cannot open (which may be why it is replaced) has no log to
// move. It is linked, and log and journal are renamed along with it, before the
// rename of step 4; a crash in between leaves it as unusable as before.
func swap(ctx context.Context, p *partial, kept string) (string, error) {
	db, base := p.name, filepath.Base(p.name)
	if err := p.here(); err != nil {
		return "", err
	}
	if _, err := p.root.Lstat(base); errors.Is(err, os.ErrNotExist) {
		// SQLite would apply a log without its database to the new one, so it is
		// removed first. A crash leaves no database, as before.
		for _, suffix := range store.BesideSuffixes {
			if err := p.root.Remove(base + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				return "", file.Line(db+suffix, err)
			}
		}
		if err := p.sync(); err != nil {
			return "", err
		}
		return "", p.commit()
	}
	old, err := quiesce(ctx, db)
	switch {
	case err == nil:
		defer old.Close()
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: not made: %w", db, ctx.Err())
	case errors.Is(err, sqlite.ErrNotADB), errors.Is(err, sqlite.ErrCorrupt):
	case errors.Is(err, sqlite.ErrBusy):
		return "", fmt.Errorf("%s: another process is using the database", db)
	default:
		return "", fmt.Errorf("%s: %w", db, sqlite.Class(err))
	}
	if err := cmp.Or(p.here(), file.Check(db)); err != nil { // SQLite has opened the file by its path
		return "", err
	}
	if kept, err = linkFree(p, kept); err != nil {
		return "", fmt.Errorf("%s: cannot be kept: %w", db, file.Cause(err))
	}
	for _, suffix := range store.BesideSuffixes {
		// A file that cannot be opened keeps its log and journal. SQLite creates
		// the -shm again.
		if old != nil || suffix == "-shm" {
			err = p.root.Remove(base + suffix)
		} else {
			err = p.root.Rename(base+suffix, filepath.Base(kept)+suffix)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", file.Line(db+suffix, err)
		}
	}
	if err := p.sync(); err != nil {
		return "", err
	}
	return kept, p.commit()
}

// quiesce moves the log of a database into its file and returns the connection
// that holds the exclusive lock.
func quiesce(ctx context.Context, db string) (*sqlite.Conn, error) {
	c, err := sqlite.OpenContext(ctx, db, sqlite.ReadWrite, "busy_timeout=1000", "locking_mode=EXCLUSIVE", "synchronous=FULL")
	if err != nil {
		return nil, err
	}
	// The connection takes the lock with the first transaction and keeps it.
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

// linkFree gives the database a second name: name, or, if that exists, name and a
// number.
func linkFree(p *partial, name string) (string, error) {
	for n, try := 2, name; ; n++ {
		err := p.root.Link(filepath.Base(p.name), filepath.Base(try))
		if !errors.Is(err, os.ErrExist) || n > 100 {
			return try, err
		}
		try = fmt.Sprintf("%s-%d", name, n)
	}
}

// copyOwner gives the file the owner and the mode of the database that it replaces, if there is
// one, and the owner of an empty file: the user who restores may not be the one who serves. It
// returns the size of the file.
func copyOwner(p *partial) (size int64, err error) {
	if err := p.here(); err != nil {
		return 0, err
	}
	f, err := p.root.OpenFile(filepath.Base(p.path), os.O_RDWR, 0)
	if err != nil {
		return 0, file.Line(p.name, err)
	}
	defer f.Close()
	is, err := f.Stat()
	if err != nil {
		return 0, file.Line(p.name, err)
	}
	if same, err := p.lock.Is(is); err != nil || !same {
		return 0, p.moved()
	}
	was, err := p.root.Lstat(filepath.Base(p.name))
	if err == nil {
		if err = chown(f, is, was); err == nil && was.Size() > 0 {
			err = f.Chmod(was.Mode().Perm())
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, file.Line(p.name, err)
	}
	return is.Size(), nil
}
