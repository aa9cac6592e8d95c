package sqlite

import (
	"slices"
	"strings"
	"testing"
)

// TestWatch checks that the rows that statements read are counted while they run: of scans,
// of pragmas that check the file, and of the statements of a script.
func TestWatch(t *testing.T) {
	t.Parallel()
	const rows = 50_000
	c := open(t)
	script(t, c, `CREATE TABLE t (a, b); CREATE TABLE u (a); CREATE UNIQUE INDEX t_a ON t (a);
		INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<50000) SELECT i, i%100 FROM n;
		INSERT INTO u VALUES (1), (2)`)
	// grows checks that counts grow and end between least and most.
	grows := func(what string, seen []int64, min, max int64) {
		t.Helper()
		if len(seen) < 3 || !slices.IsSorted(seen) || seen[0] >= seen[len(seen)-1] || seen[len(seen)-1] < min ||
			seen[len(seen)-1] > max {
			t.Errorf("%s: seen %v, want growing numbers up to %d to %d", what, seen, min, max)
		}
	}
	var seen []int64
	see := func(rows int64) { seen = append(seen, rows) }
	const scan = "SELECT sum(b + (SELECT max(a) FROM t s WHERE s.a=t.a)) FROM t"
	for range 2 { // a statement that is run again begins at 0 again
		seen = nil
		end := c.Watch(scan, see)
		if _, err := c.Number(scan); err != nil {
			t.Fatal(err)
		}
		end()
		grows(scan, seen, rows*3/4, rows)
	}
	n := len(seen)
	if _, err := c.Number(scan); err != nil || len(seen) != n {
		t.Errorf("after the end: %d calls, %v", len(seen)-n, err)
	}
	seen = nil
	const check = "PRAGMA integrity_check"
	end := c.Watch(check, see)
	r := c.Query(check)
	r.Next()
	ends(t, r)
	end()
	grows(check, seen, rows*3/2, 2*rows+2) // an entry of the unique index beside each row

	seen = nil
	var statements []string
	if err := c.WatchScript("CREATE INDEX t_b ON t (b); UPDATE u SET a=7; UPDATE t SET b=b+1;\n", func(statement string) func(int64) {
		statements = append(statements, strings.TrimSpace(statement))
		if strings.Contains(statement, "CREATE") {
			return see
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"CREATE INDEX t_b ON t (b);", "UPDATE u SET a=7;", "UPDATE t SET b=b+1;"}; !slices.Equal(statements, want) {
		t.Errorf("statements %q, want %q", statements, want)
	}
	grows("CREATE INDEX", seen, rows*3/4, 2*rows)
}

// TestScans checks which tables a statement scans.
func TestScans(t *testing.T) {
	t.Parallel()
	c := open(t)
	script(t, c, "CREATE TABLE t (a, b); CREATE TABLE u (a); CREATE INDEX t_a ON t (a)")
	for sql, want := range map[string][]string{
		"SELECT b FROM t x":                                                  {"t"},
		"SELECT b FROM t WHERE a=7":                                          nil,
		"SELECT a FROM t ORDER BY a":                                         {"t"}, // by the index
		"SELECT (SELECT count(b) FROM t WHERE t.a=u.a) FROM u":               {"u"},
		"INSERT INTO u SELECT b FROM t":                                      {"t"},
		"UPDATE u SET a=1 WHERE a IN (SELECT a FROM t WHERE a=7)":            {"u"},
		"WITH m AS MATERIALIZED (SELECT a FROM u) SELECT * FROM m":           {"u"},
		"SELECT count(DISTINCT b) FROM t UNION ALL SELECT count(a+1) FROM t": {"t", "t"},
	} {
		if tables, err := c.Scans(sql); err != nil || !slices.Equal(tables, want) {
			t.Errorf("%s scans %q (%v), want %q", sql, tables, err, want)
		}
	}
	if _, err := c.Scans("SELECT x FROM nowhere"); err == nil {
		t.Error("a table that does not exist is scanned")
	}
}
