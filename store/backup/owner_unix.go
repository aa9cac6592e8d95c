//go:build unix

package backup

import (
	"io/fs"
	"os"
	"syscall"
)

// chown gives a file the owner of another one.
func chown(f *os.File, is, was fs.FileInfo) error {
	owner, ok := was.Sys().(*syscall.Stat_t)
	own, ok2 := is.Sys().(*syscall.Stat_t)
	if ok && ok2 && (owner.Uid != own.Uid || owner.Gid != own.Gid) {
		return f.Chown(int(owner.Uid), int(owner.Gid))
	}
	return nil
}
