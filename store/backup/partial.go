package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"punchcard/store/file"
)

// partialSuffix ends the name of a file that is being written.
const partialSuffix = ".partial"

// partial is a file that is being written under a temporary name, so that a file
// of its final name is always complete. Its writer holds a lock on it, which the
// leftover of a killed process does not have.
type partial struct {
	path string // name + partialSuffix
	name string // final name
	lock *file.Lock
	done bool // it was renamed
}

// raw returns the name of the file with the pages before they are rewritten. The
// lock covers it too.
func (p *partial) raw() string { return p.path + "-raw" }

// errWriting is the error if another process writes the same file.
var errWriting = errors.New("another process is writing it")

// tries is how often newPartial tries again after another process has removed or
// renamed the file, or has left one.
const tries = 100

// newPartial creates the file, empty and with mode 0600. It removes one that a
// killed process left, and does not write to it: the file may have a second name.
func newPartial(name string) (*partial, error) {
	p := &partial{path: name + partialSuffix, name: name}
	if err := file.Check(p.raw()); err != nil {
		return nil, err
	}
	for range tries {
		err := p.open()
		if errors.Is(err, errWriting) {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		empty := false
		if err == nil {
			if empty, err = p.lock.Empty(); empty {
				return p, nil
			}
			p.discard()
		}
		if cerr := file.Check(p.path); cerr != nil {
			return nil, cerr
		}
		if err != nil {
			return nil, fmt.Errorf("%s: cannot write in the folder %s: %w", name, filepath.Dir(name), file.WithUser(file.Cause(err)))
		}
	}
	return nil, fmt.Errorf("%s: %w", name, errWriting)
}

// open locks the file, which it creates if it does not exist.
func (p *partial) open() error {
	for range tries {
		lock, err := file.TakeLock(p.path)
		switch {
		case errors.Is(err, file.ErrLocked):
			return errWriting
		case errors.Is(err, fs.ErrNotExist) && exists(filepath.Dir(p.path)): // removed between its creation and its opening
			continue
		case err != nil:
			return err
		}
		// Its last writer may have renamed or removed it after it was opened here
		// and before it was locked: then try again with the new file.
		current, err := lock.Current()
		if current {
			p.lock = lock
			return nil
		}
		lock.Close()
		if err != nil {
			return err
		}
	}
	return errWriting
}

// exists reports whether there is anything at the path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// newRaw creates the file raw, and replaces one that a killed process left.
func (p *partial) newRaw() error {
	if err := file.Check(p.raw()); err != nil {
		return err
	}
	if err := os.Remove(p.raw()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return file.Create(p.raw())
}

// commit renames the file, which is synced, to its final name and syncs the
// folder.
func (p *partial) commit() error {
	os.Remove(p.raw()) // before the rename, after which the lock no longer covers it
	if err := os.Rename(p.path, p.name); err != nil {
		return fmt.Errorf("%s: %w", p.name, file.Cause(err))
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
		return fmt.Errorf("%s: %w", p.path, file.Cause(err))
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
		return fmt.Errorf("%s: %w", path, file.Cause(err))
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("%s: the folder cannot be synced: %w", path, file.Cause(err))
	}
	return nil
}
