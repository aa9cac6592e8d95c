package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"punchcard/store"
	"punchcard/store/file"
)

// TimeLayout is the layout of the time in the names of backups: UTC, to the
// second, and sortable.
const TimeLayout = "20060102T150405Z"

// keptSuffix and a time follow the name of a database in the name of the file that a restore has replaced.
const keptSuffix = ".before-restore-"

// Folder is a folder with the backups of one database. The name of a backup of
// punchcard.db is punchcard-20260131T090000Z.db, so two databases of the same file
// name need two folders.
type Folder struct {
	DB   string
	Dir  string
	Keep int // the number of newest backups that Make keeps, at least 1
	// Quick is Options.Quick.
	Quick bool
	// Copy makes the copy. Nil: Create.
	Copy func(ctx context.Context, db, file string, o Options) (size int64, err error)
}

// Made is the result of Make.
type Made struct {
	File   string
	Size   int64    // bytes
	Pruned []string // the names of the older backups that were removed
}

// File is a backup in a folder.
type File struct {
	Name string
	At   time.Time // when it was begun
	Size int64     // bytes
}

// List returns the backups, oldest first.
func (f Folder) List() ([]File, error) { return f.list("") }

// Kept returns the paths of the copies of a database that migrations and restores have left beside it.
func Kept(db string) (paths []string, err error) {
	if db, err = store.CheckPath(db, true); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Dir(db))
	if err != nil {
		return nil, file.Line(db, err)
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), filepath.Base(db))
		if ok && e.Type().IsRegular() && (strings.HasPrefix(rest, store.CopySuffix) || strings.HasPrefix(rest, keptSuffix)) {
			paths = append(paths, filepath.Join(filepath.Dir(db), e.Name()))
		}
	}
	return paths, nil
}

// Newest returns when the newest backup was begun, the zero time if there is none.
func (f Folder) Newest() (time.Time, error) {
	all, err := f.List()
	if err != nil || len(all) == 0 {
		return time.Time{}, err
	}
	return all[len(all)-1].At, nil
}

// Path returns the path of the backup with a name. It returns false if there is none.
func (f Folder) Path(name string) (string, bool) {
	all, _ := f.List() // none after an error
	exists := slices.ContainsFunc(all, func(b File) bool { return b.Name == name })
	return filepath.Join(f.Dir, name), exists
}

// Make removes the leftovers of killed runs, makes a backup named after now, and
// then removes those older than the newest Keep. An error together with a Made
// that has a File means that the backup exists, but removing others failed.
func (f Folder) Make(ctx context.Context, now time.Time) (m Made, err error) {
	left, err := f.list(partialSuffix)
	if err != nil {
		return m, err
	}
	for _, b := range left {
		if err := RemoveLeftover(filepath.Join(f.Dir, b.Name)); err != nil {
			return m, err
		}
	}
	name := f.prefix() + now.UTC().Format(TimeLayout) + ".db"
	m.File = filepath.Join(f.Dir, name)
	create := f.Copy
	if create == nil {
		create = Create
	}
	if m.Size, err = create(ctx, f.DB, m.File, Options{Quick: f.Quick}); err != nil {
		return Made{}, err
	}
	all, err := f.List()
	if err != nil {
		return m, err
	}
	var errs []error
	for _, old := range all[:max(0, len(all)-f.Keep)] {
		if old.Name == name { // the clock was set back
			continue
		}
		path := filepath.Join(f.Dir, old.Name)
		if err := os.Remove(path); err != nil {
			errs = append(errs, file.Line(path, err))
			continue
		}
		m.Pruned = append(m.Pruned, old.Name)
	}
	return m, errors.Join(errs...)
}

// prefix returns the beginning of the names of backups.
func (f Folder) prefix() string {
	base := filepath.Base(f.DB)
	return strings.TrimSuffix(base, filepath.Ext(base)) + "-"
}

// at returns the time in a backup's name. It returns false if the name is not that of
// a backup of this database.
func (f Folder) at(name string) (time.Time, bool) {
	text, ok := strings.CutPrefix(name, f.prefix())
	text, ok2 := strings.CutSuffix(text, ".db")
	at, err := time.Parse(TimeLayout, text)
	return at, ok && ok2 && err == nil && at.Format(TimeLayout) == text
}

// list returns the backups whose files have the suffix after the name, oldest first. It skips what is no regular file.
func (f Folder) list(suffix string) (all []File, err error) {
	entries, err := os.ReadDir(f.Dir) // sorted by name
	if err != nil {
		return nil, file.Line(f.Dir, err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		at, own := f.at(name)
		info, err := e.Info()
		if ok && own && e.Type().IsRegular() && err == nil { // an error: it was removed meanwhile
			all = append(all, File{name, at, info.Size()})
		}
	}
	return all, nil
}
