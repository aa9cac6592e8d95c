package e2e

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"punchcard/server/servertest/require"
)

// TestAttackBusyFile locks a database so that every command waits for it, and checks that
// SIGTERM and SIGINT end the wait, of servers with status 0, and that nothing is left behind.
func TestAttackBusyFile(t *testing.T) {
	t.Parallel()
	for signal, commands := range map[syscall.Signal][]string{
		syscall.SIGTERM: {
			"backup COPY --db DB", "restore COPY --db DB --force", "serve --listen 127.0.0.1:0 --db DB",
			"dev --listen 127.0.0.1:0 --db DB", "check --db DB", "shop list --db DB",
		},
		syscall.SIGINT: {"backup COPY --db DB", "serve --listen 127.0.0.1:0 --db DB", "shop list --db DB"},
	} {
		for _, command := range commands {
			dir := t.TempDir()
			db, copied := filepath.Join(dir, "shop.db"), filepath.Join(dir, "copy.db")
			source := newDatabase(t)
			noError(t, os.Rename(source, db))
			if strings.HasPrefix(command, "restore") {
				execute(t, nil, "backup", copied, "--db", db).ok(t)
			}
			release := holdFile(t, db)
			before := names(t, dir)
			cmd := exec.Command(binary(), strings.Fields(strings.NewReplacer("DB", db, "COPY", copied).Replace(command))...)
			var stdout, stderr bytes.Buffer
			cmd.Env, cmd.Stdout, cmd.Stderr = environment(nil), &stdout, &stderr
			noError(t, cmd.Start())
			ended := make(chan struct{})
			go func() {
				cmd.Wait()
				close(ended)
			}()
			for waiting := true; waiting; { // until it has opened the file
				select {
				case <-ended:
					waiting = false
				case <-time.After(time.Millisecond):
					waiting = !hasOpen(cmd.Process.Pid, db)
				}
			}
			cmd.Process.Signal(signal)
			<-ended
			if strings.HasPrefix(command, "serve") || strings.HasPrefix(command, "dev") {
				if !cmd.ProcessState.Success() || strings.Contains(stderr.String(), "level=ERROR") {
					t.Errorf("%s at %v: %v, %q", command, signal, cmd.ProcessState, &stderr)
				}
				stderr.Reset()
				stderr.WriteString("canceled\n")
			}
			killed := cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled()
			canceled := strings.Contains(stderr.String(), "canceled") && strings.Count(stderr.String(), "\n") == 1
			if !killed && !canceled {
				t.Errorf("%s at %v: %v, %q %q", command, signal, cmd.ProcessState, &stdout, &stderr)
			}
			if after := names(t, dir); after != before {
				t.Errorf("%s at %v left %s, there was %s", command, signal, after, before)
			}
			release()
		}
	}
}

// lastInit begins the line about the package that is initialised last before main is called.
const lastInit = "\ninit punchcard/server/command @"

// stopAfter starts a server, sends SIGTERM to it at a time after main has begun, and returns how it
// ended and what it printed. With inittrace, Go's runtime prints a line when the last package is
// initialised, after which it calls main.
func stopAfter(t *testing.T, d time.Duration, args ...string) (log string, err error) {
	t.Helper()
	cmd := exec.Command(binary(), args...)
	cmd.Env = environment([]string{"GODEBUG=inittrace=1"})
	p := launchCommand(t, cmd)
	p.await(p.stderr, contains(lastInit))
	defer time.AfterFunc(d, func() { cmd.Process.Signal(syscall.SIGTERM) }).Stop()
	err = p.wait()
	_, log, _ = strings.Cut(p.stderr.String(), lastInit)
	return log, err
}

// TestStopAtAnyTime sends SIGTERM to servers that begin: one that makes its file, one that finds an
// empty file, one that migrates and one that opens it. Each ends with status 0, and its file is
// empty, as it was, or whole.
func TestStopAtAnyTime(t *testing.T) {
	t.Parallel()
	older := newOlder(t)
	starts := map[string]func(db string) error{
		"no file":       func(string) error { return nil },
		"an empty file": func(db string) error { return os.WriteFile(db, nil, 0o644) },
		"an older file": func(db string) error { return os.WriteFile(db, require.Must(os.ReadFile(older)), 0o644) },
	}
	for kind, create := range starts {
		for _, ms := range []int{1, 20, 60, 300} {
			d := time.Duration(ms) * time.Millisecond
			db := filepath.Join(memoryDir(t), "shop.db")
			noError(t, create(db))
			log, err := stopAfter(t, d, "serve", "--listen", "127.0.0.1:0", "--db", db)
			for range 20 {
				// On a busy machine the first statement of main may come later than the signal. A
				// signal that main catches too late would end the process each time.
				if err == nil || err.Error() != "signal: terminated" {
					break
				}
				log, err = stopAfter(t, d, "serve", "--listen", "127.0.0.1:0", "--db", db)
			}
			if err != nil || strings.Contains(log, "level=ERROR") {
				t.Errorf("%s, SIGTERM after %v: %v\n%s", kind, d, err, log)
			}
			if left := require.Must(filepath.Glob(db + ".schema-*.partial")); len(left) > 0 {
				t.Errorf("%s, SIGTERM after %v left %q", kind, d, left)
			}
			info, err := os.Stat(db)
			if kind == "an empty file" && err == nil && info.Size() > 0 && info.Mode() != 0o600 {
				t.Errorf("%s, SIGTERM after %v: the file has the mode %v", kind, d, info.Mode())
			}
			if err == nil && info.Size() > 0 {
				if err := checkQuickly(t, db); err != nil && !strings.Contains(err.Error(), "empty file") {
					t.Errorf("%s, SIGTERM after %v: %v", kind, d, err)
				}
			}
		}
	}
}

// holdFile holds the exclusive lock of a database until release is called.
func holdFile(t *testing.T, path string) (release func()) {
	t.Helper()
	db := require.Must(sql.Open("sqlite", path))
	db.SetMaxOpenConns(1)
	require.Must(db.Exec("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE meta SET auth_epoch=auth_epoch; COMMIT"))
	return func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// hasOpen reports whether a process has a file open.
func hasOpen(pid int, path string) bool {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	for _, e := range entries {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, e.Name())); err == nil && to == path {
			return true
		}
	}
	return false
}

// names returns the names of the files in a folder, except for locks, which stay.
func names(t *testing.T, dir string) string {
	var all []string
	for _, e := range require.Must(os.ReadDir(dir)) {
		if !strings.HasSuffix(e.Name(), ".lock") {
			all = append(all, e.Name())
		}
	}
	return strings.Join(all, " ")
}

// TestPINAtAnOpenInput checks that standard input that stays open without a line does not keep a
// command from ending at SIGTERM.
func TestPINAtAnOpenInput(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(binary(), "location", "set-pin", "loc_x", "--db", newDatabase(t))
	pipe := require.Must(cmd.StdinPipe())
	defer pipe.Close()
	noError(t, cmd.Start())
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err == nil {
		t.Error("set-pin without a PIN ended with 0")
	}
}
