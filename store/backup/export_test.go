package backup

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"punchcard/store"
)

// TestExport writes a shop to a folder and to a zip file, beside which there is nothing afterwards.
// What exists is not replaced, and while the files are written nothing has the name of the target.
func TestExport(t *testing.T) {
	f := start(t)
	f.program("Coffee")
	folder := filepath.Join(t.TempDir(), "out")
	succeed(os.Mkdir(folder, 0o700))
	var stop context.CancelFunc
	var to string
	seen := 0
	s := check(store.Open(f.Path(), store.Options{Readers: 1, Progress: func(step store.Step, _, _ int64) {
		if step.Name == "exporting audit" {
			seen++
			if names := list(folder); slices.Contains(names, filepath.Base(to)) || !slices.Contains(names, filepath.Base(to)+".partial") {
				t.Errorf("while it is written there are %v", names)
			}
			if stop != nil {
				stop()
			}
		}
	}}))
	defer s.Close()
	var x store.Export
	succeed(s.View(0, func(v *store.View) (err error) {
		x, err = v.Export(f.a.Shop, store.ExportFormat{})
		return err
	}))
	for _, name := range []string{"all", "all.ZIP"} {
		to = filepath.Join(folder, name)
		ctx, cancel := context.WithCancel(context.Background())
		stop = cancel
		if _, err := Export(ctx, x, to); !errors.Is(err, context.Canceled) || len(list(folder)) > 0 {
			t.Errorf("canceled: %v, and there are %v", err, list(folder))
		}
		stop = nil
		succeed(os.WriteFile(to+".partial", []byte("of another"), 0o600))
		_, err := Export(context.Background(), x, to)
		if err == nil || !strings.Contains(err.Error(), name+".partial is beside it") ||
			string(check(os.ReadFile(to+".partial"))) != "of another" {
			t.Errorf("beside the rest of another: %v", err)
		}
		succeed(os.Remove(to + ".partial"))
		m := check(Export(context.Background(), x, to))
		if have := list(folder); !slices.Equal(have, []string{name}) {
			t.Errorf("there are %v", have)
		}
		compareFiles(t, m, to)
		if _, err := Export(context.Background(), x, to); !errors.Is(err, ErrExists) {
			t.Errorf("a second time: %v", err)
		}
		succeed(os.RemoveAll(to))
	}
	if seen < 4 {
		t.Errorf("%d exports were looked at", seen)
	}
	if _, err := Export(context.Background(), x, filepath.Join(folder, "missing", "all")); err == nil {
		t.Error("wrote into a folder that does not exist")
	}
}

// compareFiles checks that a folder or zip file has the files of a manifest, and the manifest last.
func compareFiles(t *testing.T, m store.ExportManifest, at string) {
	t.Helper()
	want := []string{"manifest.json"}
	for _, f := range m.Files {
		want = append(want, f.Name)
	}
	slices.Sort(want)
	info := check(os.Stat(at))
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%s has mode %v", at, info.Mode())
	}
	var have []string
	if info.IsDir() {
		have = list(at)
	} else {
		text := check(os.ReadFile(at))
		z := check(zip.NewReader(bytes.NewReader(text), int64(len(text))))
		for _, f := range z.File {
			have = append(have, f.Name)
			check(io.Copy(io.Discard, check(f.Open()))) // compares the checksum
		}
		if have[len(have)-1] != "manifest.json" {
			t.Errorf("%v", have)
		}
		slices.Sort(have)
	}
	if !slices.Equal(have, want) {
		t.Errorf("%s has %v, want %v", at, have, want)
	}
}

// list returns the names in a folder, sorted.
func list(folder string) (names []string) {
	for _, e := range check(os.ReadDir(folder)) {
		names = append(names, e.Name())
	}
	return names
}
