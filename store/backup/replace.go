package backup

import (
	"context"
	"errors"
	"io/fs"

	"punchcard/store"
	"punchcard/store/file"
	"punchcard/store/sqlite"
)

// Replace replaces the content of the database path by that of the database from,
// completely or not at all. Processes that have path open go on with the new
// content. If the file were deleted and created again, they would keep the old
// one, and their log might be applied to the new one.
func Replace(path, from string) (err error) {
	if path, err = store.CheckPath(path, false); err != nil {
		return err
	}
	if err := file.Create(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	c, err := sqlite.Open(path, sqlite.ReadWrite, "busy_timeout=5000", "synchronous=OFF")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	source, err := sqlite.Open(from, sqlite.ReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	return sqlite.Copy(context.Background(), c, source, -1, nil)
}
