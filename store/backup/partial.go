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

// partial is a file that is being written beside the name it is to have, so
// that this name stands for a whole file or for none. Its writer holds a lock
// on it, by which what a killed process left is told from what is being
// written.
type partial struct {
	path string // name + partialSuffix
	name string
	lock *flock.Flock
	done bool // it has its name
}

// raw is where the pages lie before they are rewritten. Like the file itself
// it is its locker's.
func (p *partial) raw() string { return p.path + "-raw" }

// errWriting tells that another process writes the same file.
var errWriting = errors.New("another process is writing it")

// newPartial makes the file, empty, with mode 0600; one that a killed process
// left is used anew.
func newPartial(name string) (*partial, error) {
	p := &partial{path: name + partialSuffix, name: name}
	if err := p.take(); err != nil {
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

// take locks the file, making it where there is none.
func (p *partial) take() error {
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
		// Its last writer may have given it its name, or removed it, between
		// the opening and the locking: then this is another file.
		locked, err := p.lock.Stat()
		if err == nil {
			var there fs.FileInfo
			if there, err = os.Lstat(p.path); err == nil && os.SameFile(locked, there) {
				return nil
			}
		}
		p.lock.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// newRaw makes the raw copy's file in place of what a killed process left of
// one.
func (p *partial) newRaw() error {
	if err := os.Remove(p.raw()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return sqlite.NewFile(p.raw())
}

// commit gives the file its name in place of what has it, lastingly. The file
// is synced already.
func (p *partial) commit() error {
	os.Remove(p.raw()) // as long as it is its locker's
	if err := os.Rename(p.path, p.name); err != nil {
		return fmt.Errorf("%s: %w", p.name, cause(err))
	}
	p.done = true
	return syncFolder(p.name)
}

// discard removes the file unless it has its name by now, and lets go of it.
func (p *partial) discard() {
	if !p.done { // else what has these names now is another's
		os.Remove(p.raw())
		os.Remove(p.path) // while it is locked, for the same reason
	}
	p.lock.Close()
}

// RemoveLeftover removes what a killed process left of the file name; what is
// being written stays.
func RemoveLeftover(name string) error {
	p := &partial{path: name + partialSuffix, name: name}
	switch err := p.take(); {
	case errors.Is(err, errWriting):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", p.path, cause(err))
	}
	p.discard()
	return nil
}

// syncFolder makes the names in the folder of path last.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" { // has no such thing
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

// cause is what the system said, without the call and the path.
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
