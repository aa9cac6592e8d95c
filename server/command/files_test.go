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
	empty := write("empty.db", "")
	live := write("live.db", "mine")
	write("live.db-wal", "")
	broken := copyFile(t, newFile(t).db)
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
		{[]string{at("x"), "--db", empty}, []string{empty, "empty file"}},
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
	broken := copyFile(t, backup)
	cut := write("cut.db", string(require.Must(os.ReadFile(backup))[:100_000]))
	sqlExec(t, broken, "UPDATE shops SET live_cards=7")
	same := unchanged(t, f.db)
	for _, c := range []struct{ backup, says string }{
		{f.db, "is the database itself"}, {filepath.Join(dir, "none"), "no such database"}, {dir, "is a folder"},
		{write("short", "x"), "is not a database"}, {write("empty", ""), "not a database"}, {broken, "live_cards"}, {cut, "damaged"},
	} {
		refuses(t, nil, []string{"restore", c.backup, "--db", f.db, "--force"}, c.backup, c.says)
	}
	same()
	if entries, _ := filepath.Glob(f.db + "*"); len(entries) != 2 { // the database and its lock
		t.Errorf("refused restores left %q", entries)
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
