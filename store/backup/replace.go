package backup

import (
	"context"
	"errors"

	"punchcard/store/sqlite"
)

// Replace puts the content of one database file into another, all of it or
// nothing, whoever else has that one open: they go on with the new content. A
// file that was deleted and made anew would leave them with the old one, and
// might get their log.
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
