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
		r := c.Query("SELECT ?1, ?2, ?3, ?4, ?5, ?6", text, -7, nil, 0.1+0.2, 0.0, []byte("\x00\xff"))
		if !r.Next() {
			t.Fatal("no row", r.Close())
		}
		if got, n, null := r.Text(), r.Int(), r.Null(); got != text || n != -7 || !null {
			t.Errorf("%.20q, -7 and null are read as %.20q, %d and null: %v", text, got, n, null)
		}
		if x, null, y, b := r.Float(), r.Null(), r.Float(), r.Bytes(); x != 0.1+0.2 || y != 0 || null || string(b) != "\x00\xff" {
			t.Errorf("the last three columns are read as %v, %v, null: %v, and %x", x, y, null, b)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
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

// TestBindCounts checks that a statement keeps no arguments of its last use.
func TestBindCounts(t *testing.T) {
	t.Parallel()
	c := open(t)
	if n, err := c.Number("SELECT ?1", 5); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	panics(t, "an argument too few", func() { c.Number("SELECT ?1") })
}

// TestPlanOfAnyArguments checks that arguments do not choose the plan: with the first of these
// SQLite could use the index, with the second it could not.
func TestPlanOfAnyArguments(t *testing.T) {
	t.Parallel()
	c := open(t)
	if err := c.Script("CREATE TABLE t (a, kind); CREATE INDEX t_x ON t (a) WHERE kind='x'"); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"x", "y"} {
		r := c.Query("EXPLAIN QUERY PLAN SELECT a FROM t WHERE a=? AND kind=?", 1, kind)
		if !r.Next() {
			t.Fatal(r.Close())
		}
		r.Int()
		r.Int()
		r.Int()
		if step := r.Text(); step != "SCAN t" {
			t.Errorf("kind %q: %s", kind, step)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBindNamedTypes checks that arguments of named integer and string types are bound by their
// underlying types, and that others panic.
func TestBindNamedTypes(t *testing.T) {
	t.Parallel()
	type instant int64
	type kind byte
	type code string
	c := open(t)
	r := c.Query("SELECT ?, ?, ?", instant(-1<<40), kind(200), code("gone"))
	if !r.Next() || r.Int() != -1<<40 || r.Int() != 200 || r.Text() != "gone" {
		t.Error("named types are read as something else")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	panics(t, "an argument of an unknown type", func() { c.Number("SELECT ?", struct{}{}) })
}

// TestRowHoldsSnapshot checks that reads while a statement's row is open see the same snapshot as
// the row, whatever is written meanwhile.
func TestRowHoldsSnapshot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "test.db")
	writer := openFile(t, path, "journal_mode=WAL")
	if err := writer.Script("CREATE TABLE shops (id INTEGER); CREATE TABLE locations (id INTEGER); INSERT INTO shops VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	c := openFile(t, path, "query_only=1")
	count := func() int64 {
		n, err := c.Number("SELECT count(*) FROM locations")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	r := c.Query("SELECT id FROM shops")
	if !r.Next() {
		t.Fatal("no shop", r.Close())
	}
	before := count()
	if _, err := writer.Insert("INSERT INTO locations VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != before {
		t.Errorf("%d locations while the row is read, %d before the write", n, before)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != before+1 {
		t.Errorf("%d locations after it, want %d", n, before+1)
	}
}

// TestStatementsAreNotShared checks that a statement with open rows cannot be run again, that a text
// with two statements is refused, and that rows stay at their end.
func TestStatementsAreNotShared(t *testing.T) {
	t.Parallel()
	c := open(t)
	r := c.Query("SELECT 1")
	if !r.Next() || r.Int() != 1 {
		t.Fatal("no row", r.Close())
	}
	panics(t, "a second query", func() { c.Query("SELECT 1") })
	panics(t, "a run", func() { c.Exec("SELECT 1") })
	panics(t, "two statements", func() { c.Exec("SELECT 1; SELECT 2") })
	for range 2 {
		if r.Next() {
			t.Error("the rows start again")
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if r.Next() {
		t.Error("there are rows after the end")
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
