package store

import (
	"errors"

	"zombiezen.com/go/sqlite"
)

// Replace puts the content of one database file into another, all of it or
// nothing, whoever else has that one open: they go on with the new content. A
// file that was deleted and made anew would leave them with the old one, and
// might get their log.
func Replace(path, from string) (err error) {
	c, err := openConn(path, mayCreate, "busy_timeout=5000", "synchronous=OFF")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	source, err := openConn(from, mustExist)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.close()) }()
	b, err := sqlite.NewBackup(c.db, "", source.db, "")
	if err != nil {
		return classify(err)
	}
	defer b.Close()
	more, err := b.Step(-1)
	if err == nil && more {
		err = errors.New("the copy did not come to its end")
	}
	return classify(err)
}
