package store

import (
	"archive/zip"
	"compress/flate"
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// WriteZip writes the export as a zip file. What it wrote before an error is none.
func (x Export) WriteZip(ctx context.Context, w io.Writer) (m ExportManifest, err error) {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	at := x.s.Now().Std()
	m, err = x.Write(ctx, func(name string) (io.Writer, error) {
		return z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at})
	})
	if err != nil {
		return m, err
	}
	return m, z.Close()
}

// Zip is an export as a zip file, which is read while it is written.
type Zip struct {
	file *os.File
	stop context.CancelFunc
	done chan struct{} // closed when it is written

	mu   sync.Mutex
	more *sync.Cond // it was written to
	size int64
	err  error // why there is no more, io.EOF if it is complete
	at   int64 // of the next Read
}

// Zip begins to write the export as a zip file: to a temporary file beside the database that has no
// name, so that the transaction lasts no longer for a reader that is slow. The caller must close it.
func (x Export) Zip(ctx context.Context) (*Zip, error) {
	f, err := os.CreateTemp(filepath.Dir(x.s.path), ".export-*")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // Windows refuses that while it is open
	ctx, stop := context.WithCancel(ctx)
	z := &Zip{file: f, stop: stop, done: make(chan struct{})}
	z.more = sync.NewCond(&z.mu)
	go func() {
		defer close(z.done)
		_, err := x.WriteZip(ctx, z)
		if err == nil {
			err = io.EOF
		}
		z.wrote(0, err)
	}()
	return z, nil
}

// Write adds to the file.
func (z *Zip) Write(b []byte) (n int, err error) {
	n, err = z.file.Write(b)
	z.wrote(n, err)
	return n, err
}

// wrote notes that n bytes were written, and the first error.
func (z *Zip) wrote(n int, err error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.size += int64(n)
	if z.err == nil {
		z.err = err
	}
	z.more.Broadcast()
}

// Read reads what is written, and waits if that is nothing yet. If the export fails, so does Read when
// it comes to the end of what was written.
func (z *Zip) Read(b []byte) (n int, err error) {
	z.mu.Lock()
	for z.at == z.size && z.err == nil {
		z.more.Wait()
	}
	left, err := z.size-z.at, z.err
	z.mu.Unlock()
	if left == 0 {
		return 0, err
	}
	n, err = z.file.ReadAt(b[:min(int64(len(b)), left)], z.at)
	z.at += int64(n)
	return n, err
}

// Close ends the export and removes the file.
func (z *Zip) Close() error {
	z.stop()
	<-z.done
	err := z.file.Close()
	os.Remove(z.file.Name())
	return err
}
