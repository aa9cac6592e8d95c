package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fill puts the files of the release into a folder. work is an empty folder, which the
// caller removes.
func (r *release) fill(folder, work string) error {
	sources := [2]string{filepath.Join(work, "first"), filepath.Join(work, "second", "deeper")}
	for _, dir := range sources {
		if err := copySources(dir); err != nil {
			return err
		}
	}
	modules, err := r.readModules(sources[0])
	if err != nil {
		return err
	}
	licenses, err := licenseText(modules)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	write := func(name string, content []byte) error {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), name)
		return os.WriteFile(filepath.Join(folder, name), content, 0o644)
	}
	for _, target := range r.targets {
		binary, err := r.buildTwice(target, sources, filepath.Join(work, "cache"))
		if err != nil {
			return err
		}
		name, archive, err := r.archive(target, binary, licenses, sources[0])
		if err != nil {
			return err
		}
		if err := write(name, archive); err != nil {
			return err
		}
		fmt.Printf("%-13s %d bytes, the same in both builds\n", target, len(binary))
	}
	bom, err := r.billOfMaterials(modules)
	if err != nil {
		return err
	}
	if err := write("punchcard_"+r.version+".cdx.json", bom); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), sums.Bytes(), 0o644)
}

// copySources copies the files of the repository in the current folder that git does not
// ignore to a new folder.
func copySources(dir string) error {
	list, err := output("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(list, "\x00"), "\x00") {
		to := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, and not yet committed
		} else if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			if err := os.Symlink(target, to); err != nil {
				return err
			}
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, content, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}

// environment returns the environment of the go command for a target. Variables that change
// the bytes of a binary have the same values on every machine.
func environment(target string) []string {
	system, arch, _ := strings.Cut(target, "/")
	return append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off",
		"GOAMD64=v1", "GOARM64=v8.0", "GOFIPS140=off", "GODEBUG=")
}

// buildTwice builds the binary of a target in two folders of sources and returns it. The
// second time it has a cache of its own, in the given folder.
func (r *release) buildTwice(target string, sources [2]string, cache string) ([]byte, error) {
	var built [2][]byte
	for i, dir := range sources {
		env := environment(target)
		if i == 1 && !r.cached {
			env = append(env, "GOCACHE="+cache)
		}
		path := filepath.Join(dir, ".built") // which no package embeds
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X punchcard/server/app.Version="+r.version, "-o", path, ".")
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", target, err, out)
		}
		var err error
		if built[i], err = os.ReadFile(path); err != nil {
			return nil, err
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
		if bytes.Contains(built[i], []byte(dir)) {
			return nil, fmt.Errorf("the binary for %s contains the name of the folder in which it was built", target)
		}
	}
	if !bytes.Equal(built[0], built[1]) {
		return nil, fmt.Errorf("two builds for %s have different bytes", target)
	}
	return built[0], nil
}
