package punchtest_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestDependencies checks that the fixture does not link what only the command line needs, and that
// the binary links nothing of tests.
func TestDependencies(t *testing.T) {
	t.Parallel()
	list := exec.Command("go", "list", "-f", `{{join .Deps " "}}`, "./server/punchtest", ".")
	list.Dir = "../.."
	out, err := list.Output()
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) < 2 {
		t.Fatalf("%v: %s", err, out)
	}
	fixture, binary := strings.Fields(lines[0]), strings.Fields(lines[1])
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
