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
)

// image is what a fixture begins with: the content of its file, and what is in
// it. Writing it out takes a tenth of the time that making it takes.
type image struct {
	once  sync.Once
	err   error
	file  []byte
	ready *seed.Ready
}

// images are kept for the process: a test binary starts hundreds of fixtures.
var images sync.Map // of imageKey to *image

type imageKey struct {
	clock         int64 // unix nanoseconds at which it stands; 0: it runs
	deterministic bool
	seed          *seed.File // nil: the demo shop
	small         bool
}

// imageOf makes the image of a fixture, or gives the one that was made before.
func imageOf(d *Dev) (*image, error) {
	key := imageKey{deterministic: d.Deterministic, seed: d.Seed, small: d.Small}
	if at, stands := d.Clock.start(); stands {
		key.clock = at.UnixNano()
	}
	kept, _ := images.LoadOrStore(key, &image{})
	i := kept.(*image)
	i.once.Do(func() { i.err = i.make(d) })
	if i.err != nil { // a full disk has room again some day
		images.CompareAndDelete(key, kept)
	}
	return i, i.err
}

func (i *image) make(d *Dev) (err error) {
	dir, err := os.MkdirTemp("", "punchcard-image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "punchcard.db")
	opts := store.Options{Ephemeral: true, Readers: 1, Small: d.Small}
	d.options(&opts, "image")
	at, stands := d.Clock.start()
	if !stands {
		at = time.Now()
	}
	clock := NewClock(at)
	opts.Now = clock.Now
	st, err := store.Open(path, opts)
	if err != nil {
		return err
	}
	if d.Seed != nil {
		i.ready, err = d.Seed.Apply(st, clock)
	} else {
		i.ready, err = seed.Demo(st, "")
	}
	if err = errors.Join(err, st.Close()); err != nil {
		return err
	}
	i.file, err = os.ReadFile(path)
	return err
}

// past is what a file holds already, for Dev.rand; empty where an image fills it.
func past(path string) string {
	sum, any := sha256.New(), false
	for _, part := range []string{"", "-wal"} {
		if f, err := os.Open(path + part); err == nil { // else opening the database says so
			n, _ := io.Copy(sum, f)
			f.Close()
			any = any || n > 0
		}
	}
	if !any {
		return ""
	}
	return string(sum.Sum(nil))
}

// fill puts the image into a file that is not there yet, or empty. It gives
// none where there is one: that keeps what it has.
func (d *Dev) fill(path string) (*image, error) {
	switch info, err := os.Stat(path); {
	case err == nil && info.Size() > 0, err != nil && !errors.Is(err, os.ErrNotExist):
		return nil, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil // opening the database says so best
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return d.refill(path)
}

// refill puts the image into a file whatever is in it, and whoever has it open.
// Half of it is never there: no start could open that.
func (d *Dev) refill(path string) (start *image, err error) {
	dir, err := os.MkdirTemp("", "punchcard-image-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	whole := filepath.Join(dir, "punchcard.db")
	if start, err = d.write(whole); err != nil {
		return nil, err
	}
	return start, backup.Replace(path, whole)
}

// write makes a file of the image, which nobody else has.
func (d *Dev) write(path string) (*image, error) {
	start, err := imageOf(d)
	if err != nil {
		return nil, err
	}
	return start, os.WriteFile(path, start.file, 0o600)
}
