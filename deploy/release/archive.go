package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// file is a file of an archive.
type file struct {
	name    string
	content []byte
	mode    int64
}

// archive returns the archive of a target, with its name: .zip for Windows, else .tar.gz. All
// its files are in a folder of the same name.
func (r *release) archive(target string, binary, licenses []byte, sources string) (name string, content []byte, err error) {
	system, arch, _ := strings.Cut(target, "/")
	folder := "punchcard_" + r.version + "_" + strings.Replace(system, "darwin", "macos", 1) + "_" + arch
	program := "punchcard"
	if system == "windows" {
		program += ".exe"
	}
	files := []file{{program, binary, 0o755}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		content, err := os.ReadFile(filepath.Join(sources, name))
		if err != nil {
			return "", nil, err
		}
		files = append(files, file{name, content, 0o644})
	}
	files = append(files, file{"LICENSES-OF-OTHERS.txt", licenses, 0o644})
	for i := range files {
		files[i].name = folder + "/" + files[i].name
	}
	if system == "windows" {
		content, err = zipOf(files, r.time)
		return folder + ".zip", content, err
	}
	content, err = tarOf(files, r.time)
	return folder + ".tar.gz", content, err
}

// tarOf returns a compressed tar archive. It depends on its arguments alone.
func tarOf(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// zipOf returns a zip archive. It depends on its arguments alone.
func zipOf(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(f.mode))
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
