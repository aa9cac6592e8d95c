//go:build unix

package command

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

func TestServeRefusesForeignFiles(t *testing.T) {
	db := newFile(t).db
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "file.db")
		noError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	raw := require.Must(os.ReadFile(db))
	foreign, foreignWAL, newer := write(""), write(""), copyFile(t, db)
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
		same := unchanged(t, c.path)
		for _, args := range [][]string{
			{"serve", "--listen", "127.0.0.1:0"}, {"dev", "--listen", "127.0.0.1:0"}, {"shop", "create", "--name", "x"}, {"check"},
			{"key", "list"},
		} {
			if c.name == "cut short" && args[0] == "check" {
				continue // it may also print findings
			}
			refuses(t, nil, append(args, "--db", c.path), append(c.says, c.path)...)
			if t.Failed() {
				t.Fatalf("%s: %v", c.name, args)
			}
		}
		same()
	}
	for path, says := range map[string]string{
		t.TempDir(): "folder",
		filepath.Join(t.TempDir(), "no", "shop.db"): "does not exist",
		"/dev/null": "regular file",
	} {
		refuses(t, nil, []string{"serve", "--listen", "127.0.0.1:0", "--db", path}, path, says)
	}
}

// TestBackupRefusals checks that each refusal is one line and changes nothing.
func TestBackupRefusals(t *testing.T) {
	f := newFile(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) string {
		noError(t, os.WriteFile(at(name), []byte(text), 0o600))
		return at(name)
	}
	there := write("there", "mine")
	text := write("text.txt", strings.Repeat("mine\n", 500))
	empty := write("empty.db", "")
	live := write("live.db", "mine")
	write("live.db-wal", "")
	newer, foreign, broken := copyFile(t, newFile(t).db), write("foreign.db", ""), copyFile(t, newFile(t).db)
	sqlExec(t, newer, "PRAGMA user_version=1000")
	sqlExec(t, foreign, "CREATE TABLE notes (text TEXT)")
	sqlExec(t, broken, "UPDATE shops SET live_cards=7")
	f.run("key create --name CRM")
	f.run("backup " + at("damaged.db"))
	damaged := at("damaged.db")
	servertest.CorruptIndex(t, damaged, "keys_hash", "keys_shop")
	noError(t, errors.Join(os.Symlink(f.db, at("link.db")), os.Link(f.db, at("hard.db"))))
	same := unchanged(t, there)
	for _, c := range []struct {
		args []string
		says []string
	}{
		{[]string{there}, []string{there, "exists already", "--force"}},
		{[]string{at("no/copy.db")}, []string{at("no"), "does not exist"}},
		{[]string{dir, "--force"}, []string{dir, "is a folder"}},
		{[]string{f.db, "--force"}, []string{f.db, "is the database itself"}},
		{[]string{at("link.db"), "--force"}, []string{"is the database itself"}},
		{[]string{at("hard.db"), "--force"}, []string{"is the database itself"}},
		{[]string{f.db + "-wal", "--force"}, []string{"is the database itself, or belongs to it"}},
		{[]string{f.db + "-shm", "--force"}, []string{"is the database itself, or belongs to it"}},
		{[]string{f.db + "-journal"}, []string{"is the database itself, or belongs to it"}},
		{[]string{f.db + ".lock", "--force"}, []string{"is the database itself, or belongs to it"}},
		{[]string{live, "--force"}, []string{live, "live.db-wal is beside it"}},
		{[]string{at("x"), "--db", at("none.db")}, []string{at("none.db"), "no such database"}},
		{[]string{at("x"), "--db", dir}, []string{dir, "is a folder"}},
		{[]string{at("x"), "--db", text}, []string{text, "is not a database"}},
		{[]string{at("x"), "--db", empty}, []string{empty, "empty file"}},
		{[]string{at("x"), "--db", foreign}, []string{foreign, "not one of punchcard"}},
		{[]string{at("x"), "--db", newer}, []string{newer, "newer punchcard"}},
		{[]string{at("x"), "--db", broken}, []string{broken, "live_cards is not", "--quick"}},
		{[]string{at("x"), "--db", damaged, "--quick"}, []string{damaged, "is damaged", "integrity"}},
	} {
		args := append([]string{"backup"}, c.args...)
		if !strings.Contains(strings.Join(args, " "), "--db") {
			args = append(args, "--db", f.db)
		}
		refuses(t, nil, args, c.says...)
	}
	same()
	for _, name := range []string{"x", "x.partial", "there.partial"} {
		if _, err := os.Lstat(at(name)); err == nil {
			t.Errorf("a refused backup left %s", name)
		}
	}
	f.run("backup " + at("quick.db") + " --quick --db " + broken)
	f.run("backup " + there + " --force")
	f.prints("check --db "+there, "ok")
}

// TestRestoreRefusals checks that refused restores change nothing.
func TestRestoreRefusals(t *testing.T) {
	f := newFile(t)
	dir, backup := t.TempDir(), copyFile(t, newFile(t).db)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		noError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	newer := copyFile(t, backup)
	foreign := write("foreign.db", "")
	broken := copyFile(t, backup)
	cut := write("cut.db", string(require.Must(os.ReadFile(backup))[:100_000]))
	sqlExec(t, newer, "PRAGMA user_version=1000")
	sqlExec(t, foreign, "CREATE TABLE notes (text TEXT)")
	sqlExec(t, broken, "UPDATE shops SET live_cards=7")
	same := unchanged(t, f.db)
	for _, c := range []struct{ backup, says string }{
		{f.db, "is the database itself"}, {filepath.Join(dir, "none"), "no such database"}, {dir, "is a folder"},
		{write("text", strings.Repeat("mine\n", 500)), "is not a database"}, {write("short", "x"), "is not a database"},
		{write("empty", ""), "not a database"},
		{foreign, "not one of punchcard"}, {newer, "newer punchcard"}, {broken, "live_cards"}, {cut, "damaged"},
	} {
		refuses(t, nil, []string{"restore", c.backup, "--db", f.db, "--force"}, c.backup, c.says)
	}
	same()
	if entries, _ := filepath.Glob(f.db + "*"); len(entries) != 2 { // the database and its lock
		t.Errorf("refused restores left %q", entries)
	}
	for _, text := range []string{"garbage", strings.Repeat("mine\n", 500)} {
		other := write("other", text)
		same := unchanged(t, other)
		refuses(t, nil, []string{"restore", backup, "--db", other, "--force"}, other, "is neither empty nor a punchcard database")
		same()
	}
	f.run("restore " + backup + " --force --db " + write("nothing.db", ""))
}

// sqlExec runs statements on a file directly.
func sqlExec(t *testing.T, path, statements string) {
	t.Helper()
	db := require.Must(sql.Open("sqlite", path))
	db.SetMaxOpenConns(1)
	_, err := db.Exec(statements)
	noError(t, errors.Join(err, db.Close()))
}
