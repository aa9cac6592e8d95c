package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"punchcard/store"
	"punchcard/store/file"
	"punchcard/store/sqlite"
)

// rewrite writes a copy that is not in use row by row into the empty file to,
// without remains of deleted rows. With secure_delete SQLite overwrites what is
// deleted, but rows that it moves between pages remain in the unused part of the
// old page: one of a few backups under load contained ids of erased people.
//
// rewrite sets the header to store.WithJournal and syncs the file, with one descriptor
// that is open from the beginning: the system reports an error of the disk once
// to each open descriptor, but not to one that is opened after another got it.
//
// progress is told the size of the file, which grows to that of the copy without its
// unused pages, or a little less.
func rewrite(ctx context.Context, from, to string, progress store.Progress) (err error) {
	f, err := file.Open(to, os.O_RDWR)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	c, err := openImmutable(ctx, from)
	if err != nil {
		return err
	}
	// The file is synced once, below. SQLite overwrites the first page of a table when it moves the rows that it wrote there, as it
	// must in a file that may be restored: whoever is erased later would remain there.
	_, err1 := c.Exec("PRAGMA synchronous=OFF")
	_, err2 := c.Exec("PRAGMA secure_delete=ON")
	if err = errors.Join(err1, err2); err == nil {
		end := watchSize(c, vacuum, to, progress)
		_, err = c.Exec(vacuum, to)
		end()
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if err = errors.Join(err, c.Close()); err == nil {
		err = store.WriteHeader(f, store.WithJournal)
	}
	if err == nil {
		progress.Begin("writing to the disk")
		err = f.Sync()
	}
	return err
}

// vacuum is the statement of rewrite.
const vacuum = "VACUUM INTO ?"

// watchSize reports the size of the file to while a statement writes the used pages of a
// database into it, until end is called. progress may be nil.
func watchSize(c *sqlite.Conn, statement, to string, progress store.Progress) (end func()) {
	if progress == nil {
		return func() {}
	}
	total, err := c.Number(
		"SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
	)
	if err != nil {
		return func() {}
	}
	step := store.Step{Name: "rewriting", Unit: store.Bytes}
	progress(step, 0, total)
	unwatch := c.Watch(statement, func(int64) {
		if info, err := os.Stat(to); err == nil {
			progress(step, min(info.Size(), total), total)
		}
	})
	return func() {
		unwatch()
		progress(step, total, total)
	}
}

// openImmutable opens a database that nobody writes, without touching the files
// beside it. Its queries end with ctx.
func openImmutable(ctx context.Context, path string) (*sqlite.Conn, error) {
	return sqlite.OpenContext(ctx, path, sqlite.Immutable, "temp_store=MEMORY", "cache_size=-16000")
}

// verify checks a copy that nobody writes to a depth. Its errors name the file as name.
func verify(ctx context.Context, path, name string, depth store.Depth, progress store.Progress) error {
	c, err := openImmutable(ctx, path)
	if err != nil {
		return store.OpenError(name, err)
	}
	defer c.Close()
	findings, err := store.CheckFile(c, name, depth, progress)
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

// verifyAtOnce verifies the invariants too, on two processors.
func verifyAtOnce(ctx context.Context, path, name string, progress store.Progress) error {
	first := make(chan error, 1)
	go func() { first <- verify(ctx, path, name, store.FirstHalf, nil) }()
	err := verify(ctx, path, name, store.SecondHalf, progress)
	return cmp.Or(<-first, err)
}

// damage is the first finding of a check.
type damage string

func (d damage) Error() string { return string(d) }
