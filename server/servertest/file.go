package servertest

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"punchcard/server/servertest/require"
)

// CorruptIndex overwrites the first page of one index of a database with that of another.
func CorruptIndex(t testing.TB, path, from, to string) {
	t.Helper()
	db := require.Must(sql.Open("sqlite", path))
	var size, source, target int64
	const root = "SELECT rootpage FROM sqlite_schema WHERE name=?"
	require.NoError(t, errors.Join(db.QueryRow("PRAGMA page_size").Scan(&size), db.QueryRow(root, from).Scan(&source),
		db.QueryRow(root, to).Scan(&target), db.Close()))
	raw := require.Must(os.ReadFile(path))
	copy(raw[(target-1)*size:target*size], raw[(source-1)*size:source*size])
	require.NoError(t, os.WriteFile(path, raw, 0o644))
}

// CopyFile copies a file into a new folder.
func CopyFile(t testing.TB, path string) (copied string) {
	t.Helper()
	copied = filepath.Join(t.TempDir(), "copy.db")
	require.NoError(t, os.WriteFile(copied, require.Must(os.ReadFile(path)), 0o644))
	return copied
}

// Unchanged returns a function that checks that a file has the same bytes as now.
func Unchanged(t testing.TB, path string) func() {
	t.Helper()
	before := require.Must(os.ReadFile(path))
	return func() {
		t.Helper()
		if !bytes.Equal(require.Must(os.ReadFile(path)), before) {
			t.Errorf("%s was changed", path)
		}
	}
}
