package e2e

import (
	"os"
	"syscall"
	"testing"
	"unsafe"

	"punchcard/server/servertest/require"
)

// limitFiles sets RLIMIT_FSIZE of a running process and returns the limit from before.
func limitFiles(t *testing.T, pid int, size uint64) (before uint64) {
	t.Helper()
	const prlimit64, fsize = syscall.SYS_PRLIMIT64, syscall.RLIMIT_FSIZE
	var old syscall.Rlimit
	call := func(set, get *syscall.Rlimit) {
		t.Helper()
		if _, _, errno := syscall.RawSyscall6(prlimit64, uintptr(pid), fsize, uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)),
			0, 0); errno != 0 {
			t.Fatal(errno)
		}
	}
	call(nil, &old)
	call(&syscall.Rlimit{Cur: size, Max: old.Max}, nil)
	return old.Cur
}

// TestWALCannotGrow checks that writes, but not reads, are refused while the WAL cannot grow, and
// that the server works again when it can.
func TestWALCannotGrow(t *testing.T) {
	t.Parallel()
	d := newDisk(t, t.TempDir())
	pid := d.server.cmd.Process.Pid
	d.checkLeaks(func() {
		for _, more := range []int64{0, 10, 4000, 9000} { // each less than one write
			info := require.Must(os.Stat(d.db + "-wal"))
			free := limitFiles(t, pid, uint64(info.Size()+more))
			d.wantRefused(int(more) / (frameHeader + pageSize))
			limitFiles(t, pid, free)
			d.wantWorking()
			d.checkCards()
		}
	})
	d.killAndRestart()
	d.wantWorking()
}
