package e2e

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestLoad runs server/bench/load for about a second. The program checks all results itself and exits
// with 1 if something is wrong. Its speed is not checked here.
func TestLoad(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "load")
	if out, err := exec.Command("go", "build", "-o", program, "./server/bench/load").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(t *testing.T, args ...string) (code int, stdout, stderr string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 3*waitLimit)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, append([]string{"-binary", binary(), "-dir", t.TempDir()}, args...)...)
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // lets it stop its server
		cmd.WaitDelay = waitLimit
		var o, e bytes.Buffer
		cmd.Stdout, cmd.Stderr = &o, &e
		err := cmd.Run()
		if cmd.ProcessState == nil || ctx.Err() != nil {
			t.Fatalf("%v\n%s%s", err, &o, &e)
		}
		return cmd.ProcessState.ExitCode(), o.String(), e.String()
	}
	t.Run("at a rate", func(t *testing.T) {
		t.Parallel()
		code, stdout, stderr := run(t, "-minutes", "0.005", "-cards", "80", "-clients", "8", "-rate", "200")
		if code != 0 || stderr != "" {
			t.Fatalf("exit %d: %s\n%s", code, stderr, stdout)
		}
		for _, line := range []string{
			`(?m)^[1-9]\d* answers, `, `(?m)^([1-9]\d*) webhooks were expected and [1-9]\d* arrived`,
			`(?m)^check found nothing; the ledger's [1-9]\d* rows and all cards`,
		} {
			if !regexp.MustCompile(line).MatchString(stdout) {
				t.Errorf("the output has no line %s:\n%s", line, stdout)
			}
		}
	})
	// At full speed. The WAL exceeds one megabyte while the cards are issued.
	t.Run("finds what breaks a bound", func(t *testing.T) {
		t.Parallel()
		code, stdout, stderr := run(t, "-minutes", "0.001", "-cards", "80", "-clients", "8", "-wal-bound", "1")
		if code != 1 || !strings.Contains(stdout, "FAULT the write-ahead log grew to ") || !strings.HasPrefix(stderr, "load: 1 faults") {
			t.Errorf("exit %d: %s\n%s", code, stderr, stdout)
		}
	})
}
