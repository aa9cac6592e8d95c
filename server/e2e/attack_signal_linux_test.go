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
)

// TestAttackBusyFile locks a database so that every command waits for it, and checks that
// SIGTERM and SIGINT end the wait and that nothing is left behind.
func TestAttackBusyFile(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		for _, command := range []string{"backup COPY --db DB", "restore COPY --db DB --force", "serve --listen 127.0.0.1:0 --db DB", "dev --listen 127.0.0.1:0 --db DB", "check --db DB", "shop list --db DB"} {
			dir := t.TempDir()
			db, copied := filepath.Join(dir, "shop.db"), filepath.Join(dir, "copy.db")
			source := newDatabase(t)
			if err := os.Rename(source, db); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(command, "restore") {
				if r := execute(t, nil, "backup", copied, "--db", db); r.code != 0 {
					t.Fatalf("%+v", r)
				}
			}
			release := holdFile(t, db)
			before := names(t, dir)
			cmd := exec.Command(binary(), strings.Fields(strings.NewReplacer("DB", db, "COPY", copied).Replace(command))...)
			var stdout, stderr bytes.Buffer
			cmd.Env, cmd.Stdout, cmd.Stderr = environment(nil), &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				cmd.Wait()
				close(ended)
			}()
			for waiting := true; waiting; { // until it has opened the file
				select {
				case <-ended:
					waiting = false
				default:
					waiting = !hasOpen(cmd.Process.Pid, db)
				}
			}
			cmd.Process.Signal(signal)
			<-ended
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

// holdFile holds the exclusive lock of a database until release is called.
func holdFile(t *testing.T, path string) (release func()) {
	t.Helper()
	db := must(sql.Open("sqlite", path))
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; UPDATE meta SET auth_epoch=auth_epoch; COMMIT"); err != nil {
		t.Fatal(err)
	}
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
	t.Helper()
	var all []string
	for _, e := range must(os.ReadDir(dir)) {
		if !strings.HasSuffix(e.Name(), ".lock") {
			all = append(all, e.Name())
		}
	}
	return strings.Join(all, " ")
}
