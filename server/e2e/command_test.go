package e2e

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

func TestCommandsWithoutFile(t *testing.T) {
	t.Parallel()
	version := "punchcard " + app.Version
	for _, s := range require.Must(buildinfo.ReadFile(binary())).Settings { // there is no commit with -buildvcs=false
		if s.Key == "vcs.revision" {
			version += "+" + s.Value[:12]
		}
	}
	if r := execute(t, nil, "version"); r.code != 0 || r.stdout != version+"\n" {
		t.Errorf("version: %+v, want %s", r, version)
	}
	p := startDev(t)
	if r := execute(t, nil, "healthcheck", p.origin); r != (result{}) {
		t.Errorf("healthcheck: %+v", r)
	}
	p.stop()
	execute(t, nil, "healthcheck", p.origin).refused(t, "not ready")
	if r := execute(t, nil); r.code != 0 || !strings.Contains(r.stdout, "serve") || !strings.Contains(r.stdout, "healthcheck") {
		t.Errorf("no command: %+v", r)
	}
	execute(t, nil, "prog", "\x1b[2J\n").refused(t, "prog")
	execute(t, nil, "shop", "list", "--db", "\x1b[2J\n\u202e").refused(t, `\x1b[2J\n\u202e`)
	if r := execute(t, nil, "--help"); r.code != 0 || !strings.Contains(r.stdout, "punchcard dev") {
		t.Errorf("--help: %+v", r)
	}
}

// TestCheckFindings violates one invariant at a time and checks what check prints.
func TestCheckFindings(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	api := f.newAPI("CRM")
	program := newProgram(api, stampCard)
	for i := range 3 {
		issueCard(api, program, map[string]string{"external_ref": fmt.Sprint(i)})
	}
	if out := f.run("check"); out != "ok\n" {
		t.Errorf("check while served printed %q", out)
	}
	f.server.stop()
	var answer struct {
		OK       bool
		Findings []string
	}
	f.json(&answer, "check")
	if !answer.OK || answer.Findings == nil || len(answer.Findings) != 0 {
		t.Errorf("check --json of a consistent file: %+v", answer)
	}
	for says, damage := range map[string]string{
		"live_cards": "UPDATE shops SET live_cards=live_cards+1",
		"integrity":  "",
	} {
		broken := copyFile(t, f.db)
		if damage == "" {
			servertest.CorruptIndex(t, broken, "cards_program", "cards_ref")
		} else {
			sqlExec(t, broken, damage)
		}
		r := execute(t, nil, "check", "--db", broken)
		if line, rest, _ := strings.Cut(r.stderr, "\n"); r.code != 1 || !strings.Contains(r.stdout, says) ||
			strings.Contains(r.stdout, "ok\n") || line == "" || rest != "" {
			t.Errorf("%s: %+v", damage, r)
		}
		r = execute(t, nil, "check", "--json", "--db", broken)
		if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || r.code != 1 || answer.OK || len(answer.Findings) == 0 {
			t.Errorf("%s: --json: %+v", damage, r)
		}
	}
}
