package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// openWatch returns a file whose reads return when the file at path was written to.
// The kernel unites the writes that happen between two reads.
func openWatch(path string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_MODIFY); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}
