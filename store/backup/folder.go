package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"punchcard/store/file"
)

// TimeLayout is the layout of the time in the names of backups: UTC, to the
// second, and sortable.
const TimeLayout = "20060102T150405Z"

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

// Newest returns the time in the name of the newest backup, the zero time if
// there is none.
func (f Folder) Newest() (time.Time, error) {
	all, err := f.list("")
	if err != nil || len(all) == 0 {
		return time.Time{}, err
	}
	at, _ := f.at(all[len(all)-1])
	return at, nil
}

// File is a backup in a folder.
type File struct {
	Name string
	At   time.Time // when it was begun
	Size int64     // bytes
}

// List returns the backups, oldest first.
func (f Folder) List() (files []File, err error) {
	names, err := f.list("")
	for _, name := range names {
		info, err := os.Stat(filepath.Join(f.Dir, name))
		if err != nil { // it was removed meanwhile
			continue
		}
		at, _ := f.at(name)
		files = append(files, File{Name: name, At: at, Size: info.Size()})
	}
	return files, err
}

// Path returns the path of the backup with a name. It returns false if there is none.
func (f Folder) Path(name string) (string, bool) {
	names, err := f.list("")
	if err != nil || !slices.Contains(names, name) {
		return "", false
	}
	return filepath.Join(f.Dir, name), true
}

// Make removes the leftovers of killed runs, makes a backup named after now, and
// then removes those older than the newest Keep. An error together with a Made
// that has a File means that the backup exists, but removing others failed.
func (f Folder) Make(ctx context.Context, now time.Time) (m Made, err error) {
	left, err := f.list(partialSuffix)
	if err != nil {
		return m, err
	}
	for _, name := range left {
		if err := RemoveLeftover(filepath.Join(f.Dir, name)); err != nil {
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
	all, err := f.list("")
	if err != nil {
		return m, err
	}
	var errs []error
	for _, old := range all[:max(0, len(all)-f.Keep)] {
		if old == name { // the clock was set back
			continue
		}
		if err := os.Remove(filepath.Join(f.Dir, old)); err != nil {
			errs = append(errs, file.Line(filepath.Join(f.Dir, old), err))
			continue
		}
		m.Pruned = append(m.Pruned, old)
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

// list returns the names of backups, oldest first, whose files have the suffix
// after the name. It returns them without it, and skips what is no regular file.
func (f Folder) list(suffix string) (names []string, err error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return nil, file.Line(f.Dir, err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if _, own := f.at(name); ok && own && e.Type().IsRegular() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
