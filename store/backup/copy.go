package backup

import (
	"context"
	"errors"
	"fmt"
	"os"

	"punchcard/store"
	"punchcard/store/sqlite"
)

// copyPages is how many pages are copied between two looks at the context: a
// few milliseconds' worth.
const copyPages = 256

// copySource opens a database to be copied while others use it. Its last
// connection, which this one may be, empties the log as any other does.
func copySource(path string) (*sqlite.Conn, error) {
	return sqlite.Open(path, sqlite.ReadWrite, "busy_timeout=5000", "query_only=1")
}

// copyDatabase copies all pages of the source as they are at one moment to the
// file to, which is there, and empty.
//
// One read transaction spans the copy, so that writers go on beside it and the
// copy does not begin anew with each of their commits, as SQLite's backup does
// without. The write-ahead log cannot be used anew meanwhile and grows by what
// is written. That is why the copy neither rests between its steps nor has
// SQLite build the tables anew (VACUUM INTO), which takes ten times as long:
// the shorter it is the less the log grows, and both of the others slow the
// writers down more in the end.
//
// The copied pages may hold remains of rows that are no more; see rewrite.
func copyDatabase(ctx context.Context, from *sqlite.Conn, to string) (err error) {
	if _, err := from.Exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		_, cerr := from.Exec("COMMIT")
		err = errors.Join(err, cerr)
	}()
	// The transaction begins to read here.
	if _, err := from.Number("SELECT count(*) FROM sqlite_schema"); err != nil {
		return err
	}
	// Without a journal and without syncing: half a copy is thrown away, a whole
	// one is synced at the end.
	c, err := sqlite.Open(to, sqlite.ReadWrite, "journal_mode=OFF", "synchronous=OFF")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return sqlite.Copy(ctx, c, from, copyPages)
}

// rewrite builds a copy at rest anew, row by row, into the empty file to. With
// secure_delete SQLite overwrites what is deleted, but where it moves rows
// between pages it leaves them behind in the unused part of a page: seen in one
// of a few backups under load with the ids of erased people. Of rows that are
// no more nothing gets into pages that are written anew.
//
// The file then is withJournal, and synced. It is so by one descriptor that was
// open from the beginning: a failure of the disk is told to each descriptor
// once, but not to those that are opened after another was told.
func rewrite(ctx context.Context, from, to string) (err error) {
	f, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c, err := openImmutable(ctx, from)
	if err != nil {
		return err
	}
	// What SQLite writes is synced below, once.
	if _, err = c.Exec("PRAGMA synchronous=OFF"); err == nil {
		_, err = c.Exec("VACUUM INTO ?", to)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err = errors.Join(err, c.Close()); err == nil {
		err = writeHeader(f, withJournal)
	}
	if err == nil {
		err = f.Sync()
	}
	return err
}

// emptyLog moves what the log has into the database, as far as others let it,
// so that no writer has to do that for all that came together during a copy.
func emptyLog(c *sqlite.Conn) { c.Exec("PRAGMA wal_checkpoint(PASSIVE)") }

// The versions for writing and reading in a file's header: with SQLite's own
// journal, and with the write-ahead log.
const (
	withJournal = 1
	withLog     = 2
)

// writeHeader writes the versions (bytes 18 and 19 of the file format) of a
// copy. A copy is withJournal, so that it is one file that can be opened where
// nothing can be written; a database that is to be served is withLog, so that
// its first opening does not have to change that.
func writeHeader(f *os.File, version byte) error {
	_, err := f.WriteAt([]byte{version, version}, 18)
	return err
}

// settleHeader writes the versions of a copy; with sync it makes the copy last.
func settleHeader(path string, version byte, sync bool) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := writeHeader(f, version); err != nil || !sync {
		return err
	}
	return f.Sync()
}

// openImmutable opens a database that nobody writes, without touching what is
// beside it. Its long queries end with ctx.
func openImmutable(ctx context.Context, path string) (*sqlite.Conn, error) {
	c, err := sqlite.Open(path, sqlite.Immutable, "temp_store=MEMORY", "cache_size=-16000")
	if err == nil {
		c.InterruptOn(ctx)
	}
	return c, err
}

// verify checks a copy that nobody writes. The errors name the file as name.
// With quick, or where the file has an older schema, it leaves out the
// invariants.
func verify(ctx context.Context, path, name string, quick bool) error {
	c, err := openImmutable(ctx, path)
	if err != nil {
		return store.OpenError(name, err)
	}
	defer c.Close()
	findings, err := store.CheckFile(c, name, quick)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case len(findings) > 0:
		return fmt.Errorf("%s: is damaged (%d findings): %w", name, len(findings), damage(findings[0]))
	}
	return nil
}

// damage is the first finding of a check.
type damage string

func (d damage) Error() string { return string(d) }
