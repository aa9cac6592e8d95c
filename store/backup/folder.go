package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// TimeLayout is the layout of the time in the names of backups: UTC, to the
// second, and sortable.
const TimeLayout = "20060102T150405Z"

// Folder is where the backups of one database come together, such as
// punchcard-20260131T090000Z.db of punchcard.db. Two databases of the same file
// name need two folders.
type Folder struct {
	DB   string
	Dir  string
	Keep int // the newest backups that stay, at least 1
	// Quick is that of Options.
	Quick bool
	// Copy makes the copy, as Create does; nil: Create.
	Copy func(ctx context.Context, db, file string, o Options) (size int64, err error)
}

// Made is a backup that was made.
type Made struct {
	File   string
	Size   int64    // bytes
	Pruned []string // older backups that were removed
}

// Newest is the time in the name of the newest backup; zero: there is none.
func (f Folder) Newest() (time.Time, error) {
	all, err := f.list("")
	if err != nil || len(all) == 0 {
		return time.Time{}, err
	}
	at, _ := f.at(all[len(all)-1])
	return at, nil
}

// Make makes a backup as of now, removes what killed runs left, and, once the
// backup is whole, those that are older than the newest Keep. An error beside a
// Made tells that the backup is there but the pruning failed.
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
			errs = append(errs, fmt.Errorf("%s: %w", filepath.Join(f.Dir, old), cause(err)))
			continue
		}
		m.Pruned = append(m.Pruned, old)
	}
	return m, errors.Join(errs...)
}

func (f Folder) prefix() string {
	base := filepath.Base(f.DB)
	return strings.TrimSuffix(base, filepath.Ext(base)) + "-"
}

// at is the time in a backup's name; false where it is none of this database.
func (f Folder) at(name string) (time.Time, bool) {
	text, ok := strings.CutPrefix(name, f.prefix())
	text, ok2 := strings.CutSuffix(text, ".db")
	at, err := time.Parse(TimeLayout, text)
	return at, ok && ok2 && err == nil && at.Format(TimeLayout) == text
}

// list are the names of backups, oldest first, that have the suffix behind
// them. Only regular files count.
func (f Folder) list(suffix string) (names []string, err error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Dir, cause(err))
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
