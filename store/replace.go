package store

import (
	"errors"

	"modernc.org/sqlite"
)

// Replace puts the content of one database file into another, all of it or
// nothing, whoever else has that one open: they go on with the new content. A
// file that was deleted and made anew would leave them with the old one, and
// might get their log.
func Replace(path, from string) (err error) {
	c, err := openConn(dsn(path, "_pragma=busy_timeout(5000)&_pragma=synchronous(OFF)"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	b, err := c.dc.(interface {
		NewRestore(string) (*sqlite.Backup, error)
	}).NewRestore(dsn(from))
	if err != nil {
		return classify(err)
	}
	more, err := b.Step(-1)
	if err == nil && more {
		err = errors.New("the copy did not come to its end")
	}
	return errors.Join(classify(err), classify(b.Finish()))
}
