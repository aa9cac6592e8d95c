package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"

	"punchcard/store/sqlite"
)

// partialSuffix ends the name of a file that is being written.
const partialSuffix = ".partial"

// partial is a file that is being written under a temporary name, so that a file
// of its final name is always complete. Its writer holds a lock on it, which the
// leftover of a killed process does not have.
type partial struct {
	path string // name + partialSuffix
	name string // final name
	lock *flock.Flock
	done bool // it was renamed
}

// raw returns the name of the file with the pages before they are rewritten. The
// lock covers it too.
func (p *partial) raw() string { return p.path + "-raw" }

// errWriting is the error if another process writes the same file.
var errWriting = errors.New("another process is writing it")

// newPartial creates the file, empty and with mode 0600, or truncates one that a
// killed process left.
func newPartial(name string) (*partial, error) {
	p := &partial{path: name + partialSuffix, name: name}
	if err := p.open(); err != nil {
		if errors.Is(err, errWriting) {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return nil, fmt.Errorf("%s: cannot write in the folder %s: %w", name, filepath.Dir(name), cause(err))
	}
	err := os.Truncate(p.path, 0)
	if err == nil {
		err = os.Chmod(p.path, 0o600)
	}
	if err != nil {
		p.discard()
		return nil, fmt.Errorf("%s: cannot write in the folder %s: %w", name, filepath.Dir(name), cause(err))
	}
	return p, nil
}

// open locks the file, which it creates if it does not exist.
func (p *partial) open() error {
	for {
		p.lock = flock.New(p.path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
		ok, err := p.lock.TryLock()
		if err != nil {
			return err
		}
		if !ok {
			p.lock.Close()
			return errWriting
		}
		// Its last writer may have renamed or removed it after it was opened here
		// and before it was locked: then try again with the new file.
		locked, err := p.lock.Stat()
		if err == nil {
			var current fs.FileInfo
			if current, err = os.Lstat(p.path); err == nil && os.SameFile(locked, current) {
				return nil
			}
		}
		p.lock.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// newRaw creates the file raw, and replaces one that a killed process left.
func (p *partial) newRaw() error {
	if err := os.Remove(p.raw()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return sqlite.NewFile(p.raw())
}

// commit renames the file, which is synced, to its final name and syncs the
// folder.
func (p *partial) commit() error {
	os.Remove(p.raw()) // before the rename, after which the lock no longer covers it
	if err := os.Rename(p.path, p.name); err != nil {
		return fmt.Errorf("%s: %w", p.name, cause(err))
	}
	p.done = true
	return syncFolder(p.name)
}

// discard removes the file unless it was renamed, and unlocks it.
func (p *partial) discard() {
	if !p.done { // otherwise files of these names are another process's
		os.Remove(p.raw())
		os.Remove(p.path) // before unlocking, for the same reason
	}
	p.lock.Close()
}

// RemoveLeftover removes what a killed process left of the file name. It leaves a
// file that is being written.
func RemoveLeftover(name string) error {
	p := &partial{path: name + partialSuffix, name: name}
	switch err := p.open(); {
	case errors.Is(err, errWriting):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", p.path, cause(err))
	}
	p.discard()
	return nil
}

// syncFolder syncs the folder of path, so that the names in it survive power loss.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" { // cannot sync a folder
		return nil
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("%s: %w", path, cause(err))
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("%s: the folder cannot be synced: %w", path, cause(err))
	}
	return nil
}

// cause returns the system's error without the name of the call and the path.
func cause(err error) error {
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
