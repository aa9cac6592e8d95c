//go:build linux || darwin

package file

import (
	"errors"

	"golang.org/x/sys/unix"
)

// access returns the system's error of a use of a file or folder by the user whose permissions
// this process has.
func access(path string, use uint32) error {
	return unix.Faccessat(unix.AT_FDCWD, path, use, unix.AT_EACCESS)
}

// isReadOnly reports whether an error says that a file system cannot be written.
func isReadOnly(err error) bool { return errors.Is(err, unix.EROFS) }
