package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRows checks that columns are read as they are, and that reading a column as another type ends
// the rows with an error.
func TestRows(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, text := range []string{"", "a\x00b", "é\u2028", strings.Repeat("x", 100_000)} {
		r := row(t, c, "SELECT ?1, ?2, ?3, ?4, ?5, ?6", text, -7, nil, 0.1+0.2, 0.0, []byte("\x00\xff"))
		if got, n, null := r.Text(), r.Int(), r.Null(); got != text || n != -7 || !null {
			t.Errorf("%.20q, -7 and null are read as %.20q, %d and null: %v", text, got, n, null)
		}
		if x, null, y, b := r.Float(), r.Null(), r.Float(), r.Bytes(); x != 0.1+0.2 || y != 0 || null || string(b) != "\x00\xff" {
			t.Errorf("the last three columns are read as %v, %v, null: %v, and %x", x, y, null, b)
		}
		ends(t, r)
	}
	for _, wrong := range []string{"NULL", "'card'", "'12abc'", "'7'", "x'00'", "0.0", "2.5"} {
		if n, err := c.Number("SELECT " + wrong); err == nil || !strings.Contains(err.Error(), "column 0") {
			t.Errorf("%s is read as the integer %d, %v", wrong, n, err)
		}
	}
	r := c.Query("SELECT 1")
	r.Next()
	r.Int()
	r.Int()
	if r.Close() == nil {
		t.Error("a second column of one is read without an error")
	}
}

// TestPlanOfAnyArguments checks that arguments do not choose the plan: with the first of these
// SQLite could use the index, with the second it could not.
func TestPlanOfAnyArguments(t *testing.T) {
	t.Parallel()
	c := open(t)
	script(t, c, "CREATE TABLE t (a, kind); CREATE INDEX t_x ON t (a) WHERE kind='x'")
	for _, kind := range []string{"x", "y"} {
		r := row(t, c, "EXPLAIN QUERY PLAN SELECT a FROM t WHERE a=? AND kind=?", 1, kind)
		r.Int()
		r.Int()
		r.Int()
		if step := r.Text(); step != "SCAN t" {
			t.Errorf("kind %q: %s", kind, step)
		}
		ends(t, r)
	}
}

// TestBind checks that arguments of named integer and string types are bound by their underlying types,
// that others panic, and that a statement keeps no arguments of its last use.
func TestBind(t *testing.T) {
	t.Parallel()
	type instant int64
	type kind byte
	type code string
	c := open(t)
	r := row(t, c, "SELECT ?, ?, ?", instant(-1<<40), kind(200), code("gone"))
	if r.Int() != -1<<40 || r.Int() != 200 || r.Text() != "gone" {
		t.Error("named types are read as something else")
	}
	ends(t, r)
	gives(t, c, 5, "SELECT ?1", 5)
	panics(t, "an argument too few", func() { c.Number("SELECT ?1") })
	panics(t, "an argument of an unknown type", func() { c.Number("SELECT ?", struct{}{}) })
}

// TestRowHoldsSnapshot checks that reads while a statement's row is open see the same snapshot as
// the row, whatever is written meanwhile.
func TestRowHoldsSnapshot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	writer := openFile(t, path, "journal_mode=WAL")
	script(t, writer, "CREATE TABLE shops (id INTEGER); CREATE TABLE locations (id INTEGER); INSERT INTO shops VALUES (1)")
	c := openFile(t, path, "query_only=1")
	r := row(t, c, "SELECT id FROM shops")
	const count = "SELECT count(*) FROM locations"
	gives(t, c, 0, count)
	if _, err := writer.Insert("INSERT INTO locations VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	gives(t, c, 0, count) // while the row is read
	ends(t, r)
	gives(t, c, 1, count)
}

// TestStatementsAreNotShared checks that a statement with open rows cannot be run again, that a text
// with two statements is refused, and that rows stay at their end.
func TestStatementsAreNotShared(t *testing.T) {
	t.Parallel()
	c := open(t)
	r := row(t, c, "SELECT 1")
	panics(t, "a second query", func() { c.Query("SELECT 1") })
	panics(t, "a run", func() { c.Exec("SELECT 1") })
	panics(t, "two statements", func() { c.Exec("SELECT 1; SELECT 2") })
	for range 2 {
		if r.Next() {
			t.Error("the rows start again")
		}
	}
	ends(t, r)
	if r.Next() {
		t.Error("there are rows after the end")
	}
}

// row runs a query and goes to its first row.
func row(t *testing.T, c *Conn, sql string, args ...any) *Rows {
	t.Helper()
	r := c.Query(sql, args...)
	if !r.Next() {
		t.Fatal("no row", r.Close())
	}
	return r
}

// script runs a script, which must succeed.
func script(t *testing.T, c *Conn, text string) {
	t.Helper()
	if err := c.Script(text); err != nil {
		t.Fatal(err)
	}
}

// gives fails the test unless a query selects the integer want.
func gives(t *testing.T, c *Conn, want int64, sql string, args ...any) {
	t.Helper()
	if n, err := c.Number(sql, args...); n != want || err != nil {
		t.Errorf("%s gives %d, %v, want %d", sql, n, err, want)
	}
}

// ends fails the test if rows end with an error.
func ends(t *testing.T, r *Rows) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// panics fails the test unless do panics. what names what must be noticed.
func panics(t *testing.T, what string, do func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s is not noticed", what)
		}
	}()
	do()
}

// open opens a new file, and closes it when the test ends.
func open(t *testing.T) *Conn {
	t.Helper()
	return openFile(t, filepath.Join(t.TempDir(), "test.db"))
}

// openFile opens the file at path, which it makes if there is none, and closes it when the test ends.
func openFile(t *testing.T, path string, pragmas ...string) *Conn {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	c, err := Open(path, ReadWrite, pragmas...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestLimitStatements checks that a connection with a limit of cached statements runs any number,
// and finalizes none whose rows are open.
func TestLimitStatements(t *testing.T) {
	t.Parallel()
	const limit = 3
	c := open(t)
	c.LimitStatements(limit)
	r := c.Query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 9) SELECT i FROM n")
	var sum int64
	for r.Next() {
		sum += r.Int()
		for i := range 40 {
			if n, err := c.Number(fmt.Sprintf("SELECT %d", i)); err != nil || n != int64(i) {
				t.Errorf("statement %d gives %d, %v", i, n, err)
			}
		}
		if kept := len(c.Statements()); kept > 2*limit+1 {
			t.Fatalf("%d statements are cached", kept)
		}
	}
	if err := r.Close(); err != nil || sum != 45 {
		t.Errorf("the rows give %d, %v", sum, err)
	}
}
