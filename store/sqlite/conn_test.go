package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
)

// open opens a new file, and closes it when the test ends.
func open(t *testing.T) *Conn {
	t.Helper()
	return openFile(t, filepath.Join(t.TempDir(), "test.db"))
}

func openFile(t *testing.T, path string, pragmas ...string) *Conn {
	t.Helper()
	c, err := Open(path, Create, pragmas...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestLimitStatements checks that a connection with a limit of cached statements runs any number,
// and finalizes none whose rows are open.
func TestLimitStatements(t *testing.T) {
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
