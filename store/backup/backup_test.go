package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/store"
)

// TestBackupCanceled cancels a backup at every check of its context, and checks that it leaves no
// file and keeps the one that it was to replace.
func TestBackupCanceled(t *testing.T) {
	t.Parallel()
	f := start(t)
	must(f, func(tx *store.Tx) (any, error) {
		for i := range 300 { // fills several pages of the file
			key := store.NewIdempotencyKey(1, fmt.Sprint(i), "POST", "/", nil)
			if err := tx.Remember(key, store.Remembered{Status: 200, Body: []byte(strings.Repeat("x", 9000))}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	dir := t.TempDir()
	file := filepath.Join(dir, "copy.db")
	succeed(os.WriteFile(file, []byte("old"), 0o600))
	for n := 0; ; n++ {
		_, err := Create(&countdown{context.Background(), n}, f.Path(), file, Options{Force: true})
		if got := folder(t, dir); !slices.Equal(got, []string{"copy.db"}) {
			t.Fatalf("canceled at check %d, the folder has %q", n, got)
		}
		if err == nil {
			if n < 5 {
				t.Errorf("the context was checked only %d times", n)
			}
			break
		}
		if b, _ := os.ReadFile(file); !errors.Is(err, context.Canceled) || string(b) != "old" {
			t.Fatalf("canceled at check %d: %v, the file has %.10q", n, err, b)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has the mode %v, %v", info.Mode(), err)
	}
	f.checkFile()
}

// TestBackupIsOneFile checks that a backup is one file without a WAL and has everything in the
// database, including what is only in its WAL.
func TestBackupIsOneFile(t *testing.T) {
	t.Parallel()
	f := start(t)
	program := f.program("Coffee")
	for i := range 50 {
		f.card(program, store.CardFields{ExternalRef: set(fmt.Sprint("person", i))})
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "copy.db")
	size := check(Create(context.Background(), f.Path(), file, Options{Copied: func() {
		// Temporary files contain personal data too.
		for _, name := range folder(t, dir) {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s can be read by others: %v, %v", name, info.Mode(), err)
			}
		}
	}}))
	raw, err := os.ReadFile(file)
	if err != nil || int64(len(raw)) != size || raw[18] != 1 || raw[19] != 1 {
		t.Errorf("%d bytes of %d, %v, versions %v", len(raw), size, err, raw[18:20])
	}
	// The backup can be restored from a read-only file, and gives the same rows.
	succeed(os.Chmod(file, 0o400))
	f.restore(file, time.Now())
	if got := folder(t, dir); !slices.Equal(got, []string{"copy.db"}) {
		t.Errorf("beside the backup there is %q", got)
	}
	succeed(os.Chmod(file, 0o600))
	again := f.on(file)
	if before, after := f.dump(), again.dump(); before != after {
		t.Errorf("the copy differs:\n%.2000s\n%.2000s", before, after)
	}
	again.checkFile()
}

// TestBackupOfAnOlderSchema checks that a file of an older version is copied without a migration,
// so that a backup can be made before an upgrade.
func TestBackupOfAnOlderSchema(t *testing.T) {
	t.Parallel()
	older, file := createOlder(t), filepath.Join(t.TempDir(), "copy.db")
	check(Create(context.Background(), older, file, Options{}))
	for _, path := range []string{older, file} {
		c := connect(t, path)
		if v, err := c.Number("PRAGMA user_version"); v != 11 || err != nil {
			t.Errorf("%s has schema %d, %v", path, v, err)
		}
		c.Close()
	}
}
