package backup

import (
	"context"
	"errors"

	"punchcard/store/sqlite"
)

// Replace replaces the content of the database path by that of the database from,
// completely or not at all. Processes that have path open go on with the new
// content. If the file were deleted and created again, they would keep the old
// one, and their log might be applied to the new one.
func Replace(path, from string) (err error) {
	c, err := sqlite.Open(path, sqlite.Create, "busy_timeout=5000", "synchronous=OFF")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	source, err := sqlite.Open(from, sqlite.ReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	return sqlite.Copy(context.Background(), c, source, -1)
}
