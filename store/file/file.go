// Package file opens, creates and locks the files of a database and of its copies.
// None of its functions follows a symbolic link, waits for the other end of a named
// pipe, or truncates a file that is there: others may be able to create files in the
// folder of a database.
package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Check returns an error if there is anything at the path but a regular file. The
// error is one line that names the path and says what it is.
func Check(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return Line(path, err)
	}
	return irregular(path, info.Mode())
}

// irregular returns an error unless the mode is that of a regular file.
func irregular(path string, mode fs.FileMode) error {
	if mode.IsRegular() {
		return nil
	}
	kind := "something else"
	switch {
	case mode&fs.ModeSymlink != 0:
		kind = "a symbolic link"
	case mode.IsDir():
		kind = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	}
	return fmt.Errorf("%s: is not a regular file, but %s", path, kind)
}

// maxLinks is the number of symbolic links that Resolve follows, as Linux does.
const maxLinks = 40

// Resolve returns the path that a path leads to if it is a symbolic link, and else
// the path itself. There need not be a file.
func Resolve(path string) (string, error) {
	at := path
	for range maxLinks {
		target, err := os.Readlink(at)
		if err != nil {
			return at, nil // no link; what else is wrong with it is for its user to find
		}
		if !filepath.IsAbs(target) {
			// Not filepath.Join: it takes the folder before ".." for its parent, which
			// it is not behind a link.
			target = filepath.Dir(at) + string(filepath.Separator) + target
		}
		at = target
	}
	return "", fmt.Errorf("%s: is a symbolic link that leads to no file, but through more than %d links", path, maxLinks)
}

// Create creates an empty file with mode 0600 whatever the umask. SQLite gives this
// mode to the files beside a database. There must be nothing at the path.
func Create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|noFollow, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm() != 0o600 {
		err = f.Chmod(0o600)
	}
	return errors.Join(err, f.Close())
}

// CreateOrEmpty does what Create does, and gives an empty file that is there the mode 0600. It
// returns fs.ErrExist if there is a file with content.
func CreateOrEmpty(path string) error {
	err := Create(path)
	if info, serr := os.Lstat(path); !errors.Is(err, fs.ErrExist) || serr != nil || info.Size() > 0 || info.Mode() == 0o600 {
		return err
	}
	f, err := Open(path, os.O_RDWR)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// Open opens the regular file at the path. flag is os.O_RDONLY, os.O_WRONLY or
// os.O_RDWR.
func Open(path string, flag int) (*os.File, error) {
	if err := Check(path); err != nil { // opening a device may do something
		return nil, err
	}
	f, err := os.OpenFile(path, flag|noFollow, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = irregular(path, info.Mode())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// SyncFolder syncs the folder of path, so that the names in it survive power loss.
func SyncFolder(path string) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return Line(path, err)
	}
	return errors.Join(SyncRoot(root, path), root.Close())
}

// SyncRoot syncs an open folder. Its errors name path.
func SyncRoot(root *os.Root, path string) error {
	if runtime.GOOS == "windows" { // cannot sync a folder
		return nil
	}
	d, err := root.Open(".")
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return fmt.Errorf("%s: the folder cannot be synced: %w", path, Cause(err))
	}
	return nil
}

// Cause returns the system's error without the name of the call and the path.
func Cause(err error) error {
	var perr *fs.PathError
	var lerr *os.LinkError
	switch {
	case errors.As(err, &perr):
		return perr.Err
	case errors.As(err, &lerr):
		return lerr.Err
	}
	return err
}

// Line returns an error as one line that names the path. It leaves one that Check
// returned as it is.
func Line(path string, err error) error {
	if strings.HasPrefix(err.Error(), path+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", path, Cause(err))
}
