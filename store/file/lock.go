package file

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/gofrs/flock"
)

// Lock is a lock file that this process holds.
type Lock struct {
	path string
	lock *flock.Flock
}

// ErrLocked is the error for a lock file that another process holds.
var ErrLocked = errors.New("another process holds the lock")

// TakeLock locks the file at the path, which it creates if there is none. It does not
// wait: if another process holds the lock, the error is ErrLocked.
func TakeLock(path string) (*Lock, error) {
	if err := Create(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	// Not os.O_CREATE: it would follow a link to nothing.
	l := &Lock{path, flock.New(path, flock.SetFlag(os.O_RDWR|noFollow))}
	if err := Check(path); err != nil {
		return nil, err
	}
	ok, err := l.lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !ok {
		l.lock.Close()
		return nil, ErrLocked
	}
	info, err := l.lock.Stat()
	if err == nil {
		err = irregular(path, info.Mode())
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Close gives up the lock. The file stays.
func (l *Lock) Close() error { return l.lock.Close() }

// Empty reports whether the locked file has no content.
func (l *Lock) Empty() (bool, error) {
	info, err := l.lock.Stat()
	return err == nil && info.Size() == 0, err
}

// Is reports whether the locked file is the one that info describes.
func (l *Lock) Is(info fs.FileInfo) (bool, error) {
	locked, err := l.lock.Stat()
	return err == nil && os.SameFile(locked, info), err
}

// Current reports whether the path still names the locked file. The last holder may
// have removed or renamed it just before this process got the lock.
func (l *Lock) Current() (bool, error) {
	current, err := os.Lstat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return l.Is(current)
}

// maxMark is the number of bytes that the content of a lock file may have.
const maxMark = 64

// Mark replaces the content of the lock file by mark, which may be empty. known are
// the contents that it may have: any other content is somebody's file.
func (l *Lock) Mark(mark string, known ...string) (err error) {
	f, err := Open(l.path, os.O_RDWR)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	have, err := io.ReadAll(io.LimitReader(f, maxMark))
	if err != nil {
		return err
	}
	ours := len(have) == 0
	for _, k := range known {
		ours = ours || string(have) == k
	}
	if !ours {
		return errors.New("is not a lock file, since it has content")
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(mark), 0)
	return err
}

// Marked reports whether a process holds the lock of a lock file that has this
// content. A killed process leaves the content without the lock.
func Marked(path, mark string) bool {
	f, err := Open(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	if have, err := io.ReadAll(io.LimitReader(f, maxMark)); err != nil || string(have) != mark {
		return false
	}
	l := flock.New(path, flock.SetFlag(os.O_RDONLY|noFollow))
	defer l.Close()
	free, err := l.TryRLock()
	return err == nil && !free
}
