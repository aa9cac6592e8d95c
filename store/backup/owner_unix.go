//go:build unix

package backup

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// copyOwner gives a file the owner and the mode of the one that it replaces, if
// there is one: the user who restores may not be the one who serves.
func copyOwner(file, old string) error {
	was, err := os.Stat(old)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	is, err := os.Stat(file)
	if err != nil {
		return err
	}
	owner, ok := was.Sys().(*syscall.Stat_t)
	own, ok2 := is.Sys().(*syscall.Stat_t)
	if ok && ok2 && (owner.Uid != own.Uid || owner.Gid != own.Gid) {
		if err := os.Chown(file, int(owner.Uid), int(owner.Gid)); err != nil {
			return err
		}
	}
	return os.Chmod(file, was.Mode().Perm())
}
