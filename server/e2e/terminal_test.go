package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"
)

// TestAttackTerminal checks that escape sequences, line breaks and characters that change the
// direction of text in a name are shown as escapes, in tables and in errors. JSON has them in
// escapes too, so that the name is unchanged when it is decoded.
func TestAttackTerminal(t *testing.T) {
	t.Parallel()
	f := &shopFile{t: t, db: filepath.Join(t.TempDir(), "shop.db")}
	f.run("shop", "create", "--name", "Bar Lux")
	here, program := f.location("Home"), ""
	f.makeKey("create", "--name", "Office")
	f.run("device", "create", "--location", here, "--name", "Till")
	p := startServe(t, f.db)
	f.server = p
	program = newProgram(p.api(f.secrets[0]), `{"type":"standard","name":"Coffee","total_stamps":10,"icon_key":"coffee"}`)
	p.stop()
	// The file is changed directly, since the rules of fields may refuse some of these names.
	const evil = "Ada\x1b]0;owned\x07\x1b[2J\r\u009b31m\t\u202etxt.exe\u2066\nroot\x7f\u2028."
	const shown = `Ada\x1b]0;owned\a\x1b[2J\r\u009b31m\t\u202etxt.exe\u2066\nroot\x7f\u2028.`
	for _, column := range []string{
		"shops.name", "shops.timezone", "locations.name", "locations.city", "devices.name", "devices.prefix", "keys.name",
		"keys.prefix", "programs.name", "audit.actor_name",
	} {
		table, name, _ := strings.Cut(column, ".")
		sqlExec(t, f.db, fmt.Sprintf("UPDATE %s SET %s='%s'", table, name, evil))
	}
	for _, args := range [][]string{
		{"shop", "list"}, {"location", "list"}, {"device", "list"}, {"key", "list"}, {"audit"},
		{"program", "update", program, "--min-spend-cents", "none"},
	} {
		out := f.run(args...)
		if !strings.Contains(out, shown) {
			t.Errorf("%v does not print %s:\n%q", args, shown, out)
		}
		wantPrintable(t, args, out)
		json := f.run(append(args, "--json")...)
		if !strings.Contains(json, `Ada\u001b]0;owned`) || !strings.Contains(json, `\u009b31m`) || !strings.Contains(json, `\u202e`) {
			t.Errorf("%v --json printed %q", args, json)
		}
		wantPrintable(t, append(args, "--json"), json)
	}
	for _, args := range [][]string{
		{"shop", "list", "--db", f.db + evil}, {"backup", f.db + evil + "/x", "--db", f.db}, {"location", "list" + evil},
		{"audit", "--limit", evil},
	} {
		r := execute(t, nil, args...)
		r.refused(t)
		wantPrintable(t, args, r.stderr)
	}
}

// wantPrintable checks that an output has no control character but the ends of lines, and none that
// changes the direction of text or ends a line in Unicode.
func wantPrintable(t *testing.T, args []string, out string) {
	t.Helper()
	for _, r := range strings.ReplaceAll(out, "\n", "") {
		if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			t.Errorf("%v printed %q", args, out)
			return
		}
	}
}

// TestAttackPINArgument checks that no command takes a PIN as an argument, which other users of
// the machine can read, and that nothing repeats one.
func TestAttackPINArgument(t *testing.T) {
	t.Parallel()
	f := &shopFile{t: t, db: filepath.Join(t.TempDir(), "shop.db")}
	f.run("shop", "create", "--name", "Bar Lux")
	here := f.location("Home")
	for _, args := range [][]string{
		{"location", "set-pin", here, "47114711"},
		{"location", "create", "--name", "x", "--address", "x", "--city", "x", "--postal-code", "1", "--country-code", "IT",
			"--staff-pin", "47114711"},
	} {
		r := execute(t, nil, append(args, "--db", f.db)...)
		r.refused(t, "standard input", "without it")
		if strings.Contains(r.stderr, "4711") {
			t.Errorf("the PIN is repeated: %s", r.stderr)
		}
	}
	if n := len(strings.Split(strings.TrimSpace(f.run("location", "list")), "\n")); n != 2 {
		t.Errorf("%d lines of locations, want a header and one", n)
	}
	for text, says := range map[string]string{
		"":                         "is empty",
		"\n":                       "is empty",
		"\r\n4711":                 "is empty",
		strings.Repeat("4", 1<<20): "4 to 8 digits",
		" 4711":                    "4 to 8 digits",
		"4711 \n":                  "4 to 8 digits",
	} {
		input(t, text, "location", "set-pin", here, "--db", f.db).refused(t, "PIN", says)
	}
	for _, text := range []string{"4711", "4711\n", "4711\r\n", "4711\nignored"} {
		if r := input(t, text, "location", "set-pin", here, "--db", f.db); r.code != 0 || strings.Contains(r.stdout, "4711") {
			t.Errorf("%q: %+v", text, r)
		}
	}
	// Standard input that stays open without a line does not keep the command from ending.
	cmd := exec.Command(binary(), "location", "set-pin", here, "--db", f.db)
	pipe, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err == nil {
		t.Error("set-pin without a PIN ended with 0")
	}
}
