package app

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"punchcard/server/dev/seed"
	"punchcard/store"
	"punchcard/store/backup"
	"punchcard/store/file"
)

// image is the initial content of a fixture's file, with its ready line. Writing an
// image takes a tenth of the time of creating its content.
type image struct {
	once  sync.Once
	err   error
	file  []byte
	ready *seed.Ready
}

// images caches the images of this process, since a test binary starts hundreds of
// fixtures.
var images sync.Map // of imageKey to *image

type imageKey struct {
	clock         int64 // unix nanoseconds at which it stands still; 0 if it runs
	deterministic bool
	seed          *seed.File // nil for the demo shop
	history       int
	small         bool
}

// loadImage returns the image of a fixture, which it creates if it is not cached.
func loadImage(d *Dev) (*image, error) {
	key := imageKey{deterministic: d.Deterministic, seed: d.Seed, history: d.History, small: d.Small}
	if at, ok := d.Clock.start(); ok {
		key.clock = at.UnixNano()
	}
	cached, _ := images.LoadOrStore(key, &image{})
	i := cached.(*image)
	i.once.Do(func() { i.err = i.make(d) })
	if i.err != nil { // try again next time: a full disk may have room then
		images.CompareAndDelete(key, cached)
	}
	return i, i.err
}

// make creates the image.
func (i *image) make(d *Dev) error {
	return withTempFile(func(path string) error { return i.makeIn(path, d) })
}

// makeIn creates the image with the help of a new file.
func (i *image) makeIn(path string, d *Dev) error {
	opts := store.Options{Ephemeral: true, Readers: 1, Small: d.Small}
	d.setOptions(&opts, "image")
	at, ok := d.Clock.start()
	if !ok {
		at = time.Now()
	}
	clock := NewClock(at)
	opts.Now = clock.Now
	st, err := store.Open(path, opts)
	if err != nil {
		return err
	}
	switch {
	case d.Seed != nil:
		i.ready, err = d.Seed.Apply(st, clock)
	case d.History > 0:
		i.ready, err = seed.DemoWithHistory(st, clock, d.History)
	default:
		i.ready, err = seed.Demo(st, "")
	}
	if err = errors.Join(err, st.Close()); err != nil {
		return err
	}
	i.file, err = os.ReadFile(path)
	return err
}

// fileDigest returns a digest of a database file and its log, for Dev.rand. It is
// empty if there is no file or it is empty.
func fileDigest(path string) string {
	sum, size := sha256.New(), int64(0)
	for _, part := range []string{"", "-wal"} {
		if f, err := file.Open(path+part, os.O_RDONLY); err == nil { // opening the database will return an error otherwise
			n, _ := io.Copy(sum, f)
			f.Close()
			size += n
		}
	}
	if size == 0 {
		return ""
	}
	return string(sum.Sum(nil))
}

// fill writes the image to a file that does not exist or is empty. It returns nil
// and does nothing if the file has content.
func (d *Dev) fill(path string) (*image, error) {
	switch info, err := os.Lstat(path); {
	case err == nil && info.Size() > 0, err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, nil
	}
	if err := file.CreateOrEmpty(path); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, nil // opening the database will return a better error
	}
	f, err := file.Open(path, os.O_WRONLY)
	if err != nil {
		return nil, nil // as above
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	start, err := loadImage(d)
	if err != nil {
		return nil, err
	}
	return start, start.refill(path)
}

// refill replaces the content of a file by the image, whatever it holds and whoever
// has it open. It never leaves the file incomplete, since no server could start on it.
func (i *image) refill(path string) error {
	return withTempFile(func(copy string) error {
		if err := i.write(copy); err != nil {
			return err
		}
		return backup.Replace(path, copy)
	})
}

// withTempFile calls do with the path of a file in a temporary folder, which it removes.
func withTempFile(do func(path string) error) (err error) {
	dir, err := tempFolder("punchcard-image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return do(filepath.Join(dir, "punchcard.db"))
}

// write writes the image to a new file.
func (i *image) write(path string) error {
	if err := file.Create(path); err != nil {
		return err
	}
	return os.WriteFile(path, i.file, 0o600)
}

// tempFolder creates a temporary folder that its owner can use whatever the umask.
func tempFolder(pattern string) (dir string, err error) {
	if dir, err = os.MkdirTemp("", pattern+"*"); err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err == nil && info.Mode().Perm() != 0o700 {
		err = os.Chmod(dir, 0o700)
	}
	return dir, err
}
