// Command release builds the archives of a release, from the files that are committed.
//
//	go run ./deploy/release [-out DIR] [-try] VERSION [OS/ARCH ...]
//
// It makes the folder DIR/VERSION, by default in dist, with an archive for each OS/ARCH or,
// if none is given, for every target, a list of the modules in the binaries (CycloneDX), and
// SHA256SUMS. If anything fails, it leaves nothing. It builds every binary twice, in two
// folders and the second time without the cache of Go, and fails if their bytes differ, so
// that others can build what was published. The bytes depend on the commit, the version and
// the version of Go alone.
//
// With -try it also takes changes that are not committed, uses the cache for both builds, and
// removes what it made.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// targets are the systems that releases are built for.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// release is what is built.
type release struct {
	version string
	targets []string
	commit  string
	time    time.Time // of the commit: files in archives have it
	cached  bool      // whether the second build uses the cache
}

func main() {
	out := flag.String("out", "dist", "folder in which the folder of the release is made")
	try := flag.Bool("try", false, "take changes that are not committed, use the cache for both builds, and remove what was made")
	flag.Parse()
	if err := run(*out, *try, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// run makes a release of the repository in the current folder.
func run(out string, try bool, args []string) error {
	if len(args) == 0 {
		return errors.New("the version is missing, such as 1.2.0")
	}
	r := &release{version: args[0], targets: args[1:], cached: try}
	if err := checkVersion(r.version); err != nil {
		return err
	}
	for _, target := range r.targets {
		if !slices.Contains(targets, target) {
			return fmt.Errorf("%q is none of the targets %s", target, strings.Join(targets, ", "))
		}
	}
	if len(r.targets) == 0 {
		r.targets = targets
	}
	if !try {
		if err := checkClean(); err != nil {
			return err
		}
	}
	if err := r.readCommit(); err != nil {
		return err
	}
	if try {
		dir, err := os.MkdirTemp("", "punchcard-release-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		out = dir
	}
	return r.publish(filepath.Join(out, r.version))
}

// versionForm matches a semantic version without build metadata (+…), since not every system
// takes it in file names.
var versionForm = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z]+([.-][0-9A-Za-z]+)*)?$`)

// checkVersion reports what is wrong with a version.
func checkVersion(version string) error {
	if !versionForm.MatchString(version) {
		return fmt.Errorf("%q is not a version: write three numbers such as 1.2.0, or 1.2.0-rc.1", version)
	}
	return nil
}

// checkClean reports files that are not committed.
func checkClean() error {
	changed, err := output("git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("a release is made of what is committed, and these files are not:\n%s", changed)
	}
	return nil
}

// readCommit reads the current commit and its time.
func (r *release) readCommit() error {
	line, err := output("git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	commit, at, _ := strings.Cut(line, " ")
	seconds, err := strconv.ParseInt(at, 10, 64)
	r.commit, r.time = commit, time.Unix(seconds, 0).UTC()
	return err
}

// publish makes the folder of the release.
func (r *release) publish(folder string) error {
	if _, err := os.Lstat(folder); err == nil {
		return fmt.Errorf("%s is there already", folder)
	}
	work, err := os.MkdirTemp("", "punchcard-build-")
	if err != nil {
		return err
	}
	defer removeAll(work)
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(folder), ".release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made) // it was renamed if all went well
	if err := os.Chmod(made, 0o755); err != nil {
		return err
	}
	if err := r.fill(made, work); err != nil {
		return err
	}
	if err := os.Rename(made, folder); err != nil {
		return err
	}
	fmt.Printf("%s: %s of commit %s by %s\n", folder, r.version, r.commit[:12], runtime.Version())
	return nil
}

// removeAll removes a folder with a cache of modules, whose folders are write-protected.
func removeAll(folder string) {
	filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o755)
		}
		return nil
	})
	os.RemoveAll(folder)
}

// output runs a program in the current folder and returns what it prints, without the last
// line break. The error has what the program said.
func output(name string, args ...string) (string, error) {
	var failed bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(failed.Bytes()))
	}
	return strings.TrimRight(string(out), "\n"), nil
}
