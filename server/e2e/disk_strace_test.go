//go:build durability

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"punchcard/server/servertest/require"
)

// TestDiskFailsOnce makes each system call of a write fail once, and checks that the write is
// refused, leaves nothing, and that the next write succeeds.
func TestDiskFailsOnce(t *testing.T) {
	d := newDisk(t, t.TempDir())
	d.checkLeaks(func() {
		for _, call := range []string{"pwrite64", "fsync"} {
			n := 1
			for ; d.failCall(call, n); n++ {
				d.checkCards()
			}
			if min := map[string]int{"pwrite64": 10, "fsync": 1}[call]; n <= min {
				t.Errorf("a write makes %d calls of %s", n-1, call)
			}
			t.Logf("%d calls of %s", n-1, call)
		}
	})
	d.killAndRestart()
	d.wantWorking()
}

// failCall makes the nth system call of one write fail. It returns false if a write makes fewer.
func (d *disk) failCall(call string, n int) bool {
	d.t.Helper()
	// strace counts by thread. If the writer has changed its thread, no call fails, and the write
	// is repeated.
	for range 50 {
		tr := d.server.attach("-e", "trace=pwrite64,fsync,ftruncate", "-e", fmt.Sprintf("inject=%s:error=EIO:when=%d", call, n))
		status := d.write()
		trace := tr.detach()
		injected := strings.Contains(trace, "(INJECTED)")
		if injected != (status == 500) {
			d.t.Errorf("%s number %d failed: %t; the status of the write is %d:\n%s", call, n, injected, status, trace)
		}
		if injected {
			d.wantWorking()
			return true
		}
		if strings.Count(trace, call+"(") < n {
			return false
		}
	}
	d.t.Errorf("%s number %d could not be made to fail", call, n)
	return false
}

// withFault injects a fault while work runs, and checks that everything works afterwards.
func (d *disk) withFault(fault string, work func()) {
	d.t.Helper()
	tr := d.server.attach("-e", "trace=pwrite64,fsync,ftruncate", "-e", "inject="+fault)
	work()
	if trace := tr.detach(); !strings.Contains(trace, "(INJECTED)") {
		d.t.Errorf("%s: nothing failed", fault)
	}
	d.wantWorking()
	d.checkCards()
}

// TestDiskFailsForAWhile makes the disk fail in each way during many writes. The server must answer
// as a read-only one, and work again afterwards.
func TestDiskFailsForAWhile(t *testing.T) {
	d := newDisk(t, t.TempDir())
	d.checkLeaks(func() {
		for _, fault := range []string{
			"pwrite64:error=EIO", "pwrite64:error=ENOSPC", "pwrite64:error=EDQUOT", "pwrite64:error=EROFS", "pwrite64:error=EPERM",
			"pwrite64:retval=0", "fsync:error=EIO", "fsync:error=ENOSPC",
		} {
			d.withFault(fault, func() { d.wantRefused(0) })
		}
	})
	d.killAndRestart()
	d.wantWorking()
}

// TestDiskFailsNowAndThen makes calls fail at intervals while many clients write.
func TestDiskFailsNowAndThen(t *testing.T) {
	d := newDisk(t, t.TempDir())
	d.checkLeaks(func() {
		for _, fault := range []string{"pwrite64:error=EIO:when=7+23", "fsync:error=EIO:when=2+3"} {
			d.withFault(fault, func() {
				var writers sync.WaitGroup
				for range 8 {
					writers.Go(func() {
						for range 10 {
							d.write()
						}
					})
				}
				writers.Wait()
			})
		}
	})
	d.killAndRestart()
	d.wantWorking()
}

// TestDiskFailsInAnErase makes each system call of a command that erases a card fail. The command
// ends with a checkpoint. The card is erased if and only if the command succeeds.
func TestDiskFailsInAnErase(t *testing.T) {
	d := newDisk(t, t.TempDir())
	for _, call := range []string{"pwrite64", "fsync", "ftruncate"} {
		failed := 0
		for n := 1; ; n++ {
			id := issueCard(d.api(), d.program, map[string]string{"external_ref": fmt.Sprint("erased-", call, n)}).ID
			trace := filepath.Join(t.TempDir(), "trace")
			r := finish(t, straceCommand(trace, call, n, "card", "delete", id, "--yes", "--db", d.db), nil)
			erased := d.ask(d.api(), "GET", "/cards/"+id, nil).Status == 404
			if erased != (r.code == 0) {
				t.Errorf("%s number %d failed: the exit code is %d, the card is erased: %t\n%s", call, n, r.code, erased, r.stderr)
			}
			if r.code != 0 {
				r.refused(t, "the disk failed")
			}
			d.wantWorking()
			raw := require.Must(os.ReadFile(trace))
			if !bytes.Contains(raw, []byte("(INJECTED)")) {
				break
			}
			failed++
		}
		if failed == 0 {
			t.Errorf("no call of %s failed", call)
		}
		t.Logf("%d calls of %s", failed, call)
	}
	d.killAndRestart()
}

// TestDiskFailsInACheckpoint checks that writes succeed while checkpoints fail, and that the WAL is
// kept until a checkpoint succeeds.
func TestDiskFailsInACheckpoint(t *testing.T) {
	const due = 4000 * (frameHeader + pageSize)
	d := newDisk(t, t.TempDir())
	log := func() int64 {
		info := require.Must(os.Stat(d.db + "-wal"))
		return info.Size()
	}
	for _, fault := range []string{"pwrite64:error=EIO", "fsync:error=EIO", "pwrite64:error=ENOSPC"} {
		for log() < due-40*pageSize { // the writes below exceed the checkpoint size
			d.write()
		}
		before := log()
		tr := d.server.attach("-e", "trace=pwrite64,fsync,ftruncate", "-P", d.db, "-e", "inject="+fault)
		for range 20 {
			if status := d.write(); status != 201 {
				t.Errorf("%s: the status of a write is %d", fault, status)
			}
		}
		d.checkCards()
		injected := strings.Count(tr.detach(), "(INJECTED)")
		if injected == 0 || log() < before {
			t.Errorf("%s: %d calls failed, and the WAL changed from %d to %d bytes", fault, injected, before, log())
		}
		d.killAndRestart() // the database file is partly written
		d.wantWorking()
		d.checkCards()
	}
}

// fillDisk fills a disk to the last byte.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, io.ErrShortWrite) {
			t.Fatal(err)
		}
	}
}

// TestDiskFull uses a full disk. The server must work again when a file is deleted, and must be
// able to stop and start meanwhile.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	noError(t, syscall.Mount("none", dir, "tmpfs", 0, "size=8m"))
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	d := newDisk(t, dir)
	fill := filepath.Join(dir, "ballast")
	d.checkLeaks(func() {
		for range 3 {
			fillDisk(t, fill)
			// The rest of the WAL's last block is less than a page.
			d.wantRefused(0)
			noError(t, os.Remove(fill))
			d.wantWorking()
			d.checkCards()
		}
	})
	fillDisk(t, fill)
	d.wantRefused(0)
	d.http.CloseIdleConnections() // Shutdown would wait for a connection that was never used
	d.server.signal(syscall.SIGTERM)
	if err := d.server.wait(); err != nil {
		t.Errorf("the server on a full disk exited with %v:\n%s", err, d.server.stderr)
	}
	d.checkLog()
	noError(t, os.Remove(fill))
	d.serve()
	d.checkCards()
	d.wantWorking()
	d.killAndRestart()
}

// TestRestoreKilledAtEachCall kills a restore at each call that changes a name, a size or content.
func TestRestoreKilledAtEachCall(t *testing.T) {
	t.Parallel()
	old, backup := crashedFolder(t), backupOf(t, "Bar Nero")
	for _, call := range changingCalls {
		step, swapped := 1, 0
		for n := 1; ; n += step {
			what := fmt.Sprintf("killed at %s %d", call, n)
			s, whole := killRestore(t, old, backup, what, func(args ...string) bool { return killAtCall(t, call, n, args...) })
			if s {
				swapped++
			}
			if whole {
				t.Logf("%s: %d kills", call, (n-1+step-1)/step)
				break
			}
			if call == "pwrite64" && n > 6 {
				step = 9
			}
		}
	}
}

// TestDiskFailsUnderABackup makes each call fail with which a backup writes and syncs, and checks
// that no backup is made and no file is left.
func TestDiskFailsUnderABackup(t *testing.T) {
	t.Parallel()
	db, dir := newDatabase(t), t.TempDir()
	file, trace := filepath.Join(dir, "copy.db"), filepath.Join(t.TempDir(), "trace")
	for _, c := range []struct {
		call, on string
		when     []int
		says     string
	}{
		{"pwrite64", file + ".partial-raw", []int{1, 2, 10, 30}, "the disk failed"},
		{"pwrite64", file + ".partial", []int{1, 2, 10, 30}, "the disk failed"},
		{"fsync", file + ".partial", []int{1}, "input/output error"},
	} {
		for _, n := range c.when {
			cmd := exec.Command("strace", "-f", "-qq", "-o", trace, "-P", c.on, "-e", "trace="+c.call, "-e",
				fmt.Sprintf("inject=%s:error=EIO:when=%d", c.call, n), binary(), "backup", file, "--db", db)
			r := finish(t, cmd, nil)
			calls := require.Must(os.ReadFile(trace))
			if !strings.Contains(string(calls), "(INJECTED)") {
				t.Errorf("%s %d of %s did not fail; it printed %q", c.call, n, c.on, r.stdout)
				continue
			}
			r.refused(t, file, c.says)
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Fatalf("%s %d of %s left %v", c.call, n, c.on, left)
			}
		}
	}
	execute(t, nil, "backup", file, "--db", db).ok(t)
	checkFile(t, file)
}
