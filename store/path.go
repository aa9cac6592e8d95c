package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"punchcard/store/file"
)

// BesideSuffixes are the suffixes of the files that SQLite keeps beside a database.
var BesideSuffixes = []string{"-wal", "-shm", "-journal"}

// CheckPath returns an error if no database can be at the path, or, with mustExist,
// if there is no file, and if something else than a regular file has the name of a
// file that belongs to the database.
//
// The path may be a symbolic link to a database, or to where one is to be created.
// CheckPath returns the path that it leads to: all that belongs to a database is
// beside the file itself, so that processes that use it by several names share its
// log and lock.
func CheckPath(path string, mustExist bool) (real string, err error) {
	if real, err = file.Resolve(path); err != nil {
		return "", err
	}
	info, err := os.Lstat(real)
	switch {
	case errors.Is(err, os.ErrNotExist) && mustExist:
		return "", fmt.Errorf("%s: no such database", real)
	case errors.Is(err, os.ErrNotExist):
		dir, err := os.Stat(filepath.Dir(real))
		if why := denied(real, err); why != nil {
			return "", why
		}
		if err != nil || !dir.IsDir() {
			return "", fmt.Errorf("%s: the folder %s does not exist", real, filepath.Dir(real))
		}
	case err != nil:
		return "", OpenError(real, file.Cause(err))
	case info.IsDir():
		return "", fmt.Errorf("%s: is a folder, not a database", real)
	}
	for _, suffix := range append([]string{"", ".lock"}, BesideSuffixes...) {
		if err := file.Check(real + suffix); err != nil {
			return "", err
		}
	}
	return real, nil
}
