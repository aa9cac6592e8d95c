package sqlite

import "os"

// MinSize is the size in bytes of the least page, which a file that is not empty
// has at least. SQLite itself takes a file of one byte for an empty one.
const MinSize = 512

// NewFile makes an empty file for a database, which only its owner can read. The
// files that SQLite puts beside it take its mode.
func NewFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}
