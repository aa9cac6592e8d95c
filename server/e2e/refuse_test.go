//go:build unix

package e2e

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// sqlExec runs statements on a database file directly, without the program.
func sqlExec(t *testing.T, path, statements string) {
	t.Helper()
	db := require.Must(sql.Open("sqlite", path))
	db.SetMaxOpenConns(1)
	require.Must(db.Exec(statements))
	noError(t, db.Close())
}

// database is a file with a shop, which the first call makes.
var database = sync.OnceValue(func() []byte {
	path := filepath.Join(binaryDir, "shop.db")
	if out, err := exec.Command(binary(), "shop", "create", "--name", "Bar Lux", "--timezone", "Europe/Rome", "--db", path).
		CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%s%v", out, err))
	}
	return require.Must(os.ReadFile(path))
})

// newDatabase returns a database with a shop.
func newDatabase(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	noError(t, os.WriteFile(path, database(), 0o600))
	return path
}

func TestServeRefusesAServedFile(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	p := startServe(t, db)
	same := unchanged(t, db)
	for _, server := range []string{"serve", "dev"} {
		execute(t, nil, server, "--listen", "127.0.0.1:0", "--db", db).refused(t, db, "another punchcard")
	}
	same()
	p.outside().Get("/readyz").Want(200)
	port := strings.TrimPrefix(p.origin, "http://")
	execute(t, nil, "serve", "--listen", port, "--db", newDatabase(t)).refused(t, "--listen", "PUNCHCARD_LISTEN", "in use")
	p.stop()
	startServe(t, db)
}

// TestDevRefusesRealShops checks that dev does not put the demo keys, which are public, into a
// database with a shop.
func TestDevRefusesRealShops(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	same := unchanged(t, db)
	execute(t, nil, "dev", "--listen", "127.0.0.1:0", "--db", db).refused(t, db, "dev")
	execute(t, []string{"PUNCHCARD_DB=" + db}, "dev", "--listen", "127.0.0.1:0").refused(t, db)
	same()
}

// TestServeWithoutPermission runs the binary as a user without write permission.
func TestServeWithoutPermission(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	open := filepath.Dir(copyFile(t, db)) // a folder with write permission for everybody
	allowEverybody(t, open)
	locked := t.TempDir()
	for _, path := range []string{filepath.Join(open, "copy.db"), filepath.Join(locked, "shop.db")} {
		noError(t, os.WriteFile(path, require.Must(os.ReadFile(db)), 0o444))
		noError(t, os.Chmod(path, 0o444))
	}
	noError(t, os.Chmod(locked, 0o555))
	t.Cleanup(func() { os.Chmod(locked, 0o755) })
	for _, path := range []string{filepath.Join(open, "copy.db"), filepath.Join(locked, "shop.db"), filepath.Join(locked, "new.db")} {
		for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"shop", "create", "--name", "x"}} {
			cmd := exec.Command(binary(), append(args, "--db", path)...)
			if os.Geteuid() == 0 { // permissions do not apply to root
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			check := func() {}
			if _, err := os.Stat(path); err == nil {
				check = unchanged(t, path)
			}
			finish(t, cmd, nil).refused(t, path, "permission denied: punchcard runs as user ", ", which may not ")
			check()
		}
	}
}

var (
	copyFile  = servertest.CopyFile
	noError   = require.NoError
	unchanged = servertest.Unchanged
)
