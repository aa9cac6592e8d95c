//go:build unix

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"punchcard/server/servertest/require"
)

// TestAttackLeftovers checks that a lock file, or the leftover of a backup, that is a second
// name of somebody's file is not written to.
func TestAttackLeftovers(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	dir := filepath.Dir(db)
	precious := filepath.Join(dir, "precious")
	err := errors.Join(os.WriteFile(precious, []byte("mine"), 0o600), os.Link(precious, db+".lock"))
	for _, name := range []string{"copy.db.partial", "copy.db.partial-raw", "second.db.partial-raw"} {
		err = errors.Join(err, os.Link(precious, filepath.Join(dir, name)))
	}
	noError(t, err)
	same := unchanged(t, precious)
	execute(t, nil, "serve", "--listen", "127.0.0.1:0", "--db", db).refused(t, db+".lock", "has content")
	execute(t, nil, "restore", precious, "--force", "--db", db).refused(t, db+".lock", "has content")
	for _, name := range []string{"copy.db", "second.db"} {
		execute(t, nil, "backup", filepath.Join(dir, name), "--db", db).ok(t)
		same()
		checkFile(t, filepath.Join(dir, name))
	}
}

// TestDatabaseBehindLink checks that a symbolic link may lead to the database, but for a restore.
// The lock and the WAL are beside the file itself, so that the lock holds for each of its names.
func TestDatabaseBehindLink(t *testing.T) {
	t.Parallel()
	dir, links := t.TempDir(), t.TempDir()
	db, link := filepath.Join(dir, "shop.db"), filepath.Join(links, "link.db")
	noError(t, errors.Join(os.Symlink("../"+filepath.Base(links)+"/second.db", link),
		os.Symlink(db, filepath.Join(links, "second.db"))))
	execute(t, nil, "shop", "create", "--name", "Bar Lux", "--db", link).ok(t)
	p := startServe(t, link)
	execute(t, nil, "serve", "--listen", "127.0.0.1:0", "--db", db).refused(t, db, "another punchcard")
	copied := filepath.Join(t.TempDir(), "copy.db")
	execute(t, nil, "backup", copied, "--db", link).ok(t)
	for _, name := range []string{link, db} {
		execute(t, nil, "backup", name, "--force", "--db", link).refused(t, "is the database itself")
	}
	execute(t, nil, "restore", copied, "--force", "--db", db).refused(t, db, "is serving")
	p.stop()
	execute(t, nil, "restore", copied, "--force", "--db", link).refused(t, link, "a symbolic link")
	execute(t, nil, "restore", copied, "--force", "--db", db).ok(t)
	checkFile(t, link)
	if aside := asideFile(t, dir); aside == "" {
		t.Error("nothing was put aside in the folder of the file")
	}
	if all := require.Must(os.ReadDir(links)); len(all) != 2 {
		t.Errorf("beside the links is %v", all)
	}
	dev := startDev(t, "--db", filepath.Join(links, "none.db"))
	dev.stop()
}

// TestAttackModes checks that new files of a database have mode 0600 whatever the umask, also
// behind a link.
func TestAttackModes(t *testing.T) {
	t.Parallel()
	for _, umask := range []string{"0000", "0777"} {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		noError(t, errors.Join(os.Symlink("real.db", at("link.db")), os.Symlink("dev-real.db", at("dev.db"))))
		under := func(args ...string) *exec.Cmd {
			cmd := exec.Command("sh", append([]string{"-c", "umask " + umask + `; exec "$0" "$@"`, binary()}, args...)...)
			if os.Geteuid() == 0 { // whom modes do not restrict
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			return cmd
		}
		allowEverybody(t, dir)
		run := func(args ...string) {
			t.Helper()
			if r := finish(t, under(args...), nil); r.code != 0 {
				t.Fatalf("umask %s: %v: %+v", umask, args, r)
			}
		}
		run("shop", "create", "--name", "Bar Lux", "--db", at("link.db"))
		p := launchCommand(t, under("serve", "--db", at("link.db"), "--listen", "127.0.0.1:0", "--log-format", "json"))
		p.awaitServing()
		run("backup", at("copy.db"), "--db", at("link.db"))
		names := []string{"real.db", "real.db-wal", "real.db-shm", "real.db.lock", "copy.db"}
		wantModes(t, umask, dir, names)
		p.stop()
		run("restore", at("copy.db"), "--db", at("restored.db"))
		d := launchCommand(t, under("dev", "--db", at("dev.db"), "--listen", "127.0.0.1:0"))
		d.await(d.stdout, contains("\n"))
		wantModes(t, umask, dir, []string{
			"real.db", "copy.db", "restored.db", "restored.db.lock", "dev-real.db", "dev-real.db-wal", "dev-real.db-shm",
		})
		d.stop()
		temporary := launchCommand(t, under("dev", "--listen", "127.0.0.1:0"))
		temporary.await(temporary.stdout, contains("\n"))
		temporary.stop()
	}
}

// allowEverybody lets every user write to a temporary folder and to those above it.
func allowEverybody(t *testing.T, dir string) {
	t.Helper()
	for ; dir != filepath.Dir(dir) && dir != filepath.Clean(os.TempDir()); dir = filepath.Dir(dir) {
		noError(t, os.Chmod(dir, 0o777))
	}
}

// wantModes checks that files exist with mode 0600.
func wantModes(t *testing.T, umask, dir string, names []string) {
	t.Helper()
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode() != 0o600 {
			t.Errorf("umask %s: %s: %v, %v", umask, name, info, err)
		}
	}
}
