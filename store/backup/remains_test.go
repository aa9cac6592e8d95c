package backup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"punchcard/store/sqlite"
)

// TestRewriteLeavesNoRemains checks that what is deleted from a restored backup is nowhere in the file: SQLite moves the rows of a
// table's first page while it writes the table, and must overwrite them there.
func TestRewriteLeavesNoRemains(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from.db"), filepath.Join(t.TempDir(), "to.db")
	for _, name := range []string{from, to} {
		succeed(os.WriteFile(name, nil, 0o600))
	}
	run := func(path string, statements ...string) {
		t.Helper()
		c := check(sqlite.Open(path, sqlite.ReadWrite, "secure_delete=ON"))
		defer c.Close()
		for _, sql := range statements {
			check(c.Exec(sql))
		}
	}
	run(from, "CREATE TABLE codes (code TEXT PRIMARY KEY) WITHOUT ROWID", `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n
		WHERE i<2000) INSERT INTO codes SELECT printf('code-%04d', i) FROM n`)
	succeed(rewrite(t.Context(), from, to, nil))
	run(to, "DELETE FROM codes WHERE code <= 'code-0100'")
	b := check(os.ReadFile(to))
	for i := range 100 {
		if code := fmt.Sprintf("code-%04d", i+1); bytes.Contains(b, []byte(code)) {
			t.Errorf("the file still has %s, which was deleted", code)
		}
	}
}
