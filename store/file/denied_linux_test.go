package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// asNobody calls f in a thread with the permissions of the user 65534 if the tests run as
// root, to whom permissions do not apply. The system keeps them for each thread; this one ends
// with f.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	done := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread()
		var errno syscall.Errno
		if os.Geteuid() == 0 {
			_, _, errno = syscall.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), 65534, ^uintptr(0))
		}
		if errno == 0 {
			f()
		}
		done <- errno
	}()
	if errno := <-done; errno != 0 {
		t.Fatal(errno)
	}
}

// TestDenied takes permissions from files and folders, and checks that the error names what
// is missing and who needs it.
func TestDenied(t *testing.T) {
	root, err := os.MkdirTemp("/tmp", "punchcard-denied-") // where everybody may enter
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(root) })
	dir := filepath.Join(root, "data")
	db := filepath.Join(dir, "shop.db")
	modes := func(root, folder, file, log os.FileMode) {
		t.Helper()
		must(
			t,
			os.Chmod(dir, 0o700),
			os.Chmod(db, file),
			os.Chmod(db+"-wal", log),
			os.Chmod(dir, folder),
			os.Chmod(filepath.Dir(dir), root),
		)
	}
	must(t, os.Mkdir(dir, 0o700), os.WriteFile(db, nil, 0o600), os.WriteFile(db+"-wal", nil, 0o600))
	t.Cleanup(func() { modes(0o700, 0o700, 0o600, 0o600) })
	for _, c := range []struct {
		root, folder, file, log os.FileMode
		want                    string // "" for none
	}{
		{0o777, 0o777, 0o666, 0o666, ""},
		{0o777, 0o777, 0o000, 0o666, "which may not read " + db + "; give that user the file: chown "},
		{0o777, 0o777, 0o444, 0o666, "which may not write " + db + "; give that user the file: chown "},
		{0o777, 0o777, 0o666, 0o444, "which may not write " + db + "-wal; "},
		{0o777, 0o555, 0o666, 0o666, "which may not write in the folder " + dir + ", "},
		{0o777, 0o666, 0o666, 0o666, "which may not enter the folder " + dir},
		{0o600, 0o777, 0o666, 0o666, "which may not enter the folder " + root},
	} {
		modes(c.root, c.folder, c.file, c.log)
		var got error
		asNobody(t, func() { got = Denied(db, "-wal", "-shm") })
		switch {
		case c.want == "" && got == nil:
		case got == nil || c.want == "" || !errors.Is(got, fs.ErrPermission) ||
			!strings.HasPrefix(got.Error(), db+": permission denied: punchcard runs as user ") || !strings.Contains(got.Error(), c.want):
			t.Errorf("%o %o %o %o: %v", c.root, c.folder, c.file, c.log, got)
		}
	}
}
