package store

import (
	"errors"
	"fmt"
	"os"

	"github.com/gofrs/flock"
)

// RestoreMark is the content of the file path.lock while a restore holds its
// lock.
const RestoreMark = "restore\n"

// takeServeLock takes the lock of a file's server, of which there is one at most.
func takeServeLock(path string) (*flock.Flock, error) {
	lock := flock.New(path + ".lock")
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("%s: cannot write next to the database: %w", path, err)
	}
	if !ok {
		return nil, LockedError(path)
	}
	if err := os.Truncate(path+".lock", 0); err != nil { // removes the mark of a killed restore
		return lock, fmt.Errorf("%s: cannot write next to the database: %w", path, errors.Unwrap(err))
	}
	return lock, nil
}

// restoring reports whether a restore is under way: the lock is held and marked.
// A killed restore leaves the mark.
func restoring(path string) bool {
	if mark, err := os.ReadFile(path + ".lock"); err != nil || string(mark) != RestoreMark {
		return false
	}
	l := flock.New(path + ".lock")
	defer l.Close()
	free, err := l.TryRLock()
	return err == nil && !free
}

// LockedError returns the error for a file whose lock is held, which says whether
// a restore or a server holds it.
func LockedError(path string) error {
	if restoring(path) {
		return fmt.Errorf("%s: is being restored", path)
	}
	return fmt.Errorf("%s: another punchcard is serving this database", path)
}
