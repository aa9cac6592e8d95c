package punchtest_test

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s in %s: %v\n%s", strings.Join(args, " "), dir, err, out)
	}
	return string(out)
}

// TestDependencies checks that the fixture does not link what only the command line needs, and that
// the binary links nothing of tests.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deps := func(path string) []string { return strings.Fields(run(t, root, "list", "-deps", path)) }
	fixture, binary := deps("./server/punchtest"), deps(".")
	for _, none := range []string{"punchcard/server/command", "github.com/alecthomas/kong", "go.uber.org/goleak"} {
		if slices.Contains(fixture, none) {
			t.Errorf("the fixture links %s", none)
		}
	}
	for _, none := range []string{"testing", "punchcard/server/punchtest", "net/http/httptest"} {
		if slices.Contains(binary, none) {
			t.Errorf("the binary links %s", none)
		}
	}
	if !slices.Contains(fixture, "punchcard/server/app") || !slices.Contains(binary, "punchcard/server/command") {
		t.Error("the lists are not those of the fixture and the binary")
	}
}

// TestOtherModule uses the fixture from another module, as documented. Its tests run with GOFLAGS
// and GOPROXY of the environment and need no network once the modules are cached.
func TestOtherModule(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(root, "testdata", "consumer")
	run(t, dir, "vet", "./...")
	run(t, dir, "test", "-count=1", "./...")
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		is, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := format.Source(is); err != nil || string(is) != string(want) {
			t.Errorf("%s is not formatted: %v", f, err)
		}
	}
}

// TestTool runs the program from another module as a tool, as documented.
func TestTool(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(root, "testdata", "consumer")
	if out := run(t, dir, "tool", "punchcard", "openapi", "--till"); !strings.Contains(out, `"title":"Till API"`) {
		t.Errorf("the tool prints %.200s", out)
	}
	if out := run(t, dir, "tool"); !strings.Contains(out, "\npunchcard\n") {
		t.Errorf("the tools of the module:\n%s", out)
	}
}
