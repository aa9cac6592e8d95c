//go:build unix

package command

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"punchcard/server/servertest/require"
)

// hostileKinds create something else than a regular file at a path. The key is what
// the refusal says.
var hostileKinds = map[string]func(t *testing.T, path, precious string) error{
	"but a symbolic link": func(t *testing.T, path, precious string) error { return os.Symlink(precious, path) },
	"but a symbolic link ": func(t *testing.T, path, precious string) error { // to nothing
		return os.Symlink(precious+"-none", path)
	},
	"but a symbolic link  ": func(t *testing.T, path, precious string) error { // to itself
		return os.Symlink(path, path)
	},
	"a folder":         func(t *testing.T, path, precious string) error { return os.Mkdir(path, 0o700) },
	"but a named pipe": func(t *testing.T, path, precious string) error { return syscall.Mkfifo(path, 0o600) },
	"but a socket": func(t *testing.T, path, precious string) error {
		// In a folder of its own first, since the path of a socket must be short.
		dir, err := os.MkdirTemp("", "s")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		l, err := net.Listen("unix", filepath.Join(dir, "s"))
		if err != nil {
			return err
		}
		t.Cleanup(func() { l.Close() })
		return os.Rename(filepath.Join(dir, "s"), path)
	},
	"but a device": func(t *testing.T, path, precious string) error {
		return syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|3) // the null device; only root may
	},
}

// TestAttackFiles puts links, folders, pipes, sockets and devices where commands expect
// files of their own. Each is refused in one line that names it, and nothing changes.
func TestAttackFiles(t *testing.T) {
	sound := require.Must(os.ReadFile(newFile(t).db))
	for kind, create := range hostileKinds {
		for _, c := range []struct {
			at   string // beside shop.db
			args string // of commands; DB and TO are paths
		}{
			{"copy.db", "backup TO --db DB|backup TO --force --db DB"},
			{"copy.db.partial", "backup TO --db DB"},
			{"copy.db.partial-raw", "backup TO --db DB"},
			{"copy.db-wal", "restore TO --db DB --force"},
			{"copy.db-journal", "restore TO --db DB --force"},
			{"shop.db.partial", "restore TO --db DB --force"},
			{"shop.db.lock",
				"restore TO --db DB --force|serve --listen 127.0.0.1:0 --db DB|dev --listen 127.0.0.1:0 --db DB|check --db DB|" +
					"shop list --db DB"},
			{"shop.db-wal",
				"backup TO --db DB|restore TO --db DB --force|serve --listen 127.0.0.1:0 --db DB|dev --listen 127.0.0.1:0 --db DB|" +
					"check --db DB"},
			{"shop.db-shm",
				"backup TO --db DB|restore TO --db DB --force|serve --listen 127.0.0.1:0 --db DB|check --db DB|shop list --db DB"},
			{"shop.db-journal", "backup TO --db DB|restore TO --db DB --force|serve --listen 127.0.0.1:0 --db DB|check --db DB"},
		} {
			commands := strings.Split(c.args, "|")
			if kind != "but a symbolic link" && kind != "but a named pipe" {
				commands = commands[:1] // that they fail in the same way is shown by these two
			}
			for _, command := range commands {
				dir := t.TempDir()
				db := filepath.Join(dir, "shop.db")
				to := filepath.Join(dir, "copy.db")
				at := filepath.Join(dir, c.at)
				precious := filepath.Join(dir, "precious")
				err := errors.Join(os.WriteFile(db, sound, 0o600), os.WriteFile(precious, []byte("mine"), 0o600))
				if strings.HasPrefix(command, "restore") {
					err = errors.Join(err, os.WriteFile(to, sound, 0o600))
				}
				noError(t, err)
				if err := create(t, at, precious); errors.Is(err, syscall.EPERM) {
					t.Logf("NOT TESTED: %s, which only root can create", kind)
					continue
				} else if err != nil {
					t.Fatal(err)
				}
				before := listing(t, dir)
				args := strings.Fields(strings.NewReplacer("DB", db, "TO", to).Replace(command))
				refuses(t, nil, args, at+": is ", strings.TrimSpace(kind))
				if after := listing(t, dir); after != before {
					t.Errorf("%v with %s at %s changed the folder from\n%s\nto\n%s", args, kind, c.at, before, after)
				}
				if t.Failed() {
					return
				}
			}
		}
	}
}

// listing returns what is in a folder: names, types, modes and the content of files. It
// leaves out empty locks and logs and their indexes, which stay after a command.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	for _, e := range require.Must(os.ReadDir(dir)) {
		info := require.Must(e.Info())
		if empty := info.Size() == 0 || strings.HasSuffix(e.Name(), "-shm"); info.Mode().IsRegular() && empty {
			continue
		}
		fmt.Fprintf(&b, "%s %s", e.Name(), info.Mode())
		if info.Mode().IsRegular() {
			raw := require.Must(os.ReadFile(filepath.Join(dir, e.Name())))
			fmt.Fprintf(&b, " %d %x", len(raw), raw[max(0, len(raw)-64):])
		}
		b.WriteByte('\n')
	}
	return b.String()
}
