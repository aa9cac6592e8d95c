package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"punchcard/store/file"
)

// partialSuffix ends the name of a file that is being written.
const partialSuffix = ".partial"

// partial is a file that is being written under a temporary name, so that a file
// of its final name is always complete. Its writer holds a lock on it, which the
// leftover of a killed process does not have.
//
// It is renamed in the folder that its name led to when it was begun: whoever may replace that
// folder by a symbolic link meanwhile must not choose what is replaced.
type partial struct {
	path string   // name + partialSuffix
	name string   // final name
	root *os.Root // the folder
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
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, file.WithUser(file.Cause(err)))
	}
	p := &partial{path: name + partialSuffix, name: name, root: root}
	if err := p.begin(); err != nil {
		root.Close()
		return nil, err
	}
	return p, nil
}

// begin creates the file.
func (p *partial) begin() error {
	if err := file.Check(p.raw()); err != nil {
		return err
	}
	for range tries {
		err := p.open()
		if errors.Is(err, errWriting) {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		empty := false
		if err == nil {
			if empty, err = p.lock.Empty(); empty {
				return nil
			}
			p.remove()
		}
		if cerr := file.Check(p.path); cerr != nil {
			return cerr
		}
		if err != nil {
			return fmt.Errorf("%s: cannot write in the folder %s: %w", p.name, filepath.Dir(p.name), file.WithUser(file.Cause(err)))
		}
	}
	return fmt.Errorf("%s: %w", p.name, errWriting)
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

// here returns an error unless the file is in the folder and the folder is where its path says.
func (p *partial) here() error {
	info, err := p.root.Lstat(filepath.Base(p.path))
	same := false
	if err == nil {
		same, err = p.lock.Is(info)
	}
	var at, folder os.FileInfo
	if err == nil {
		at, err = os.Stat(filepath.Dir(p.name))
	}
	if err == nil {
		folder, err = p.root.Stat(".")
	}
	if err != nil || !same || !os.SameFile(at, folder) {
		return p.moved()
	}
	return nil
}

// moved returns the error of a folder or file that is no longer where it was.
func (p *partial) moved() error {
	return fmt.Errorf("%s: the folder %s was replaced meanwhile, or the file in it was", p.name, filepath.Dir(p.name))
}

// commit renames the file, which is synced, to its final name and syncs the
// folder.
func (p *partial) commit() error {
	if err := p.here(); err != nil {
		return err
	}
	p.root.Remove(filepath.Base(p.raw())) // before the rename, after which the lock no longer covers it
	if err := p.root.Rename(filepath.Base(p.path), filepath.Base(p.name)); err != nil {
		return file.Line(p.name, err)
	}
	p.done = true
	return p.sync()
}

// sync makes the names in the folder durable.
func (p *partial) sync() error { return file.SyncRoot(p.root, p.name) }

// remove removes the file and unlocks it.
func (p *partial) remove() {
	p.root.Remove(filepath.Base(p.raw()))
	p.root.Remove(filepath.Base(p.path)) // before unlocking, since another process may begin its own then
	p.lock.Close()
}

// discard removes the file unless it was renamed, and unlocks it.
func (p *partial) discard() {
	if p.done { // files of these names are another process's
		p.lock.Close()
	} else {
		p.remove()
	}
	p.root.Close()
}

// RemoveLeftover removes what a killed process left of the file name. It leaves a
// file that is being written.
func RemoveLeftover(name string) error {
	root, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return file.Line(name, err)
	}
	defer root.Close()
	p := &partial{path: name + partialSuffix, name: name, root: root}
	switch err := p.open(); {
	case errors.Is(err, errWriting):
		return nil
	case err != nil:
		return file.Line(p.path, err)
	}
	p.remove()
	return nil
}
