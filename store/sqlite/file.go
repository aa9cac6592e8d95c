package sqlite

import "os"

// MinSize is the minimum size in bytes of a database that is not empty: one page
// of the smallest size. SQLite itself takes a file of one byte for an empty one.
const MinSize = 512

// NewFile creates an empty file for a database, with mode 0600, which SQLite also
// gives to the files beside it.
func NewFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}
