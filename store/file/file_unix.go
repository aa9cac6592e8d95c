//go:build unix

package file

import "syscall"

// noFollow are the flags with which the system does not follow a symbolic link at
// the end of a path, and does not wait for the other end of a named pipe.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
