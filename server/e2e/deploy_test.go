package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"punchcard/server/command"
)

// TestUnit checks that the flags in the unit file exist and are valid, and that its folders are those
// that systemd makes.
func TestUnit(t *testing.T) {
	t.Parallel()
	unit := string(must(os.ReadFile("deploy/punchcard.service")))
	_, rest, _ := strings.Cut(unit, "\nExecStart=/usr/local/bin/punchcard ")
	line, _, _ := strings.Cut(rest, "\n")
	cli := command.New()
	parser := must(kong.New(cli, kong.Name("punchcard"), kong.DefaultEnvars("PUNCHCARD")))
	if _, err := parser.Parse(strings.Fields(line)); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	for _, folder := range []string{filepath.Dir(cli.Serve.DB), cli.Serve.BackupDir} {
		state := strings.TrimPrefix(folder, "/var/lib/")
		if !regexp.MustCompile(`(?m)^StateDirectory=(.* )?` + regexp.QuoteMeta(state) + `( |$)`).MatchString(unit) {
			t.Errorf("systemd does not make %s", folder)
		}
	}
}
