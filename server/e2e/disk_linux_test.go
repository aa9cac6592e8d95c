package e2e

import (
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// limitFiles bounds the size of the files that a running process writes, and
// returns what the bound was.
func limitFiles(t *testing.T, pid int, size uint64) (before uint64) {
	t.Helper()
	const prlimit64, fsize = syscall.SYS_PRLIMIT64, syscall.RLIMIT_FSIZE
	var old syscall.Rlimit
	call := func(set, get *syscall.Rlimit) {
		t.Helper()
		if _, _, errno := syscall.RawSyscall6(prlimit64, uintptr(pid), fsize, uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 0, 0); errno != 0 {
			t.Fatal(errno)
		}
	}
	call(nil, &old)
	call(&syscall.Rlimit{Cur: size, Max: old.Max}, nil)
	return old.Cur
}

// A log that can grow no further has every write refused and nothing else, and
// the server works again as soon as it can.
func TestLogThatCannotGrow(t *testing.T) {
	t.Parallel()
	d := newDisk(t, t.TempDir())
	pid := d.server.cmd.Process.Pid
	d.leaks(func() {
		for _, more := range []int64{0, 10, 4000, 9000} { // none of which is a whole write
			info, err := os.Stat(d.db + "-wal")
			if err != nil {
				t.Fatal(err)
			}
			free := limitFiles(t, pid, uint64(info.Size()+more))
			d.failing(int(more) / (frameHeader + pageSize))
			limitFiles(t, pid, free)
			d.sound()
			d.there()
		}
	})
	d.killed()
	d.sound()
}
