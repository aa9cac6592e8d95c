//go:build unix

package e2e

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"
)

// sqlExec changes a file behind the program's back.
func sqlExec(t *testing.T, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// mixPages writes the first page of one index over that of another.
func mixPages(t *testing.T, path, from, to string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	var size, source, target int64
	err = errors.Join(db.QueryRow("PRAGMA page_size").Scan(&size), db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name=?", from).Scan(&source),
		db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name=?", to).Scan(&target), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	raw := must(os.ReadFile(path))
	copy(raw[(target-1)*size:target*size], raw[(source-1)*size:source*size])
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, path string) (copied string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied = filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(copied, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return copied
}

// untouched returns a check that a file still has the bytes it has now.
func untouched(t *testing.T, path string) func() {
	t.Helper()
	sum := func() [32]byte {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(raw)
	}
	before := sum()
	return func() {
		t.Helper()
		if sum() != before {
			t.Errorf("%s was changed", path)
		}
	}
}

// soundFile is a file with a shop in it.
func soundFile(t *testing.T) string {
	t.Helper()
	db := filepath.Join(t.TempDir(), "shop.db")
	if r := execute(t, nil, "shop", "create", "--name", "Bar Lux", "--db", db); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	return db
}

func TestServeRefusesForeignFiles(t *testing.T) {
	t.Parallel()
	sound := soundFile(t)
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "file.db")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	raw, err := os.ReadFile(sound)
	if err != nil {
		t.Fatal(err)
	}
	foreign, foreignWAL, newer := write(""), write(""), copyFile(t, sound)
	sqlExec(t, foreign, "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')")
	sqlExec(t, foreignWAL, "PRAGMA journal_mode=WAL; CREATE TABLE notes (text TEXT)")
	sqlExec(t, newer, "PRAGMA user_version=1000")
	for _, c := range []struct {
		name, path string
		says       []string
	}{
		{"text", write("name,email\nAda,ada@example.org\n"), []string{"not a database"}},
		{"long text", write(strings.Repeat("name,email\n", 1000)), []string{"not a database"}},
		{"header only", write("SQLite format 3\x00" + strings.Repeat("x", 200)), []string{""}},
		{"cut short", write(string(raw[:len(raw)/2])), []string{""}},
		{"foreign", foreign, []string{"not one of punchcard"}},
		{"foreign in WAL mode", foreignWAL, []string{"not one of punchcard"}},
		{"newer", newer, []string{"newer punchcard", "1000"}},
	} {
		same := untouched(t, c.path)
		for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"dev", "--listen", "127.0.0.1:0"}, {"shop", "create", "--name", "x"}, {"check"}, {"key", "list"}} {
			r := execute(t, nil, append(args, "--db", c.path)...)
			if c.name == "cut short" && args[0] == "check" && r.stdout != "" { // check may also say what it finds
				if r.code != 1 {
					t.Errorf("check of a file cut short: %+v", r)
				}
				continue
			}
			r.refused(t, append(c.says, c.path)...)
			if t.Failed() {
				t.Fatalf("%s: %v", c.name, args)
			}
		}
		same()
	}
	for path, says := range map[string]string{t.TempDir(): "folder", filepath.Join(t.TempDir(), "no", "shop.db"): "does not exist", "/dev/null": "regular file"} {
		execute(t, nil, "serve", "--listen", "127.0.0.1:0", "--db", path).refused(t, path, says)
	}
}

func TestServeRefusesAServedFile(t *testing.T) {
	t.Parallel()
	db := soundFile(t)
	p := startServe(t, db)
	same := untouched(t, db)
	for _, server := range []string{"serve", "dev"} {
		execute(t, nil, server, "--listen", "127.0.0.1:0", "--db", db).refused(t, db, "another punchcard")
	}
	same()
	p.outside().Get("/readyz").Want(200)
	port := strings.TrimPrefix(p.origin, "http://")
	execute(t, nil, "serve", "--listen", port, "--db", soundFile(t)).refused(t, "--listen", "PUNCHCARD_LISTEN", "in use")
	p.stop()
	startServe(t, db)
}

// TestDevRefusesRealShops keeps the demo keys, which anybody knows, out of a
// file that was made for real.
func TestDevRefusesRealShops(t *testing.T) {
	t.Parallel()
	db := soundFile(t)
	same := untouched(t, db)
	execute(t, nil, "dev", "--listen", "127.0.0.1:0", "--db", db).refused(t, db, "dev")
	execute(t, []string{"PUNCHCARD_DB=" + db}, "dev", "--listen", "127.0.0.1:0").refused(t, db)
	same()
}

// TestServeRefusesWhatItCannotWrite runs as somebody who may not write.
func TestServeRefusesWhatItCannotWrite(t *testing.T) {
	t.Parallel()
	sound := soundFile(t)
	open := filepath.Dir(copyFile(t, sound)) // a folder that anybody may write to
	for dir := open; dir != filepath.Dir(dir) && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	locked := t.TempDir()
	for _, path := range []string{filepath.Join(open, "copy.db"), filepath.Join(locked, "shop.db")} {
		if err := os.WriteFile(path, must(os.ReadFile(sound)), 0o444); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(locked, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(locked, 0o755) })
	for _, path := range []string{filepath.Join(open, "copy.db"), filepath.Join(locked, "shop.db"), filepath.Join(locked, "new.db")} {
		for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"shop", "create", "--name", "x"}} {
			cmd := exec.Command(binary(), append(args, "--db", path)...)
			if os.Geteuid() == 0 { // whom permissions do not hold
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			check := func() {}
			if _, err := os.Stat(path); err == nil {
				check = untouched(t, path)
			}
			finish(t, cmd, nil).refused(t, path)
			check()
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
