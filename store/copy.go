package store

import (
	"context"
	"errors"
	"os"

	"punchcard/store/file"
	"punchcard/store/sqlite"
)

// copyPages is the number of pages that are copied between two checks of the
// context. They take a few milliseconds.
const copyPages = 256

// CopyPages copies all pages of the source, as they are at one moment, to the
// existing empty file to.
//
// One read transaction spans the copy. Writers go on meanwhile, and the copy does
// not start again with each of their commits, as SQLite's backup does otherwise.
// The write-ahead log cannot be reused meanwhile and grows by what is written. So
// the copy must be short: it does not pause between its steps, and does not build
// the tables again (VACUUM INTO), which takes ten times as long. Both would slow
// the writers down more.
//
// The copied pages may contain remains of deleted rows.
func CopyPages(ctx context.Context, from *sqlite.Conn, to string, progress Progress) (err error) {
	if _, err := from.Exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		_, cerr := from.Exec("COMMIT")
		err = errors.Join(err, cerr)
	}()
	// The read transaction begins with the first query.
	if _, err := from.Number("SELECT count(*) FROM sqlite_schema"); err != nil {
		return err
	}
	// No journal and no syncing: an incomplete copy is removed, a complete one is
	// synced at the end.
	c, err := sqlite.Open(to, sqlite.ReadWrite, "journal_mode=OFF", "synchronous=OFF")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if progress == nil {
		return sqlite.Copy(ctx, c, from, copyPages, nil)
	}
	size, err := from.Number("PRAGMA page_size")
	if err != nil {
		return err
	}
	pages, err := from.Number("PRAGMA page_count")
	if err != nil {
		return err
	}
	step := Step{Name: "copying", Unit: Bytes}
	progress(step, 0, pages*size)
	return sqlite.Copy(ctx, c, from, copyPages, func(done, total int64) { progress(step, done*size, total*size) })
}

// The write and read versions in the header of SQLite's file format.
const (
	WithJournal = 1 // rollback journal
	WithLog     = 2 // write-ahead log
)

// WriteHeader writes the versions (bytes 18 and 19) of a copy. A backup is
// WithJournal, so that it can be opened in a read-only folder. A database that is
// to be served is WithLog, so that opening it does not have to change that.
func WriteHeader(f *os.File, version byte) error {
	_, err := f.WriteAt([]byte{version, version}, 18)
	return err
}

// SetHeader writes the versions of a copy. With sync it syncs the file.
func SetHeader(path string, version byte, sync bool) (err error) {
	f, err := file.Open(path, os.O_RDWR)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := WriteHeader(f, version); err != nil || !sync {
		return err
	}
	return f.Sync()
}
