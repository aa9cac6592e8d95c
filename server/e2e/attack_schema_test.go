//go:build unix

package e2e

import (
	endian "encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// commandsOnFile are commands that open a file. FILE is the file, and NEW a path at which
// there is none. The first two have code of their own for verifying a file, the others open
// it.
var commandsOnFile = []string{
	"check --quick --db FILE", "restore FILE --db NEW", "backup NEW --db FILE --quick", "serve --listen 127.0.0.1:0 --db FILE",
	"shop list --db FILE",
}

// refusedBy checks that commands refuse a file in one line and change nothing.
func refusedBy(t *testing.T, commands []string, file string, says ...string) {
	t.Helper()
	same, created := unchanged(t, file), filepath.Join(t.TempDir(), "new.db")
	for _, command := range commands {
		args := strings.Fields(strings.NewReplacer("FILE", file, "NEW", created).Replace(command))
		execute(t, nil, args...).refused(t, append(says, file)...)
		if _, err := os.Lstat(created); err == nil {
			t.Errorf("%v created a file", args)
		}
		if t.Failed() {
			t.Fatalf("%v of %q", args, says)
		}
	}
	same()
}

// TestAttackSchema gives a database objects that are not punchcard's, and changes its
// own. The commands that open it name the object: all of them in the first case, and those
// with code of their own in the others.
func TestAttackSchema(t *testing.T) {
	t.Parallel()
	sound := newDatabase(t)
	edit := func(sql string) string { return "PRAGMA writable_schema=ON; " + sql + "; PRAGMA writable_schema=RESET" }
	for i, c := range []struct{ sql, says string }{
		{"CREATE TRIGGER evil AFTER INSERT ON transactions BEGIN UPDATE cards SET stamps_count=10; END", `trigger "evil"`},
		{"DROP TRIGGER cards_counted; CREATE TRIGGER cards_counted AFTER UPDATE ON cards BEGIN SELECT 1; END", `trigger "cards_counted"`},
		{"DROP TRIGGER cards_revived", `lacks the trigger "cards_revived"`},
		{"CREATE VIEW evil AS SELECT * FROM keys", `view "evil"`},
		{"ALTER TABLE meta RENAME TO was; CREATE VIEW meta AS SELECT * FROM was", `"was"`},
		{"CREATE TABLE evil (a)", `table "evil"`},
		{"CREATE VIRTUAL TABLE evil USING fts5(a)", `table "evil"`},
		{"CREATE INDEX evil ON cards (holder_name COLLATE NOCASE)", `index "evil"`},
		{"DROP INDEX keys_hash", `lacks the index "keys_hash"`},
		{"DROP INDEX keys_hash; CREATE INDEX keys_hash ON keys (hash)", `index "keys_hash"`},
		{"ALTER TABLE shops ADD COLUMN evil TEXT", `table "shops"`},
		{edit("UPDATE sqlite_schema SET sql=replace(sql, 'prefix              TEXT    NOT NULL', " +
			"'prefix TEXT NOT NULL COLLATE NOCASE') WHERE name='keys'"),
			`table "keys"`},
		{edit("UPDATE sqlite_schema SET sql=replace(sql, 'hash                BLOB    NOT NULL', " +
			"'hash BLOB NOT NULL DEFAULT (randomblob(9))') WHERE name='keys'"),
			`table "keys"`},
		{edit("UPDATE sqlite_schema SET sql=replace(sql, 'CHECK (mode = ''live'' OR mode = ''test'')', 'CHECK (1)') WHERE name='shops'"),
			`table "shops"`},
		{"CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER, evil)", `table "_litestream_seq"`},
		{"CREATE TABLE \"evil\x1b[2J\nname\" (a)", `table "evil\x1b[2J\nname"`},
		{"PRAGMA user_version=-3", "not one of punchcard"},
		{"PRAGMA user_version=0", "not one of punchcard"},
		{"PRAGMA user_version=11", "is not the one that punchcard makes"},
		{"PRAGMA user_version=10", "was written by an older punchcard"},
	} {
		file, commands := copyFile(t, sound), commandsOnFile
		if i > 0 {
			commands = commands[:2]
		}
		sqlExec(t, file, c.sql)
		refusedBy(t, commands, file, c.says)
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
	if r := execute(t, nil, "restore", file, "--db", restored); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	checkFile(t, restored)
	startServe(t, restored)
}

// TestAttackSecret checks that another id secret is found, also by a command that does not
// check the invariants.
func TestAttackSecret(t *testing.T) {
	t.Parallel()
	sound := newDatabase(t)
	for _, c := range []struct{ sql, says string }{
		{"UPDATE meta SET id_secret=randomblob(16)", "id_secret is not the one"},
		{"UPDATE meta SET id_secret=zeroblob(16)", "id_secret is not the one"},
		{"UPDATE meta SET id_check=NULL", "id_secret is not the one"},
		{"UPDATE meta SET id_secret=x'00'", "id_secret has 1 bytes instead of 16"},
		{"UPDATE meta SET id_secret=randomblob(32)", "id_secret has 32 bytes instead of 16"},
		{"DELETE FROM meta", "meta has no row"},
	} {
		file := copyFile(t, sound)
		sqlExec(t, file, c.sql)
		refusedBy(t, commandsOnFile[:2], file, c.says)
	}
}

// TestAttackEndlessQuery makes pages of a table part of its tree many times, so that a
// walk through it visits more than 500 to the power of 12 leaves. Every command ends.
func TestAttackEndlessQuery(t *testing.T) {
	t.Parallel()
	sound := newDatabase(t)
	file := copyFile(t, sound)
	endless(t, file, "sqlite_schema")
	refusedBy(t, commandsOnFile[1:4], file, "damaged")

	file = copyFile(t, sound)
	endless(t, file, "shops")
	for _, command := range []string{"check --quick", "check"} {
		if r := execute(t, nil, append(strings.Fields(command), "--db", file)...); r.code == 0 || r.stdout == "ok\n" {
			t.Errorf("%s: %+v", command, r)
		}
	}
	execute(t, nil, "restore", file, "--db", filepath.Join(t.TempDir(), "new.db")).refused(t, file, "damaged")
	execute(t, nil, "backup", filepath.Join(t.TempDir(), "new.db"), "--db", file).refused(t, "damaged")
	execute(t, nil, "shop", "list", "--db", file).refused(t, "damaged")
	p := launch(t, nil, "serve", "--db", file, "--listen", "127.0.0.1:0", "--log-format", "json")
	p.awaitServing()
	p.signal(syscall.SIGTERM)
	p.wait()
}

// endless replaces the root of a table by a page whose children are all one page, whose
// children are all one page, and so on to a copy of the root's first leaf.
func endless(t *testing.T, path, table string) {
	t.Helper()
	root := 1
	if table != "sqlite_schema" {
		fmt.Sscan(query(t, path, "SELECT rootpage FROM sqlite_schema WHERE name='"+table+"'")[0], &root)
	}
	raw := must(os.ReadFile(path))
	size := int(endian.BigEndian.Uint16(raw[16:]))
	page := func(n int) []byte { return raw[(n-1)*size : n*size] }
	header := func(n int) []byte {
		if n == 1 {
			return page(1)[100:]
		}
		return page(n)
	}
	leaf := root
	for header(leaf)[0] == 5 {
		leaf = int(endian.BigEndian.Uint32(page(leaf)[endian.BigEndian.Uint16(header(leaf)[12:]):]))
	}
	if leaf == root {
		raw = append(raw, page(root)...)
		leaf = len(raw) / size
	}
	interior := func(dst []byte, at, child int) {
		clear(dst[at:])
		cells := (size - at - 12) / 7 // pointer of 2 bytes, child of 4, key of 1
		dst[at] = 5
		endian.BigEndian.PutUint16(dst[at+3:], uint16(cells))
		endian.BigEndian.PutUint16(dst[at+5:], uint16(size-5*cells))
		endian.BigEndian.PutUint32(dst[at+8:], uint32(child))
		for i := range cells {
			cell := size - 5*(i+1)
			endian.BigEndian.PutUint16(dst[at+12+2*i:], uint16(cell))
			endian.BigEndian.PutUint32(dst[cell:], uint32(child))
			dst[cell+4] = 1
		}
	}
	for range 12 {
		p := make([]byte, size)
		interior(p, 0, leaf)
		raw = append(raw, p...)
		leaf = len(raw) / size
	}
	if root == 1 {
		interior(page(1), 100, leaf)
	} else {
		interior(page(root), 0, leaf)
	}
	endian.BigEndian.PutUint32(raw[28:], uint32(len(raw)/size))
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}
