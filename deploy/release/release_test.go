package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestVersions checks which versions are taken.
func TestVersions(t *testing.T) {
	for _, version := range []string{"0.1.0", "1.2.3", "10.20.30", "1.0.0-rc.1", "1.0.0-beta"} {
		if err := checkVersion(version); err != nil {
			t.Error(err)
		}
	}
	for _, version := range []string{"", "1", "1.2", "v1.2.3", "01.2.3", "1.2.3.4", "1.2.3-", "1.2.3-rc..1", "1.2.3+x", "1.2.3 ", "1.2.3\n", "../1.2.3", "1.2.3-../x", "1.2.3 -X main.x=y"} {
		if err := checkVersion(version); err == nil || !strings.Contains(err.Error(), "such as 1.2.0") {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// TestRefused checks that nothing is made by a wrong call, from files that are not committed, or where
// the release is there already.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	git("init", "-q")
	if err := os.WriteFile("committed", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("commit", "-qm", "first")
	refused := func(want string, args ...string) {
		t.Helper()
		if err := run("dist", false, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
		if _, err := os.Stat("dist"); err == nil {
			t.Errorf("%q made a folder", args)
		}
	}
	refused("the version is missing")
	refused("is not a version", "v1.0.0")
	refused("none of the targets", "1.0.0", "plan9/amd64")
	for _, file := range []string{"committed", "other"} {
		if err := os.WriteFile(file, []byte("changed"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(file, "1.0.0")
		git("add", ".")
		refused(file, "1.0.0")
		git("commit", "-qm", "next")
	}
	if err := os.MkdirAll("built/1.0.0", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (&release{version: "1.0.0"}).publish("built/1.0.0"); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a release that is there: %v", err)
	}
}

// TestArchives checks the content of archives, and that their bytes do not depend on the time zone.
func TestArchives(t *testing.T) {
	sources := t.TempDir()
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		if err := os.WriteFile(filepath.Join(sources, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := &release{version: "1.2.3", time: time.Unix(1_800_000_000, 0).UTC()}
	for target, want := range map[string]string{"linux/amd64": "punchcard_1.2.3_linux_amd64.tar.gz", "darwin/arm64": "punchcard_1.2.3_macos_arm64.tar.gz", "windows/amd64": "punchcard_1.2.3_windows_amd64.zip"} {
		name, content, err := r.archive(target, []byte("program"), []byte("others"), sources)
		if err != nil || name != want {
			t.Fatalf("%s, %v", name, err)
		}
		time.Local = time.FixedZone("elsewhere", 3600)
		if _, again, _ := r.archive(target, []byte("program"), []byte("others"), sources); !bytes.Equal(again, content) {
			t.Errorf("%s has other bytes when it is made again", name)
		}
		folder := strings.TrimSuffix(strings.TrimSuffix(want, ".tar.gz"), ".zip")
		program := "punchcard"
		if strings.HasSuffix(want, ".zip") {
			program += ".exe"
		}
		files := read(t, content)
		for file, text := range map[string]string{program: "program -rwxr-xr-x", "LICENSE": "LICENSE -rw-r--r--", "README.md": "README.md -rw-r--r--", "CHANGELOG.md": "CHANGELOG.md -rw-r--r--", "LICENSES-OF-OTHERS.txt": "others -rw-r--r--"} {
			if got := files[folder+"/"+file]; got != text+" 2027-01-15T08:00:00Z" {
				t.Errorf("%s in %s: %q", file, name, got)
			}
		}
		if len(files) != 5 {
			t.Errorf("%s has %v", name, files)
		}
	}
}

// read returns the text, mode and time of the files of an archive.
func read(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	files := map[string]string{}
	add := func(name string, r io.Reader, info os.FileInfo) {
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text) + " " + info.Mode().String() + " " + info.ModTime().UTC().Format(time.RFC3339)
	}
	if z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive))); err == nil {
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			add(f.Name, r, f.FileInfo())
		}
		return files
	}
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if err == io.EOF {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		add(h.Name, r, h.FileInfo())
	}
}
