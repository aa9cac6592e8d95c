package command

import (
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"punchcard/server/templates"
)

// TestHelp prints the help of a command, and checks what is suggested for misspelt words.
func TestHelp(t *testing.T) {
	var out strings.Builder
	ended := false
	parser := newParser(t, kong.Writers(&out, &out), kong.Exit(func(int) { ended = true }))
	ctx, err := parser.Parse([]string{"help", "card", "issue"})
	noError(t, err)
	if ctx.Run(); !ended || !strings.Contains(out.String(), "Usage: punchcard card issue ") ||
		!strings.Contains(out.String(), "--holder-email") {
		t.Errorf("help printed\n%s", out.String())
	}
	for wrong, right := range map[string]string{
		"card isue x": "issue", "prgoram list": "program", "card issue x --holder-nam Ada": "--holder-name", "stat": "stats",
	} {
		if _, err := parser.Parse(strings.Fields(wrong)); err == nil || !strings.Contains(err.Error(), "did you mean") ||
			!strings.Contains(err.Error(), right) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestFor checks that each command has the same commands, flags and arguments in the tree that
// For returns for it as in the tree of all commands.
func TestFor(t *testing.T) {
	model := func(tree any) map[string][]string {
		parser, err := kong.New(tree, kong.Name("punchcard"), kong.DefaultEnvars("PUNCHCARD"))
		noError(t, err)
		words := map[string][]string{}
		complete(words, map[string][]string{}, parser.Model.Node, "")
		return words
	}
	whole := model(New())
	for _, name := range whole[""] {
		if strings.HasPrefix(name, "-") || name == "help" || name == "completion" {
			continue
		}
		one := model(For([]string{name}))
		for path, want := range whole {
			if path == " "+name || strings.HasPrefix(path, " "+name+" ") {
				if !slices.Equal(one[path], want) {
					t.Errorf("%s has %q, want %q", path, one[path], want)
				}
				delete(one, path)
			}
		}
		if delete(one, ""); len(one) > 0 {
			t.Errorf("the tree of %s has also %v", name, one)
		}
	}
	for _, args := range [][]string{nil, {"help"}, {"completion"}, {"--version"}, {"Dev"}, {"prgram"}} {
		if _, ok := For(args).(*CLI); !ok {
			t.Errorf("the tree of %q has not all commands", args)
		}
	}
}

// TestCompletion runs the script for bash, and checks that the script for zsh loads it.
func TestCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	f := &file{t, filepath.Join(t.TempDir(), "none.db")}
	script := f.run("completion bash")
	for line, want := range map[string]string{
		"pro":                          "program",
		"card iss":                     "issue",
		"card issue Coffee --holder-n": "--holder-name",
		"--shop x program pub":         "publish",
		"program create --no-rep":      "--no-repeat-after-reset",
		"location set-pin --no":        "--none",
		"init --template g":            "gym gift",
		"program create --name X --template = dis": "discount",
		"card find --status exp":                   "expired",
		"init --template coffee --progr":           "--program",
	} {
		fields := strings.Fields("punchcard " + line)
		test := script + "COMP_WORDS=('" + strings.Join(
			fields, "' '",
		) + "')\nCOMP_CWORD=$((${#COMP_WORDS[@]}-1))\n_punchcard\necho \"${COMPREPLY[@]}\""
		out, err := exec.Command(bash, "-c", test).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s is completed to %q, want %q (%v)", line, got, want, err)
		}
	}
	field, _ := reflect.TypeFor[templateFlag]().FieldByName("Template")
	if got, want := field.Tag.Get("placeholder"), strings.Join(templates.Keys(), "|"); got != want {
		t.Errorf("the help of --template lists %s, want %s", got, want)
	}
	if zsh := f.run("completion zsh"); !strings.HasSuffix(zsh, script) || zsh == script {
		t.Error("the script for zsh does not load that for bash")
	}
	f.refused("completion fish", "bash")
}

// TestHelpOfNames checks that the help of flags that take names says so.
func TestHelpOfNames(t *testing.T) {
	var out strings.Builder
	newParser(t, kong.Writers(&out, &out), kong.Exit(func(int) {})).Parse(strings.Fields("transaction list --help"))
	for _, want := range []string{
		"--program=TEXT         The program: its id or name.", "--card=TEXT            The card: its id or name.",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help lacks %q", want)
		}
	}
	if strings.Contains(out.String(), "restricted key") {
		t.Errorf("the help is about keys:\n%s", out.String())
	}
}
