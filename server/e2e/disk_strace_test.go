//go:build durability

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Every call that a write makes of the disk fails once: the write is refused,
// nothing of it is there, and the next one is made.
func TestDiskFailsOnce(t *testing.T) {
	d := newDisk(t, t.TempDir())
	d.leaks(func() {
		for _, call := range []string{"pwrite64", "fsync"} {
			n := 1
			for ; d.failsOnce(call, n); n++ {
				d.there()
			}
			if least := map[string]int{"pwrite64": 10, "fsync": 1}[call]; n <= least {
				t.Errorf("a write makes %d calls of %s", n-1, call)
			}
			t.Logf("%d calls of %s", n-1, call)
		}
	})
	d.killed()
	d.sound()
}

// failsOnce has the nth call fail that one write makes; false if it makes fewer.
func (d *disk) failsOnce(call string, n int) bool {
	d.t.Helper()
	// strace counts by thread, and the writer may change its thread in between:
	// then no call has failed, and the write is tried again.
	for range 50 {
		tr := d.server.attach("-e", "trace=pwrite64,fsync,ftruncate", "-e", fmt.Sprintf("inject=%s:error=EIO:when=%d", call, n))
		status := d.write()
		trace := tr.detach()
		struck := strings.Contains(trace, "(INJECTED)")
		if struck != (status == 500) {
			d.t.Errorf("%s number %d failed: %t; the write is answered %d:\n%s", call, n, struck, status, trace)
		}
		if struck {
			d.sound()
			return true
		}
		if strings.Count(trace, call+"(") < n {
			return false
		}
	}
	d.t.Errorf("%s number %d could not be made to fail", call, n)
	return false
}

// during has the disk fail in some way while work goes on, and sees that nothing
// of it is left afterwards.
func (d *disk) during(fault string, work func()) {
	d.t.Helper()
	tr := d.server.attach("-e", "trace=pwrite64,fsync,ftruncate", "-e", "inject="+fault)
	work()
	if trace := tr.detach(); !strings.Contains(trace, "(INJECTED)") {
		d.t.Errorf("%s: nothing failed", fault)
	}
	d.sound()
	d.there()
}

// A disk that fails for a while, in each of the ways that it can, while many
// write: it is as if the server were read-only, and then as if nothing had been.
func TestDiskFailsForAWhile(t *testing.T) {
	d := newDisk(t, t.TempDir())
	d.leaks(func() {
		for _, fault := range []string{"pwrite64:error=EIO", "pwrite64:error=ENOSPC", "pwrite64:error=EDQUOT", "pwrite64:error=EROFS", "pwrite64:error=EPERM", "pwrite64:retval=0", "fsync:error=EIO", "fsync:error=ENOSPC"} {
			d.during(fault, func() { d.failing(0) })
		}
	})
	d.killed()
	d.sound()
}

// The disk fails at any moment of the work of many writers.
func TestDiskFailsNowAndThen(t *testing.T) {
	d := newDisk(t, t.TempDir())
	d.leaks(func() {
		for _, fault := range []string{"pwrite64:error=EIO:when=7+23", "fsync:error=EIO:when=2+3"} {
			d.during(fault, func() {
				var all sync.WaitGroup
				for range 8 {
					all.Go(func() {
						for range 10 {
							d.write()
						}
					})
				}
				all.Wait()
			})
		}
	})
	d.killed()
	d.sound()
}

// An erase at the command line ends with a log that is emptied into the file.
// Whichever call of it fails: what it says has happened has.
func TestDiskFailsInAnErase(t *testing.T) {
	d := newDisk(t, t.TempDir())
	for _, call := range []string{"pwrite64", "fsync", "ftruncate"} {
		failed := 0
		for n := 1; ; n++ {
			id := issueCard(d.api(), d.program, map[string]string{"external_ref": fmt.Sprint("erased-", call, n)}).ID
			trace := filepath.Join(t.TempDir(), "trace")
			r := finish(t, straced(trace, call, n, "card", "delete", id, "--db", d.db), nil)
			gone := d.ask(d.api(), "GET", "/cards/"+id, nil).Status == 404
			if gone != (r.code == 0) {
				t.Errorf("%s number %d failed: erase ended with %d, the card is gone: %t\n%s", call, n, r.code, gone, r.stderr)
			}
			if r.code != 0 {
				r.refused(t, "the disk failed")
			}
			d.sound()
			raw, err := os.ReadFile(trace)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(raw, []byte("(INJECTED)")) {
				break
			}
			failed++
		}
		if failed == 0 {
			t.Errorf("no %s of an erase failed", call)
		}
		t.Logf("%d calls of %s", failed, call)
	}
	d.killed()
}

// A write is made once it is in the log. That the log cannot be moved into the
// file takes nothing from it, and the log is kept until it can.
func TestDiskFailsInACheckpoint(t *testing.T) {
	const due = 4000 * (frameHeader + pageSize)
	d := newDisk(t, t.TempDir())
	log := func() int64 {
		info, err := os.Stat(d.db + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for _, fault := range []string{"pwrite64:error=EIO", "fsync:error=EIO", "pwrite64:error=ENOSPC"} {
		for log() < due-40*pageSize { // the writes below go past it
			d.write()
		}
		before := log()
		tr := d.server.attach("-e", "trace=pwrite64,fsync,ftruncate", "-P", d.db, "-e", "inject="+fault)
		for range 20 {
			if status := d.write(); status != 201 {
				t.Errorf("%s: a write whose log is sound is answered %d", fault, status)
			}
		}
		d.there()
		struck := strings.Count(tr.detach(), "(INJECTED)")
		if struck == 0 || log() < before {
			t.Errorf("%s: %d calls failed, and the log went from %d to %d bytes", fault, struck, before, log())
		}
		d.killed() // with a file that is half written
		d.sound()
		d.there()
	}
}

// ballast fills a disk to the last byte.
func ballast(t *testing.T, path string) {
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

// A disk that is really full: the server works again as soon as something is
// deleted, and a full disk does not keep it from stopping and starting.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	d := newDisk(t, dir)
	fill := filepath.Join(dir, "ballast")
	d.leaks(func() {
		for range 3 {
			ballast(t, fill)
			// What the log's last block has left is less than a page.
			d.failing(0)
			if err := os.Remove(fill); err != nil {
				t.Fatal(err)
			}
			d.sound()
			d.there()
		}
	})
	ballast(t, fill)
	d.failing(0)
	d.http.CloseIdleConnections() // one that was never used would be waited for
	d.server.signal(syscall.SIGTERM)
	if err := d.server.wait(); err != nil {
		t.Errorf("the server on a full disk ended with %v:\n%s", err, d.server.stderr)
	}
	d.told()
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	d.serve()
	d.there()
	d.sound()
	d.killed()
}
