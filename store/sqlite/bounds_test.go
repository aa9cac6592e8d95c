package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// endless is a statement that does not end.
const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n WHERE i<0"

// TestEndlessStatement checks that a statement that takes more steps than the file's size allows is
// ended, and that the connection can be used after it.
func TestEndlessStatement(t *testing.T) {
	t.Parallel()
	c := open(t)
	script(t, c, "CREATE TABLE t (a)")
	if _, err := c.Number(endless); !errors.Is(err, ErrEndless) {
		t.Errorf("a query without end: %v", err)
	}
	end := c.FewSteps() // the same, but sooner
	if _, err := c.Number(endless); !errors.Is(err, ErrEndless) {
		t.Errorf("a query without end: %v", err)
	}
	if err := c.Script(endless); !errors.Is(err, ErrEndless) {
		t.Errorf("a script without end: %v", err)
	}
	if _, err := c.Exec("INSERT INTO t " + endless); !errors.Is(err, ErrEndless) {
		t.Errorf("a write without end: %v", err)
	}
	gives(t, c, 7, "SELECT count(*)+7 FROM t")
	const count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<?1) SELECT max(i) FROM n"
	for range 20 { // the steps of many statements do not add up
		gives(t, c, 9000, count, 9000)
	}
	end()
	gives(t, c, fewSteps, count, fewSteps)
}

// TestRowsWithoutEnd checks that a query that returns more rows than the file's size allows is ended,
// and that the rows of queries do not add up.
func TestRowsWithoutEnd(t *testing.T) {
	t.Parallel()
	c := open(t)
	rows := func(max int) (n int, err error) {
		r := c.Query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT ?) SELECT i FROM n", max)
		for r.Next() {
			n++
		}
		return n, r.Close()
	}
	if n, err := rows(2 * rowsAtLeast); n < rowsAtLeast || n >= 2*rowsAtLeast || !errors.Is(err, ErrEndless) {
		t.Errorf("%d rows of %d, %v", n, 2*rowsAtLeast, err)
	}
	if n, err := rows(rowsAtLeast); n != rowsAtLeast || err != nil {
		t.Errorf("%d rows of %d, %v", n, rowsAtLeast, err)
	}
	if _, err := c.Exec("CREATE TABLE t AS SELECT zeroblob(?) a", 2*rowsAtLeast*bytesPerRow); err != nil {
		t.Fatal(err)
	}
	if n, err := rows(2 * rowsAtLeast); n != 2*rowsAtLeast || err != nil {
		t.Errorf("%d rows of %d in a larger file, %v", n, 2*rowsAtLeast, err)
	}
}

// TestInterruptOn checks that statements that begin after the end of the context are ended with its error, until
// NoInterrupt is called.
func TestInterruptOn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	path := filepath.Join(t.TempDir(), "test.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := OpenContext(ctx, path, ReadWrite, "busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	_, err = c.Number(endless)
	for _, err := range []error{err, c.Script(endless)} {
		if !errors.Is(err, context.Canceled) || errors.Is(err, ErrEndless) {
			t.Errorf("after the end of the context: %v", err)
		}
	}
	c.NoInterrupt()
	if wait := c.WaitFor(0); wait != 5*time.Second {
		t.Errorf("waits %s for a busy file", wait)
	}
}

// TestHardened checks that nothing that a file contains can do more than store data.
func TestHardened(t *testing.T) {
	t.Parallel()
	c := open(t)
	script(t, c, "CREATE TABLE t (a); CREATE VIEW v AS SELECT * FROM t; CREATE TABLE big (a)")
	for sql, says := range map[string]string{
		"SELECT * FROM v":                          "view",
		"UPDATE sqlite_schema SET sql=''":          "may not be modified",
		"INSERT INTO big VALUES (zeroblob(1<<27))": "too big",
	} {
		if err := c.Script(sql); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", sql, err, says)
		}
	}
	if err := c.Script("PRAGMA writable_schema=ON; PRAGMA trusted_schema=OFF; UPDATE sqlite_schema SET sql='x'"); err == nil {
		t.Error("the schema can be written")
	}
	gives(t, c, 0, "PRAGMA trusted_schema")
	gives(t, c, 1, "PRAGMA cell_size_check")
}

// TestLinks checks that a link at the end of the path is refused, and one before it followed.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, folder := filepath.Join(dir, "real"), filepath.Join(dir, "folder")
	if err := errors.Join(os.Mkdir(real, 0o700), os.WriteFile(filepath.Join(real, "test.db"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(real, folder), os.Symlink("test.db", filepath.Join(real, "link.db"))); err != nil {
		t.Skip(err)
	}
	if c, err := Open(filepath.Join(real, "link.db"), ReadWrite); !errors.Is(err, ErrCantOpen) {
		c.Close()
		t.Errorf("a link to a file: %v", err)
	}
	c, err := Open(filepath.Join(folder, "test.db"), ReadWrite)
	if err != nil {
		t.Fatalf("a file in a folder behind a link: %v", err)
	}
	if err := errors.Join(c.Script("CREATE TABLE t (a)"), c.Close()); err != nil {
		t.Error(err)
	}
}
