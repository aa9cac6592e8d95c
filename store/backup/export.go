package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"punchcard/store"
	"punchcard/store/file"
)

// Export writes an export to a new folder, or to a new file if the name ends with .zip. It writes
// under a temporary name beside it, which it syncs and renames: what has the name is complete. It
// removes what it wrote if it fails or ctx ends. A process that is killed leaves the temporary one,
// which the next export to the same name asks to remove.
func Export(ctx context.Context, x store.Export, to string) (m store.ExportManifest, err error) {
	t, err := newTarget(to)
	if err != nil {
		return m, err
	}
	defer t.discard()
	if strings.EqualFold(filepath.Ext(to), ".zip") {
		var out io.Writer
		if out, err = t.create(t.partial); err == nil {
			m, err = x.WriteZip(ctx, out)
		}
	} else if err = t.root.Mkdir(t.partial, 0o700); err == nil {
		t.made = true
		m, err = x.Write(ctx, func(name string) (io.Writer, error) { return t.create(filepath.Join(t.partial, name)) })
	}
	if err == nil {
		err = t.commit()
	}
	if err != nil {
		return m, t.failed(err)
	}
	return m, nil
}

// target is what an export is written to.
type target struct {
	to            string
	root          *os.Root // the folder that it is in
	name, partial string   // in root
	open          *os.File // the file that is being written
	made          bool     // partial was made
}

// newTarget returns a target of a name that nothing has, and that no file beside a database would have.
func newTarget(to string) (*target, error) {
	to = filepath.Clean(to)
	if exists(to) {
		return nil, fmt.Errorf("%s: %w", to, ErrExists)
	}
	for _, suffix := range append([]string{".lock"}, store.BesideSuffixes...) {
		db, belongs := strings.CutSuffix(to, suffix)
		if info, err := os.Stat(db); belongs && err == nil && info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: is the name of a file that belongs to the database %s", to, db)
		}
	}
	root, err := os.OpenRoot(filepath.Dir(to))
	if err != nil {
		return nil, fmt.Errorf("%s: the folder %s: %w", to, filepath.Dir(to), file.WithUser(file.Cause(err)))
	}
	name := filepath.Base(to)
	return &target{to: to, root: root, name: name, partial: name + partialSuffix}, nil
}

// failed returns an error with the name of the target.
func (t *target) failed(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %s is beside it: another export writes it, or one that was killed has left it; then remove it",
			t.to, t.partial)
	}
	if _, refused := store.AsError(err); refused {
		return err
	}
	return fmt.Errorf("%s: not made: %w", t.to, file.WithUser(file.Cause(err)))
}

// create begins a file.
func (t *target) create(name string) (io.Writer, error) {
	err := t.finish()
	if err != nil {
		return nil, err
	}
	if t.open, err = t.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return nil, err
	}
	t.made = true
	return t.open, nil
}

// finish syncs the file that is being written, if there is one, and closes it.
func (t *target) finish() error {
	f := t.open
	if f == nil {
		return nil
	}
	t.open = nil
	return errors.Join(f.Sync(), f.Close())
}

// commit renames what is complete.
func (t *target) commit() error {
	if err := t.finish(); err != nil {
		return err
	}
	if folder, err := t.root.OpenRoot(t.partial); err == nil { // not if it is a zip file
		err = errors.Join(file.SyncRoot(folder, t.to), folder.Close())
		if err != nil {
			return err
		}
	}
	if _, err := t.root.Lstat(t.name); err == nil {
		return fmt.Errorf("%s %w meanwhile", t.name, ErrExists)
	}
	if err := t.root.Rename(t.partial, t.name); err != nil {
		return err
	}
	t.made = false
	return file.SyncRoot(t.root, t.to)
}

// discard removes what is not complete.
func (t *target) discard() {
	t.finish()
	if t.made {
		t.root.RemoveAll(t.partial)
	}
	t.root.Close()
}
