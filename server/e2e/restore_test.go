//go:build unix

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"punchcard/server/servertest/require"
)

// shopNames returns the names of the shops in a file, which tell databases apart.
func shopNames(t *testing.T, path string) string {
	t.Helper()
	return strings.Join(query(t, path, "SELECT name FROM shops ORDER BY id"), ",")
}

// crashedFolder returns a folder with shop.db as a killed server left it: the last writes are in
// its WAL only.
func crashedFolder(t *testing.T) (dir string) {
	t.Helper()
	f := newShop(t)
	f.server.signal(syscall.SIGSTOP) // the server's connections prevent a checkpoint
	f.run("shop", "create", "--name", "In the log")
	f.server.signal(syscall.SIGKILL)
	f.server.wait()
	if info, err := os.Stat(f.db + "-wal"); err != nil || info.Size() == 0 {
		t.Fatalf("the killed server left no log: %v", err)
	}
	return filepath.Dir(f.db)
}

// copyFolder copies the files of a folder to a new one.
func copyFolder(t *testing.T, from string) (to string) {
	t.Helper()
	to = t.TempDir()
	entries := require.Must(os.ReadDir(from))
	for _, e := range entries {
		noError(t, os.WriteFile(filepath.Join(to, e.Name()), require.Must(os.ReadFile(filepath.Join(from, e.Name()))), 0o600))
	}
	return to
}

const oldShops, newShops = "Bar Lux,In the log", "Bar Nero"

// backupOf returns a database with one shop, which is a backup too, since nobody uses it.
func backupOf(t *testing.T, name string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "backup.db")
	succeed(t, "shop", "create", "--name", name, "--db", file)
	return file
}

// asideFile returns the one database that a restore put aside in the folder; empty if there is
// none.
func asideFile(t *testing.T, dir string) (file string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "shop.db.before-restore-*"))
	if err != nil || len(all) > 1 {
		t.Fatalf("put aside: %q, %v", all, err)
	}
	return strings.Join(all, "")
}

func TestRestore(t *testing.T) {
	t.Parallel()
	dir, backup := copyFolder(t, crashedFolder(t)), backupOf(t, "Bar Nero")
	db, same := filepath.Join(dir, "shop.db"), unchanged(t, backup)
	noError(t, os.Chmod(db, 0o640))
	runHere("restore", backup, "--db", db).refused(t, db, "exists already", "--force")
	r := runHere("restore", backup, "--db", db, "--force")
	if r.code != 0 || !strings.Contains(r.stdout, "before-restore") || !strings.Contains(r.stdout, "--webhook-hold") {
		t.Fatalf("%+v", r)
	}
	same()
	if got := shopNames(t, db); got != newShops {
		t.Errorf("restored: %s", got)
	}
	if info, err := os.Stat(db); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode of the file before was not kept: %v, %v", info, err)
	}
	aside := asideFile(t, dir)
	if got := shopNames(t, aside); got != oldShops {
		t.Errorf("put aside: %s", got)
	}
	checkFile(t, db)
	checkFile(t, aside)
	startServe(t, db).stop()

	// The database that was put aside is a backup too, so the restore can be reverted.
	runHere("restore", aside, "--db", db, "--force").ok(t)
	if got := shopNames(t, db); got != oldShops {
		t.Errorf("restored again: %s", got)
	}
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "-shm") || strings.HasSuffix(e.Name(), "-wal") {
			continue // opened by this test
		}
		names = append(names, strings.TrimRight(e.Name(), "0123456789TZ"))
	}
	if slices.Sort(names); !slices.ContainsFunc(names, func(n string) bool { return n == "shop.db" }) ||
		len(names) != 4 { // shop.db.lock and two that were put aside
		t.Errorf("the folder has %q", names)
	}

	fresh := filepath.Join(t.TempDir(), "fresh.db")
	if r := runHere("restore", backup, "--db", fresh); r.code != 0 || strings.Contains(r.stdout, "before-restore") {
		t.Errorf("%+v", r)
	}
	if info, err := os.Stat(fresh); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	checkFile(t, fresh)
}

// TestRestoreBesideAServer checks that no restore replaces a file that is served, nor one whose WAL
// is left without it, unless forced.
func TestRestoreBesideAServer(t *testing.T) {
	t.Parallel()
	f, backup := newShop(t), backupOf(t, "Bar Nero")
	runHere("restore", backup, "--db", f.db, "--force").refused(t, f.db, "is serving", "stop it")
	if got := shopNames(t, f.db); got != "Bar Lux" {
		t.Errorf("under a server: %s", got)
	}
	f.server.outside().Get("/readyz").Want(200)
	f.server.stop()

	// A WAL without its database must not be applied to the restored database.
	orphan := filepath.Join(copyFolder(t, crashedFolder(t)), "shop.db")
	noError(t, os.Remove(orphan))
	runHere("restore", backup, "--db", orphan).refused(t, orphan+"-wal", "--force")
	if r := runHere("restore", backup, "--db", orphan, "--force"); r.code != 0 || shopNames(t, orphan) != newShops {
		t.Errorf("%+v", r)
	}
	checkFile(t, orphan)
}

// killRestore restores over the database of a crash and checks the state after a kill: either the
// old database with everything in its WAL, or the new database with the old one put aside. swapped
// tells which; whole is false if the restore was killed.
func killRestore(t *testing.T, old, backup, what string, run func(args ...string) (whole bool)) (swapped, whole bool) {
	t.Helper()
	dir := copyFolder(t, old)
	db := filepath.Join(dir, "shop.db")
	whole = run("restore", backup, "--db", db, "--force")
	look := func(db string) string {
		checkFile(t, db)
		return shopNames(t, db)
	}
	switch got := look(db); {
	case got == newShops:
		swapped = true
		if aside := look(asideFile(t, dir)); aside != oldShops {
			t.Fatalf("%s: put aside: %s", what, aside)
		}
	case got != oldShops || whole:
		t.Fatalf("%s: the database has %s", what, got)
	}
	// The next restore is not prevented by what is left.
	if r := runHere("restore", backup, "--db", db, "--force"); r.code != 0 || shopNames(t, db) != newShops {
		t.Fatalf("%s: the next restore: %+v", what, r)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.partial")); len(left) > 0 {
		t.Fatalf("%s: %q is left", what, left)
	}
	all, _ := filepath.Glob(filepath.Join(dir, "shop.db.before-restore-*"))
	for _, aside := range all {
		a, aerr := os.Stat(aside)
		b, berr := os.Stat(db)
		if aerr != nil || berr != nil || os.SameFile(a, b) {
			t.Fatalf("%s: %s is the database itself (%v, %v)", what, aside, aerr, berr)
		}
	}
	return swapped, whole
}

// killAfter runs the binary and kills it after d if it still runs.
func killAfter(t *testing.T, d time.Duration, args ...string) (whole bool) {
	t.Helper()
	cmd := exec.Command(binary(), args...)
	cmd.Env = environment(nil)
	noError(t, cmd.Start())
	timer := time.AfterFunc(d, func() { cmd.Process.Kill() })
	defer timer.Stop()
	return cmd.Wait() == nil
}

// duration returns how long a command takes.
func duration(t *testing.T, args ...string) time.Duration {
	t.Helper()
	start := time.Now()
	execute(t, nil, args...).ok(t)
	return time.Since(start)
}

func TestRestoreSurvivesKills(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(20260301, 1))
	old, backup := crashedFolder(t), backupOf(t, "Bar Nero")
	usual := duration(t, "restore", backup, "--db", filepath.Join(copyFolder(t, old), "shop.db"), "--force")
	swapped, killed := 0, 0
	for round := range *killsFlag {
		d := time.Duration(chance.Int64N(int64(usual) * 3 / 2))
		s, whole := killRestore(t, old, backup, fmt.Sprintf("round %d, killed after %v", round, d), func(args ...string) bool {
			begin := time.Now()
			whole := killAfter(t, d, args...)
			if whole { // the machine may have been slower before
				usual = time.Since(begin)
			}
			return whole
		})
		if s {
			swapped++
		}
		if !whole {
			killed++
		}
	}
	t.Logf("of %d restores %d were killed; the new database was in place in %d", *killsFlag, killed, swapped)
	if killed < *killsFlag/4 {
		t.Errorf("only %d restores were killed", killed)
	}
}

// TestBackupSurvivesKills kills backups at random moments while the database is written to. The
// file must be the old backup or a complete new one.
func TestBackupSurvivesKills(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(20260301, 2))
	b := newBusyShop(t, 2)
	b.waitForAnswers(20)
	dir := t.TempDir()
	file := filepath.Join(dir, "copy.db")
	usual := duration(t, "backup", file, "--db", b.db)
	killed := 0
	for round := range *killsFlag {
		before := require.Must(os.ReadFile(file))
		d := time.Duration(chance.Int64N(int64(usual) * 3 / 2))
		answered := b.countsNow(b.answered)
		whole := killAfter(t, d, "backup", file, "--db", b.db, "--force")
		begun := b.countsNow(b.requested)
		if !whole {
			killed++
		}
		if after := require.Must(os.ReadFile(file)); string(after) == string(before) {
			if whole {
				t.Fatalf("round %d: a complete backup changed nothing", round)
			}
			continue
		}
		b.checkBackup(copyFile(t, file), answered, begun)
	}
	b.run("backup", file, "--force")
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("%v are left", entries)
	}
	t.Logf("of %d backups %d were killed", *killsFlag, killed)
	if killed < *killsFlag/4 {
		t.Errorf("only %d backups were killed", killed)
	}
}

// TestToleratedTables checks that SQLite's statistics and the tables of Litestream may be in a
// file.
func TestToleratedTables(t *testing.T) {
	t.Parallel()
	file, restored := newDatabase(t), filepath.Join(t.TempDir(), "restored.db")
	sqlExec(t, file, `ANALYZE; CREATE TABLE IF NOT EXISTS _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);
		CREATE TABLE IF NOT EXISTS _litestream_lock (id INTEGER)`)
	if n := len(query(t, file, "SELECT name FROM sqlite_schema WHERE name LIKE 'sqlite_stat_' OR name LIKE '_litestream%'")); n < 3 {
		t.Fatalf("the file has %d such tables", n)
	}
	checkFile(t, file)
	runHere("restore", file, "--db", restored).ok(t)
	checkFile(t, restored)
	startServe(t, restored)
}
