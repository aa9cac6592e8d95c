package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fenced    = regexp.MustCompile("(?ms)^```.*?^```$")
	code      = regexp.MustCompile("`[^`]+`")
	link      = regexp.MustCompile(`\]\(([^)]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fileName  = regexp.MustCompile(`^[\w.-]+\.(go|md|sql|html|mjs|py|sh)$`)
	namedPath = regexp.MustCompile(`^\.?\w+(/[\w.-]+)+/?$`)
	namedTest = regexp.MustCompile(`^Test[A-Z]\w*…?$`)
	noAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// absolute returns the absolute path of a file. The cache of go test records the files that a test
// opens, but not that TestMain changes the folder, so it would look for relative paths in the wrong
// place and not notice changes.
func absolute(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return abs
}

// files returns the content of each file of the repository whose name ends with suffix, by path.
func files(t *testing.T, suffix string) map[string]string {
	t.Helper()
	all := map[string]string{}
	root := absolute(".")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case err != nil || d.IsDir() || !strings.HasSuffix(path, suffix):
			return err
		}
		raw, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, root+"/")] = string(raw)
		return err
	})
	if err != nil || len(all) < 5 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	return all
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(text string) (list []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		plain := noAnchor.ReplaceAllString(strings.ToLower(m[1]), "")
		list = append(list, strings.ReplaceAll(plain, " ", "-"))
	}
	return list
}

// exists reports whether one of the paths exists.
func exists(paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		_, err := os.Stat(absolute(path))
		return err == nil
	})
}

// TestReadmeLinks checks that the target of each relative link in the documents exists, including
// its heading, and each path that they name in backticks.
func TestReadmeLinks(t *testing.T) {
	all := files(t, ".md")
	for path, text := range all {
		dir := filepath.Dir(path)
		text = fenced.ReplaceAllString(text, "")
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			target := path
			if file != "" {
				target = filepath.Join(dir, file)
			}
			if !exists(target) {
				t.Errorf("%s links to %s, which does not exist", path, m[1])
			} else if anchor != "" && !slices.Contains(anchors(all[target]), anchor) {
				t.Errorf("%s links to %s, which has no such heading", path, m[1])
			}
		}
		for _, quoted := range code.FindAllString(text, -1) {
			name := strings.Trim(quoted, "`")
			first, _, _ := strings.Cut(name, "/")
			isPath := namedPath.MatchString(name) && exists(first) || fileName.MatchString(name)
			if isPath && !exists(name, filepath.Join(dir, name)) {
				t.Errorf("%s names %s, which does not exist", path, quoted)
			}
		}
	}
}

// TestReadmeTests checks that each test named in the documents exists.
func TestReadmeTests(t *testing.T) {
	var tests strings.Builder
	for _, text := range files(t, "_test.go") {
		tests.WriteString(text)
	}
	for path, text := range files(t, ".md") {
		for _, quoted := range code.FindAllString(fenced.ReplaceAllString(text, ""), -1) {
			name := strings.Trim(quoted, "`")
			if !namedTest.MatchString(name) {
				continue
			}
			prefix, open := strings.CutSuffix(name, "…")
			if !open {
				prefix += "("
			}
			if !strings.Contains(tests.String(), "\nfunc "+prefix) {
				t.Errorf("%s names %s, which does not exist", path, quoted)
			}
		}
	}
}

// TestReadmePackages checks the length of the README and that its table of packages is complete.
func TestReadmePackages(t *testing.T) {
	text := files(t, ".md")["README.md"]
	if n := strings.Count(text, "\n"); n > 300 {
		t.Errorf("README.md has %d lines; the maximum is 300", n)
	}
	out, err := exec.Command("go", "list", "./...").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, pkg := range strings.Fields(string(out)) {
		if name := strings.TrimPrefix(pkg, "punchcard/"); !regexp.MustCompile("(?m)^\\|[^|]*`" + name + "`[^|]*\\|").MatchString(text) {
			t.Errorf("README.md has no row for the package %s", name)
		}
	}
}
