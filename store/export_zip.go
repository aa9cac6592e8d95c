package store

import (
	"archive/zip"
	"compress/flate"
	"context"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
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
	size atomic.Int64  // that was written
	more chan struct{} // receives when it was written to, and is closed at the end
	err  error         // why there is no more, io.EOF if it is complete; set before more is closed
	at   int64         // of the next Read
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
	z := &Zip{file: f, stop: stop, more: make(chan struct{}, 1)}
	go func() {
		defer close(z.more)
		if _, z.err = x.WriteZip(ctx, z); z.err == nil {
			z.err = io.EOF
		}
	}()
	return z, nil
}

// Write adds to the file.
func (z *Zip) Write(b []byte) (n int, err error) {
	n, err = z.file.Write(b)
	z.size.Add(int64(n))
	wake(z.more)
	return n, err
}

// Read reads what is written, and waits if that is nothing yet. If the export fails, so does Read when
// it comes to the end of what was written.
func (z *Zip) Read(b []byte) (n int, err error) {
	for z.at == z.size.Load() {
		if _, more := <-z.more; !more && z.at == z.size.Load() {
			return 0, z.err
		}
	}
	n, err = z.file.ReadAt(b[:min(int64(len(b)), z.size.Load()-z.at)], z.at)
	z.at += int64(n)
	return n, err
}

// Close ends the export and removes the file.
func (z *Zip) Close() error {
	z.stop()
	for range z.more { // until it has ended
	}
	err := z.file.Close()
	os.Remove(z.file.Name())
	return err
}
