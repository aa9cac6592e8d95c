package command

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestHelp prints the help of a command, and of one that there is not.
func TestHelp(t *testing.T) {
	var out strings.Builder
	ended := false
	parser, err := kong.New(New(), kong.Name("punchcard"), kong.DefaultEnvars("PUNCHCARD"), kong.Writers(&out, &out), kong.Exit(func(int) { ended = true }))
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := parser.Parse([]string{"help", "card", "issue"})
	if err != nil {
		t.Fatal(err)
	}
	if ctx.Run(); !ended || !strings.Contains(out.String(), "Usage: punchcard card issue ") || !strings.Contains(out.String(), "--holder-email") {
		t.Errorf("help printed\n%s", out.String())
	}
	for wrong, right := range map[string]string{"card isue x": "issue", "prgoram list": "program", "card issue x --holder-nam Ada": "--holder-name", "stat": "stats"} {
		if _, err := parser.Parse(strings.Fields(wrong)); err == nil || !strings.Contains(err.Error(), "did you mean") || !strings.Contains(err.Error(), right) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestCompletion runs the script for bash.
func TestCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	f := &file{t, filepath.Join(t.TempDir(), "none.db")}
	script := f.run("completion", "bash")
	for line, want := range map[string]string{"pro": "program", "card iss": "issue", "card issue Coffee --holder-n": "--holder-name", "--shop x program pub": "publish", "program create --no-rep": "--no-repeat-after-reset", "location set-pin --no": "--none"} {
		fields := strings.Fields("punchcard " + line)
		test := script + "COMP_WORDS=('" + strings.Join(fields, "' '") + "')\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_punchcard\necho \"${COMPREPLY[@]}\""
		out, err := exec.Command(bash, "-c", test).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s is completed to %q, want %q (%v)", line, got, want, err)
		}
	}
	if zsh := f.run("completion", "zsh"); !strings.HasSuffix(zsh, script) || zsh == script {
		t.Error("the script for zsh does not load that for bash")
	}
	f.refused([]string{"completion", "fish"}, "bash")
}
