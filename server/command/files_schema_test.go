//go:build unix

package command

import (
	endian "encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
)

// commandsOnFile are commands that open a file. FILE is the file, and NEW a path at which
// there is none. The first two have code of their own for verifying a file, the others open
// it.
var commandsOnFile = []string{
	"check --quick --db FILE", "restore FILE --db NEW", "backup NEW --db FILE --quick", "serve --listen 127.0.0.1:0 --db FILE",
	"shop list --db FILE",
}

// refusedBy checks that commands refuse a file in one line and change nothing.
func refusedBy(t *testing.T, commands []string, path string, says ...string) {
	t.Helper()
	same, created := unchanged(t, path), filepath.Join(t.TempDir(), "new.db")
	for _, command := range commands {
		args := strings.Fields(strings.NewReplacer("FILE", path, "NEW", created).Replace(command))
		refuses(t, nil, args, append(says, path)...)
		if _, err := os.Lstat(created); err == nil {
			t.Errorf("%v created a path", args)
		}
		if t.Failed() {
			t.Fatalf("%v of %q", args, says)
		}
	}
	same()
}

// TestAttackSchema gives a database objects that are not punchcard's, and changes its
// own. The commands that open it name the object: all of them in the first case, and those
// with code of their own in the others. All of them refuse a file that is no database.
func TestAttackSchema(t *testing.T) {
	sound := newFile(t).db
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
		{"PRAGMA user_version=11", `which is not punchcard`},
		{"PRAGMA user_version=10", "was written by an older punchcard"},
		{"PRAGMA user_version=1000", "was written by a newer punchcard"},
	} {
		path, commands := copyFile(t, sound), commandsOnFile
		if i > 0 {
			commands = commands[:2]
		}
		sqlExec(t, path, c.sql)
		refusedBy(t, commands, path, c.says)
	}
	text := filepath.Join(t.TempDir(), "text.db")
	noError(t, os.WriteFile(text, []byte(strings.Repeat("name,email\n", 1000)), 0o644))
	refusedBy(t, commandsOnFile, text, "is not a database")
}

// TestAttackSecret checks that another id secret is found, also by a command that does not
// check the invariants.
func TestAttackSecret(t *testing.T) {
	sound := newFile(t).db
	for _, c := range []struct{ sql, says string }{
		{"UPDATE meta SET id_secret=randomblob(16)", "id_secret is not the one"},
		{"UPDATE meta SET id_secret=zeroblob(16)", "id_secret is not the one"},
		{"UPDATE meta SET id_check=NULL", "id_secret is not the one"},
		{"UPDATE meta SET id_secret=x'00'", "id_secret has 1 bytes instead of 16"},
		{"UPDATE meta SET id_secret=randomblob(32)", "id_secret has 32 bytes instead of 16"},
		{"DELETE FROM meta", "meta has no row"},
	} {
		path := copyFile(t, sound)
		sqlExec(t, path, c.sql)
		refusedBy(t, commandsOnFile[:2], path, c.says)
	}
}

// TestAttackEndlessQuery makes pages of a table part of its tree many times, so that a
// walk through it visits more than 500 to the power of 12 leaves. Every command ends.
func TestAttackEndlessQuery(t *testing.T) {
	sound := newFile(t).db
	path := copyFile(t, sound)
	endless(t, path, "sqlite_schema")
	refusedBy(t, commandsOnFile[1:4], path, "damaged")

	path = copyFile(t, sound)
	endless(t, path, "shops")
	if findings, err := (&Check{File: File{DB: path}, Quick: true}).findings(); err == nil && len(findings) == 0 {
		t.Error("check finds nothing")
	}
	created := filepath.Join(t.TempDir(), "new.db")
	refuses(t, nil, []string{"restore", path, "--db", created}, path, "damaged")
	refuses(t, nil, []string{"backup", created, "--db", path}, "damaged")
	refuses(t, nil, []string{"shop", "list", "--db", path}, "damaged")
}

// endless replaces the root of a table by a page whose children are all one page, whose
// children are all one page, and so on to a copy of the root's first leaf.
func endless(t *testing.T, path, table string) {
	t.Helper()
	root := 1
	if table != "sqlite_schema" {
		fmt.Sscan((&file{t, path}).value("SELECT rootpage FROM sqlite_schema WHERE name='"+table+"'"), &root)
	}
	raw := require.Must(os.ReadFile(path))
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
	noError(t, os.WriteFile(path, raw, 0o600))
}
