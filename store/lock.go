package store

import (
	"errors"
	"fmt"

	"punchcard/store/file"
)

// RestoreMark is the content of the file path.lock while a restore holds its
// lock.
const RestoreMark = "restore\n"

// TakeLock takes the lock of the database at the path and marks it. Its errors are
// one line for the operator.
func TakeLock(path, mark string) (*file.Lock, error) {
	name := path + ".lock"
	lock, err := file.TakeLock(name)
	if errors.Is(err, file.ErrLocked) {
		return nil, lockedError(path)
	}
	if err == nil {
		if err = lock.Mark(mark, RestoreMark); err != nil {
			lock.Close()
		}
	}
	if why := denied(path, err); why != nil {
		return nil, why
	}
	if err != nil {
		return nil, fmt.Errorf("%s: cannot write next to the database: %w", path, file.Line(name, err))
	}
	return lock, nil
}

// restoring reports whether a restore is under way: the lock is held and marked.
// A killed restore leaves the mark.
func restoring(path string) bool { return file.Marked(path+".lock", RestoreMark) }

// lockedError returns the error for a file whose lock is held, which says whether
// a restore or a server holds it. It is a file.ErrLocked.
func lockedError(path string) error {
	text := "another punchcard is serving this database"
	if restoring(path) {
		text = "is being restored"
	}
	return lockError{fmt.Sprintf("%s: %s", path, text)}
}

// lockError is a file.ErrLocked with another text.
type lockError struct{ text string }

func (e lockError) Error() string { return e.text }

func (e lockError) Unwrap() error { return file.ErrLocked }
