package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInitWithoutDeploy checks that init makes no shop if it finds first that the files of
// --write-deploy cannot be written, and prints the secrets of the shop if it finds it later.
func TestInitWithoutDeploy(t *testing.T) {
	onStdin(t, "")
	f := &file{t, filepath.Join(t.TempDir(), "shop.db")}
	plainFile := filepath.Join(t.TempDir(), "deploy")
	noError(t, os.WriteFile(plainFile, nil, 0o600))
	args := initArgs + " --public-url https://lux.example.com --write-deploy"
	f.refused(args+" "+plainFile, "--write-deploy", "not a directory")
	if left := f.folder(); len(left) != 0 {
		t.Fatalf("left %v", left)
	}
	out, err := f.try(args + " /proc/punchcard") // where no folder can be made
	if err == nil || !strings.Contains(err.Error(), "--write-deploy") {
		t.Errorf("no folder can be made: %v", err)
	}
	for _, want := range []string{"/invite/", "tsk_live_", "tdk_live_"} {
		if !strings.Contains(out, want) {
			t.Errorf("the shop is made, but its secret %s is lost:\n%s", want, out)
		}
	}
	if strings.Contains(out, "is written") {
		t.Errorf("printed %s", out)
	}
}

// TestInitQuotes checks that a shell takes each name and path in the next commands as one word.
func TestInitQuotes(t *testing.T) {
	onStdin(t, "")
	f := &file{t, filepath.Join(t.TempDir(), "it's $HOME.db")}
	name := "The $(id) `x` \"card\""
	out := f.run(initArgs + " --program '" + name + "' --location Ada's")
	checked := 0
	for _, line := range strings.Split(out, "\n") {
		line, ok := strings.CutPrefix(line, "  punchcard ")
		if !ok {
			continue
		}
		checked++
		words, err := exec.Command("sh", "-c", "printf '%s\n' "+line).Output()
		if err != nil || !strings.Contains(string(words), "\n"+f.db+"\n") {
			t.Errorf("%s: %v, %s", line, err, words)
		}
		if strings.HasPrefix(line, "card issue ") && !strings.Contains(string(words), "\n"+name+"\n") ||
			strings.HasPrefix(line, "device pair ") && !strings.Contains(string(words), "\nAda's\n") {
			t.Errorf("%s: %s", line, words)
		}
	}
	if checked != 4 {
		t.Errorf("%d commands are printed, want 4:\n%s", checked, out)
	}
}
