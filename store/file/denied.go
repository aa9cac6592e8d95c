package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// The uses of a file or folder that access asks about, as the system numbers them.
const (
	mayEnter = 1
	mayWrite = 2
	mayRead  = 4
)

// Denied returns the reason for which the system does not let this process use the database at
// the path: which file or folder, and which user needs the permission. beside are the suffixes of
// the files that belong to the database. Denied returns nil if it finds no reason. It opens no
// file: closing it would drop the locks that SQLite holds on it in this process.
func Denied(path string, beside ...string) error {
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil
	}
	if closed := firstClosed(folder); closed != "" {
		return denial(path, "may not enter the folder "+closed)
	}
	name, _ := runner()
	for _, suffix := range append([]string{""}, beside...) {
		for _, use := range []struct {
			mode uint32
			verb string
		}{{mayRead, "read"}, {mayWrite, "write"}} {
			what := fmt.Sprintf("may not %s %s; give that user the file: chown %s %s", use.verb, path+suffix, name, path+suffix)
			if err := refusal(path, path+suffix, use.mode, what); err != nil {
				return err
			}
		}
	}
	return refusal(path, folder, mayWrite, fmt.Sprintf(
		"may not write in the folder %s, which has files beside the database; use a folder of that user, or: chown %s %[1]s", folder, name,
	))
}

// firstClosed returns the first folder on the way to a folder that this process may not
// enter; "" if it may enter all.
func firstClosed(folder string) string {
	if parent := filepath.Dir(folder); parent != folder {
		if closed := firstClosed(parent); closed != "" {
			return closed
		}
	}
	if errors.Is(access(folder, mayEnter), fs.ErrPermission) {
		return folder
	}
	return ""
}

// refusal returns the error about path of a use of the file or folder at that the system does
// not permit; nil if it does, or if there is none. what continues "user nobody, which".
func refusal(path, at string, use uint32, what string) error {
	switch err := access(at, use); {
	case isReadOnly(err):
		return fmt.Errorf("%s: is on a read-only file system", path)
	case errors.Is(err, fs.ErrPermission):
		return denial(path, what)
	}
	return nil
}

// denial returns the error about path of what this process may not do.
func denial(path, what string) error {
	name, id := runner()
	return fmt.Errorf("%s: %w: punchcard runs as user %s (%s), which %s", path, fs.ErrPermission, name, id, what)
}

// WithUser returns an error of the system, and names the user who needs the permission if it
// is one.
func WithUser(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	name, id := runner()
	return fmt.Errorf("%w: punchcard runs as user %s (%s)", err, name, id)
}

// runner returns the name and the id of the user whose permissions this process has.
func runner() (name, id string) {
	id = strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(id); err == nil {
		return u.Username, id
	}
	return id, id
}
