package punchtest_test

import (
	"os/exec"
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
